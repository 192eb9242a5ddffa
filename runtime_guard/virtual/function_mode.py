"""The hook that sees every call as the program writes it.

It answers ``device=``, ``.to`` and the like, and never lets an accelerator's name reach a PyTorch
that was built without it.  It belongs to one thread.
"""

from __future__ import annotations

import contextlib
import sys
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from runtime_guard.core.placement import CPU, Placement, placement_of
from runtime_guard.core.tensors import tensors_of
from runtime_guard.core.torch_internals import (
    FAKE,
    FunctionHook,
    is_tracing,
    pop_function_mode,
    push_function_mode,
)
from runtime_guard.virtual import moves
from runtime_guard.virtual.function_bodies import (
    DEVICE_KEYWORDS,
    LAYERS,
    asks_about_devices,
    body_of,
    names_of,
)
from runtime_guard.virtual.machine import Machine
from runtime_guard.virtual.refusals import check_generator, explain_types
from runtime_guard.virtual.single_operations import (
    IN_CPP,
    SINGLE_OPERATIONS,
    OperationHook,
    pass_by,
    single_operation,
)

__tracebackhide__ = True  # pytest shows the user's frames only

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Handler = Callable[["FunctionMode", Any, Args, Kwargs], Any]

_tensor: Any = torch.Tensor
_KNOW_FAKES = frozenset({torch.device, _tensor.to, _tensor.cuda, _tensor.xpu})
"""Functions whose handlers answer for fake tensors, too."""
_TAKE_THERE = frozenset({torch.as_tensor, torch.asarray})
"""Those of which C++ asks the card for the index that ``device=`` lacks."""
_UNKNOWN: Any = object()
_PLAIN: set[tuple[type, ...]] = {()}
"""Tensor types that were found to have no ``__torch_function__`` of their own."""


def _are_plain(overridden: tuple[type, ...]) -> bool:
    """Does none of these tensor types have a ``__torch_function__`` of its own?"""
    plain = all(
        t is torch.Tensor
        or getattr(t, "__torch_function__", None) is torch._C._disabled_torch_function_impl
        for t in overridden
    )
    if plain:
        _PLAIN.add(overridden)
    return plain


_DTENSOR = "torch.distributed.tensor._dispatch"


def _is_for_parts(func: Any) -> bool:
    """Is it a ``DTensor`` that runs ``new_empty`` and its kind on the part of this rank?

    C++ names the device that it believes the whole to be on.
    """
    if type(func) is not torch._ops.OpOverload or not func._schema.name.startswith("aten::new_"):
        return False
    frame: python_types.FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_globals.get("__name__") == "torch._ops":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == _DTENSOR


