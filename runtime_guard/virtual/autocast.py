"""Autocast on a virtual machine: each device's own, on the host's kernels.

Autocast is a layer of PyTorch's dispatcher, chosen by the tensors' real device, which is the host.
So the host's layer is switched on with an accelerator's, and each of its kernels is replaced by one
that goes by where the tensors virtually are.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from runtime_guard.core.patches import Patches
from runtime_guard.core.torch_internals import disable_torch_function, dispatcher
from runtime_guard.virtual import moves
from runtime_guard.virtual.autocast_policies import Policy, policy_of, policy_on_the_host
from runtime_guard.virtual.machine import Machine

_WITH_DTYPE = {
    "aten::norm.Scalar": "aten::norm.ScalarOpt_dtype",
    "aten::norm.ScalarOpt_dim": "aten::norm.ScalarOpt_dim_dtype",
}
"""Overloads without a ``dtype``, and those that have one."""


@cache
def _table(kind: str) -> frozenset[str]:
    """The operators that the autocast of a type of accelerator knows; torch 2.4 has none of MPS."""
    if not torch.amp.is_autocast_available(kind):
        return frozenset()
    return frozenset(
        name
        for name in dispatcher.registrations(f"Autocast{kind.upper()}")
        if name.startswith("aten::")
    )


class _Casts(threading.local):
    """The casts that autocast keeps for a block: of leaves that are trained, to a lower dtype."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, torch.dtype], tuple[torch.Tensor, torch.Tensor]] = {}


_casts = _Casts()


def _cast(value: Any, dtype: torch.dtype, kind: str, lower: torch.dtype) -> Any:
    """``cached_cast``: floating tensors of an accelerator of type ``kind``, but for float64."""
    if isinstance(value, (list, tuple)):
        return [_cast(item, dtype, kind, lower) for item in value]
    if not isinstance(value, torch.Tensor) or not _is_cast(value, kind) or value.dtype is dtype:
        return value
    keep = (
        dtype is lower
        and value.dtype is torch.float32
        and value.requires_grad
        and value.is_leaf
        and not value._is_view()
        and torch.is_autocast_cache_enabled()
    )
    if not keep:
        return value.to(dtype)
    key = (id(value), dtype)
    if key not in _casts.kept:
        _casts.kept[key] = (value, value.to(dtype))
    return _casts.kept[key][1]


def _is_cast(tensor: torch.Tensor, kind: str) -> bool:
    return (
        tensor.is_floating_point()
        and tensor.dtype is not torch.float64
        and moves.device_of(tensor).type == kind
    )


def _widest(values: Any, kind: str, current: torch.dtype) -> torch.dtype:
    """``promote_type`` over the tensors of a call."""
    for value in values:
        if isinstance(value, (list, tuple)):
            current = _widest(value, kind, current)
        elif (
            isinstance(value, torch.Tensor)
            and value.dtype is torch.float32
            and _is_cast(value, kind)
        ):
            current = torch.float32
    return current


def lower_dtype(tensors: list[torch.Tensor]) -> tuple[str, torch.dtype] | None:
    """The type of accelerator whose autocast is on for ``tensors``, with its dtype."""
    for tensor in tensors:
        kind = moves.device_of(tensor).type
        if kind not in ("cpu", "meta") and _is_on(kind):
            return kind, torch.get_autocast_dtype(kind)
    return None


def _is_on(kind: str) -> bool:
    """Is the autocast of a type of device on? PyTorch raises where it has none of that type."""
    return torch.amp.is_autocast_available(kind) and _is_enabled(kind)


def cast_all(value: Any, kind: str, dtype: torch.dtype) -> Any:
    """The tensors of a value, lists and tuples included, in autocast's dtype."""
    if isinstance(value, (list, tuple)):
        return type(value)(cast_all(item, kind, dtype) for item in value)
    return _cast(value, dtype, kind, dtype)


