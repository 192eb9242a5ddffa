"""Calls that make tensors: on ``device=``, the default device, or where their data is."""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.memory import meter_of
from runtime_guard.core.placement import CPU, Placement, placement_of, tag
from runtime_guard.core.sites import user_site
from runtime_guard.core.torch_internals import (
    default_device_context,
    disable_torch_function,
    function_mode_at,
    function_mode_count,
)
from runtime_guard.recording import observers
from runtime_guard.virtual import moves
from runtime_guard.virtual.function_mode import Args, FunctionMode, Kwargs
from runtime_guard.virtual.refusals import check_generator

__tracebackhide__ = True  # pytest shows the user's frames only


FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)
SPARSE = tuple(
    getattr(torch, name)
    for name in (
        "sparse_coo_tensor",
        "sparse_compressed_tensor",
        "sparse_csr_tensor",
        "sparse_csc_tensor",
        "sparse_bsr_tensor",
        "sparse_bsc_tensor",
    )
)


def default_device(mode: FunctionMode) -> torch.device | None:
    """The device of ``with torch.device(...)`` or ``set_default_device``, or None.

    Each thread has its own, at the bottom of its stack (``torch.utils._device``); what
    ``set_default_tensor_type`` says is the process's.
    """
    lowest = function_mode_at(0) if function_mode_count() else None
    if isinstance(lowest, default_device_context.DeviceContext):
        return mode.machine.parse(lowest.device)
    return mode.machine.default_type


def _asked_device(mode: FunctionMode, kwargs: Kwargs) -> torch.device | None:
    requested = kwargs.get("device")
    return default_device(mode) if requested is None else mode.machine.parse(requested)


def _finish(mode: FunctionMode, result: Any, target: torch.device, kwargs: Kwargs) -> Any:
    pinned = kwargs.get("pin_memory")
    if isinstance(result, torch.Tensor):
        if pinned:
            result = moves.pin(result)
        moves.tag_fresh(result, target)
    return result


def factory(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.zeros(...)``: the result lives on ``device=``, the default device, or ``out``'s."""
    target = _asked_device(mode, kwargs)
    out = kwargs.get("out")
    if out is not None:
        held = moves.device_of(out)
        if kwargs.get("device") is not None and target is not None and target.type != held.type:
            raise RuntimeError(
                f"device type {target.type} does not match device type of out parameter "
                f"({held.type})"
            )
        target = held
    elif target is None:
        target = CPU
    virtual = mode.machine.is_virtual(target)
    generator = kwargs.get("generator")
    if generator is not None:
        check_generator(generator, target, func)
    if target.type != "meta":
        pinned = kwargs.pop("pin_memory", False)
        if pinned and virtual:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        if virtual or kwargs.get("device") is not None or default_device(mode) is not None:
            kwargs["device"] = CPU
        if virtual and out is None:
            _refuse_too_much(func, args, kwargs, target)
        result = func(*args, **kwargs)
        if out is None:
            _finish(mode, result, target, {"pin_memory": pinned})
            if pinned and isinstance(result, torch.Tensor):
                return _finish(mode, moves.pin(result), target, {})
        return result
    return func(*args, **kwargs)


def _refuse_too_much(func: Any, args: Args, kwargs: Kwargs, target: torch.device) -> None:
    """Raise before the host's memory is taken for what the card has no room for."""
    meter = meter_of(target)
    if meter is not None and meter.limit is not None:
        there = {name: value for name, value in kwargs.items() if name != "generator"}
        meter.room_for(func(*args, **{**there, "device": "meta"}).untyped_storage().nbytes())


def from_data(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.tensor(data)``, ``as_tensor`` and ``asarray``: a tensor keeps its device.

    PyTorch asks no subclass about them: what is copied from one is a plain tensor.
    """
    data: Any = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    if isinstance(data, torch.Tensor):
        with disable_torch_function():
            return _from_tensor(mode, func, data, args, kwargs)
    return _from_values(mode, func, data, args, kwargs)


def _from_tensor(
    mode: FunctionMode, func: Any, data: torch.Tensor, args: Args, kwargs: Kwargs
) -> Any:
    target = _asked_device(mode, kwargs)
    source = moves.device_of(data)
    if source.type == "meta" or (target is not None and target.type == "meta"):
        return func(*args, **kwargs)
    if target is None:
        target = source
    if source is not target:
        kwargs["device"] = CPU
        copy = func is torch.tensor
        moved = moves.move(
            mode.machine, data.detach() if copy else data, target, what=name_of(func)
        )
        placement = placement_of(moved)
        replaced = (moved, *args[1:]) if args else args
        if not args:
            kwargs["data" if "data" in kwargs else "obj"] = moved
        result = func(*replaced, **kwargs)
        if placement is not None:
            tag(result, placement)
        return result
    if target is not CPU or kwargs.get("device") is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if func is torch.tensor and target is not CPU:
        tag(result, Placement(target, user_site()))
    return result


def _from_values(mode: FunctionMode, func: Any, data: Any, args: Args, kwargs: Kwargs) -> Any:
    observers.reads_of_elements(name_of(func), data)
    target = _asked_device(mode, kwargs)
    if target is not None and target.type == "meta":
        return func(*args, **kwargs)
    if target is None:
        target = CPU
    pinned = kwargs.pop("pin_memory", False)
    if target is not CPU or kwargs.get("device") is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if target is not CPU:
        if func is not torch.tensor and not isinstance(data, (list, tuple, int, float)):
            grad = result.requires_grad
            result = result.detach().clone()  # it shared memory with a NumPy array
            result.requires_grad_(grad)
        observers.transfer(result, CPU, target, name_of(func))
    if pinned:
        result = moves.pin(result)
    moves.tag_fresh(result, target)
    return result


def new(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``x.new_tensor(data)`` and the legacy ``x.new(...)``: beside ``x``, or on ``device=``."""
    requested = kwargs.get("device")
    target = moves.device_of(args[0]) if requested is None else mode.machine.parse(requested)
    if target.type == "meta":
        return func(*args, **kwargs)
    if requested is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    moves.tag_fresh(result, target)
    return result


def sparse(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Sparse constructors: the device is ``device=`` or that of the values."""
    target = _asked_device(mode, kwargs)
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
    if target is None and tensors:
        target = moves.device_of(tensors[-1])
    if target is None:
        target = CPU
    if target.type == "meta":
        return func(*args, **kwargs)

    def there(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return moves.move(mode.machine, value, target, what=name_of(func))
        return value

    args = tuple(there(a) for a in args)
    kwargs = {key: there(value) for key, value in kwargs.items()}
    if kwargs.get("device") is not None or default_device(mode) is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if target is not CPU:
        moves.tag_fresh(result, target)
    return result


def from_host_memory(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.from_numpy`` and ``frombuffer``: always the host."""
    result = func(*args, **kwargs)
    moves.tag_fresh(result, CPU)
    return result


def name_of(func: Any) -> str:
    return getattr(func, "__name__", str(func))
