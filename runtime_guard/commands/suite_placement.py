"""A suite that was written for the CPU, on a card: what its tests make is put there.

    def test_scale():                 # tests/test_scale.py
        x = torch.ones(2)             # on the card: a test made it
        model = Scale()               # moved there, as by `.to`, when the constructor has returned
        model(x)                      # what `Scale.forward` makes is where `Scale` says

So a test calls the code as its users with a card do.  With ``strict`` each factory call without
``device=`` in the code under test is noted, too.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch.nn.modules import module as registration
from torch.overrides import TorchFunctionMode

from runtime_guard.core.sites import Site, is_users, user_site
from runtime_guard.core.torch_internals import default_device_context

_FROM_DATA = frozenset({torch.tensor, torch.as_tensor, torch.asarray})
_OF_THE_HOST = ("from_numpy", "frombuffer")
_READS: tuple[Any, ...] = (torch.Tensor.numpy, torch.Tensor.__array__)
_NUMPY = f"{os.sep}numpy{os.sep}"
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


@dataclass(frozen=True)
class _Born:
    """A module that a call of a test makes."""

    module: weakref.ref[torch.nn.Module]
    frame: FrameType
    instruction: int
    line: int

    def is_done(self) -> bool:
        """Has the call come back to the test?"""
        return self.frame.f_lasti != self.instruction

    def move(self, module: torch.nn.Module, device: str) -> None:
        """Move it as the test's line would, which a message about the move then names."""
        code = self.frame.f_code
        call = compile("module.to(device)", code.co_filename, "eval")
        there = call.replace(co_firstlineno=self.line, co_name=code.co_name)
        eval(there, {"module": module, "device": device})


class Placing(TorchFunctionMode):
    """Puts on ``device`` what the files of which ``of_suite`` holds make; None puts nothing."""

    def __init__(
        self, device: str | None, of_suite: Callable[[str], bool], *, strict: bool = False
    ) -> None:
        super().__init__()
        self.device = device
        self.of_suite = of_suite
        self.strict = strict
        self.unplaced: dict[Site, str] = {}
        """Where a factory was called without ``device=``, and which: with ``strict`` only."""
        self._factories = frozenset(default_device_context._device_constructors())
        self._born: list[_Born] = []
        self._known: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
        self._process = os.getpid()
        self._hooks: list[Any] = []
        self._getattr: Any = None
        self._originals: dict[str, Any] = {}

    def __enter__(self) -> Placing:
        if self.device is not None:
            self._hooks = [
                registration.register_module_parameter_registration_hook(self._on_registration),
                registration.register_module_buffer_registration_hook(self._on_registration),
                registration.register_module_module_registration_hook(self._on_registration),
            ]
            self._watch_attributes()
            for name in _OF_THE_HOST:
                self._originals[name] = getattr(torch, name)
                setattr(torch, name, self._placed(self._originals[name]))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        if self._getattr is not None:
            torch.nn.Module.__getattr__ = self._getattr  # type: ignore[method-assign]
        for name, original in self._originals.items():
            setattr(torch, name, original)
        for hook in self._hooks:
            hook.remove()
        self.forget()

    def forget(self) -> None:
        """A test is over: nothing that it made is waited for."""
        self._born.clear()
        self.unplaced.clear()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self._born:
            self._move_what_is_done()
        if func in self._factories and kwargs.get("device") is None:
            return self._make(func, args, kwargs)
        if self.device is None or os.getpid() != self._process:
            return func(*args, **kwargs)  # worker processes may not touch a card
        if func in _READS and self._is_suites(_caller()):
            return func(args[0].cpu(), *args[1:], **kwargs)
        return func(*args, **kwargs)

    def _make(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if func in _FROM_DATA and args and isinstance(args[0], torch.Tensor):
            return func(*args, **kwargs)  # stays where its data is
        caller = _caller()
        if self.device is not None and self._is_suites(caller):
            if kwargs.get("out") is not None or os.getpid() != self._process:
                return func(*args, **kwargs)
            if kwargs.get("generator") is not None or kwargs.get("pin_memory"):
                return _moved(func(*args, **kwargs), self.device)  # its generator is the host's
            return func(*args, **{**kwargs, "device": self.device})
        if self.strict and caller is not None and not _is_torchs_own_call():
            file = caller.f_code.co_filename
            if not any(folder in file for folder in _PACKAGES):
                self.unplaced[user_site()] = f"torch.{func.__name__}"
        return func(*args, **kwargs)

    def _placed(self, factory: Any) -> Any:
        """A factory that no default device speaks to: what a test asks of it is moved."""

        def make(*args: Any, **kwargs: Any) -> Any:
            made = factory(*args, **kwargs)
            puts = os.getpid() == self._process and self._is_suites(_caller())
            return made.to(self.device) if puts else made

        return make

    def _is_suites(self, frame: FrameType | None) -> bool:
        return frame is not None and self.of_suite(frame.f_code.co_filename)

    def _on_registration(self, owner: torch.nn.Module, name: str, value: Any) -> None:
        if owner in self._known:
            return
        self._known.add(owner)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not self._is_suites(frame):
            frame = frame.f_back
        if frame is not None:
            born = _Born(weakref.ref(owner), frame, frame.f_lasti, frame.f_lineno)
            self._born.append(born)

    def _watch_attributes(self) -> None:
        """A module is moved before its buffers are looked at: they are replaced by the move."""
        original = self._getattr = torch.nn.Module.__getattr__

        def look_up(module: torch.nn.Module, name: str) -> Any:
            if self._born:
                self._move_what_is_done()
            return original(module, name)

        torch.nn.Module.__getattr__ = look_up  # type: ignore[method-assign]

    def _move_what_is_done(self) -> None:
        """A module goes to the card when the call that made it has come back to the test."""
        done = [born for born in self._born if born.is_done()]
        if self.device is None or not done or os.getpid() != self._process:
            return
        self._born = [born for born in self._born if born not in done]
        made = [(born, module) for born in done if (module := born.module()) is not None]
        for born, module in sorted(made, key=_size, reverse=True):  # a whole before its parts
            if _is_on_the_host(module):
                born.move(module, self.device)


def _size(made: tuple[_Born, torch.nn.Module]) -> int:
    return sum(1 for _ in made[1].modules())


def _is_on_the_host(module: torch.nn.Module) -> bool:
    return all(tensor.device.type == "cpu" for tensor in (*module.parameters(), *module.buffers()))


def _moved(made: Any, device: str) -> Any:
    wanted = made.requires_grad
    return made.detach().to(device).requires_grad_(wanted)


def _caller() -> FrameType | None:
    """The frame of the program that asks: neither torch's nor the library's, nor NumPy's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if is_users(file) and _NUMPY not in file:
            return frame
        frame = frame.f_back
    return None


def _is_torchs_own_call() -> bool:
    """Did a module of torch's ask, such as ``nn.Linear`` for its weight, which moves with it?"""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_TORCH):
            return os.path.basename(file) != "overrides.py"
        if is_users(file):
            return False
        frame = frame.f_back
    return False