def _tensors(values: Any) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def _by_name(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, defaults included."""
    named = dict(kwargs)
    for position, argument in enumerate(operator._schema.arguments):
        if position < len(args):
            named[argument.name] = args[position]
        elif argument.name not in named and argument.has_default_value():
            named[argument.name] = argument.default_value
    return named


def _kernel(name: str, of_the_host: bool) -> Callable[..., Any]:
    """The kernel of one operator in the host's autocast layer.

    PyTorch's own does what that knows, where it can be had (since torch 2.9).
    """
    operator = dispatcher.operator(name)
    host_kernel = dispatcher.kernel(name, "AutocastCPU") if of_the_host else None

    def call(keys: Any, *args: Any, **kwargs: Any) -> Any:
        with disable_torch_function():
            tensors = _tensors((*args, *kwargs.values()))
            found = lower_dtype(tensors)
            if found is not None and name in _table(found[0]):
                policy = policy_of(name)
                if policy is Policy.REFUSE:
                    return operator.redispatch(dispatcher.autocast_of_cuda, *args, **kwargs)
                return _call_with_casts(name, policy, *found, args, kwargs)
            on_host = found is None and all(moves.device_of(t).type == "cpu" for t in tensors)
            if of_the_host and on_host and _state.cpu:
                if host_kernel is not None:
                    return host_kernel.call_boxed(keys, *args, **kwargs)
                lower = torch.get_autocast_dtype("cpu")
                return _call_with_casts(name, policy_on_the_host(name), "cpu", lower, args, kwargs)
            # no business of this autocast: what is inside of it may be
            return operator.redispatch(dispatcher.below_autocast(keys), *args, **kwargs)

    return call


def _call_with_casts(
    name: str,
    policy: Policy,
    kind: str,
    lower: torch.dtype,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """An operator as the autocast of a type of device calls it, with ``lower`` as its dtype."""
    operator = dispatcher.operator(name)
    with dispatcher.without_autocast():
        if policy is Policy.RESULT_FLOAT32:
            named = _by_name(operator, args, kwargs)
            if not _is_cast(args[0], kind) or named.get("dtype") is not None:
                return operator(*args, **kwargs)
            return dispatcher.operator(_WITH_DTYPE.get(name, name))(
                **{**named, "dtype": torch.float32}
            )
        dtype = {
            Policy.LOWER: lower,
            Policy.FLOAT32: torch.float32,
        }.get(policy) or _widest((*args, *kwargs.values()), kind, lower)
        args = tuple(_cast(a, dtype, kind, lower) for a in args)
        kwargs = {key: _cast(a, dtype, kind, lower) for key, a in kwargs.items()}
        return operator(*args, **kwargs)


class _State(threading.local):
    """Is the host's own autocast on in this thread, as far as the program knows?"""

    def __init__(self) -> None:
        self.cpu = _is_enabled("cpu")


_is_enabled: Callable[..., bool] = torch.is_autocast_enabled
_enable: Callable[[str, bool], None] = torch.set_autocast_enabled
_clear_cache: Callable[[], None] = torch.clear_autocast_cache
_state = _State()
_library: Any = None
_users = 0
_lock = threading.Lock()


def _install_kernels() -> None:
    """Replace the kernels of the host's autocast, the first time that it is needed."""
    global _library
    with _lock:
        if _library is not None:
            return
        host = {n for n in dispatcher.registrations("AutocastCPU") if n.startswith("aten::")}
        names = host.union(*map(_table, ("cuda", "xpu", "mps")))
        kernels = {name: _kernel(name, name in host) for name in names}
        library = dispatcher.library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that they are replaced
            for name, kernel in kernels.items():
                library.impl(
                    name.partition("::")[2],
                    kernel,
                    "AutocastCPU",
                    with_keyset=True,
                    **dispatcher.overriding,
                )
        _library = library


def patch_autocast(machine: Machine, patches: Patches) -> Callable[[], None]:
    """Autocast of the machine's devices; call what is returned when the block ends."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _state.cpu = _is_enabled("cpu")
    if _state.cpu:
        _install_kernels()

    def switch(device_type: str, enabled: bool) -> None:
        if device_type == "cpu":
            _state.cpu = enabled
        else:
            _enable(device_type, enabled)
        needed = _state.cpu or any(map(_is_on, machine.counts))
        if needed:
            _install_kernels()
        _enable("cpu", needed)

    def set_enabled(*args: Any, **kwargs: Any) -> None:
        """``torch.set_autocast_enabled(device_type, enabled)``, or ``(enabled)`` for CUDA."""
        given = [*args, *kwargs.values()]
        kind = next((value for value in given if isinstance(value, str)), "cuda")
        switch(kind, next(bool(value) for value in given if not isinstance(value, str)))

    def is_enabled(device_type: str = "cuda") -> bool:
        return _state.cpu if device_type == "cpu" else _is_enabled(device_type)

    def clear_cache() -> None:
        _casts.kept.clear()
        _clear_cache()

    patches.set(torch, "set_autocast_enabled", set_enabled)
    patches.set(torch, "is_autocast_enabled", is_enabled)
    patches.set(torch, "set_autocast_cpu_enabled", lambda enabled: switch("cpu", enabled))
    patches.set(torch, "is_autocast_cpu_enabled", lambda: _state.cpu)
    patches.set(torch, "clear_autocast_cache", clear_cache)
    return _forget


def _forget() -> None:
    """A block ended; with the last one go the kernels and what was kept."""
    global _library, _users
    with _lock:
        _users -= 1
        if _users:
            return
        _enable("cpu", _state.cpu)
        _casts.kept.clear()
        if _library is not None:
            _library._destroy()
            _library = None