class FunctionMode(FunctionHook):
    """Answers the program's calls for one thread of a virtual machine."""

    def __init__(self, machine: Machine, handlers: dict[Any, Handler]) -> None:
        super().__init__()
        self.machine = machine
        self.handlers = handlers
        self.handled = names_of(handlers)
        self.operation_hook: OperationHook | None = None
        """The hook that sees the operations of this thread."""
        self.covered = 0
        """Above 0 a block inside of this one is in force."""
        self.call: tuple[Any, ...] | None = None
        """Arguments of the C++ function that is running, for the factories inside composites."""
        self.quiet = 0
        """Above 0 syncs are not recorded: they belong to one that was recorded already."""
        self.writes_elements = False
        """Is ``x[i] = value`` running?  What it copies the program does not ask for by name."""
        self.writes_number = False
        """Is ``x[i] = 5.0`` running?  C++ makes a tensor of the number where ``x`` is
        (``scalarToTensorNonNativeDeviceType`` in ``ATen/TensorIndexing.h``)."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if self.covered or self.machine.over:
            return func(*args, **kwargs) if kwargs else func(*args)
        if types not in _PLAIN and not _are_plain(types) and torch._C._is_torch_function_enabled():
            return self._ask_subclasses(func, types, args, kwargs or {})
        handler = self.handlers.get(func)
        if handler is not None:
            if func not in _KNOW_FAKES and is_tracing(FAKE):
                return self._among_fakes(func, args, kwargs or {})
            return handler(self, func, args, dict(kwargs) if kwargs else {})
        kind = type(func)
        if kind in IN_CPP:
            single = SINGLE_OPERATIONS.get(func, _UNKNOWN)
            if single is _UNKNOWN:
                single = single_operation(func)
            if single is not None and self.operation_hook is not None:
                result = pass_by(self.operation_hook, single, func, args, kwargs)
                if result is not NotImplemented:
                    return result
        elif (
            kind is python_types.FunctionType
            # a method that calls the C++ method of its own name comes back under its own name
            and sys._getframe(1).f_code is not func.__code__
            and body_of(func) is not None
            and (func.__module__ not in LAYERS or asks_about_devices(func, self.handled))
        ):
            return self.enter(func, args, kwargs or {})
        if kwargs:
            for keyword in DEVICE_KEYWORDS:
                if keyword in kwargs:
                    return self._with_device_keywords(func, args, dict(kwargs))
        before, self.call = self.call, (*args, *kwargs.values()) if kwargs else args
        try:
            return func(*args, **kwargs) if kwargs else func(*args)
        except RuntimeError as error:
            explain_types(error, func, args, kwargs or {})
            raise
        finally:
            self.call = before

    def _ask_subclasses(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Let tensor subclasses answer first, with the mode still active for what they call."""
        with self:
            for overridden in types:
                if overridden.__torch_function__ is torch._C._disabled_torch_function_impl:
                    continue
                result = overridden.__torch_function__(func, types, args, kwargs)
                if result is not NotImplemented:
                    return result
        raise TypeError(f"no implementation found for {func!r} on types {list(types)}")

    def _with_device_keywords(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call with ``device=``, ``generator=`` or ``pin_memory=`` that no handler knows."""
        machine = self.machine
        if is_tracing(FAKE):
            return self._among_fakes(func, args, kwargs)
        requested = kwargs.get("device")
        if requested is not None and _is_for_parts(func):
            requested = kwargs["device"] = None  # where the part is: C++ means to stay there
        target = machine.parse(requested) if requested is not None else None
        if target is not None and (machine.is_virtual(target) or isinstance(requested, int)):
            kwargs["device"] = CPU
        generator = kwargs.get("generator")
        if generator is not None:
            beside = (*args, *kwargs.values())
            check_generator(generator, target or self.device_of_call(beside), func)
        pinned = kwargs.pop("pin_memory", False)
        result = self.run(func, args, kwargs)
        if target is not None and target.type != "meta":
            for tensor in tensors_of(result):
                moves.tag_fresh(tensor, target)
        if pinned and isinstance(result, torch.Tensor):
            result = moves.pin(result)
        return result

    def _among_fakes(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call with fake tensors, which have devices of their own, and no values."""
        device = kwargs.get("device")
        if type(device) is int or (device is not None and func in _TAKE_THERE):
            kwargs = {**kwargs, "device": self.machine.parse(device)}
        return func(*args, **kwargs)

    def enter(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a Python function of torch with this mode active in its body."""
        body = body_of(func) if type(func) is python_types.FunctionType else None
        if body is None:
            return self.run(func, args, kwargs)
        before, self.call = self.call, None
        push_function_mode(self)  # `in_sight`, without what a context manager costs
        try:
            return body(*args, **kwargs)
        finally:
            pop_function_mode()
            self.call = before

    @contextlib.contextmanager
    def in_sight(self) -> Iterator[None]:
        """In the block Python code that C++ or a handler called sees the virtual machine."""
        before, self.call = self.call, None
        try:
            with self:
                yield
        finally:
            self.call = before

    def run(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        beside: tuple[Any, ...] | None = None,
    ) -> Any:
        """Call into C++; factories of composites make tensors beside ``args``, or ``beside``."""
        before, self.call = self.call, args if beside is None else beside
        try:
            return func(*args, **kwargs)
        finally:
            self.call = before

    @contextlib.contextmanager
    def called_with(self, args: tuple[Any, ...]) -> Iterator[None]:
        """In the block, factories in C++ allocate beside the first tensor of ``args``."""
        before, self.call = self.call, args
        try:
            yield
        finally:
            self.call = before

    def device_of_call(self, args: tuple[Any, ...] | None) -> torch.device:
        """The device that ``self.options()`` has in a composite called with ``args``."""
        placement = self.placement_of_call(args)
        return placement.device if placement is not None else CPU

    def placement_of_call(self, args: tuple[Any, ...] | None) -> Placement | None:
        """The placement of the first tensor among ``args`` that is no host scalar."""
        fallback: Placement | None = None
        for tensor in tensors_of(args) if args else ():
            placement = placement_of(tensor)
            if placement is not None and placement.device is not CPU:
                return placement
            if tensor.dim() != 0:
                return placement
            fallback = fallback or placement
        return fallback
