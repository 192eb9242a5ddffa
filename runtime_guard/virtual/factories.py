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
from runtime_guard.recording.contradictions import refuse
from runtime_guard.virtual import moves
from runtime_guard.virtual.function_mode import Args, FunctionMode, Kwargs
from runtime_guard.virtual.refusals import check_generator

__tracebackhide__ = True  # pytest shows the user's frames only


FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)
SPARSE: dict[Any, tuple[str, ...]] = {
    torch.sparse_coo_tensor: ("indices",),
    torch.sparse_compressed_tensor: ("compressed_indices", "plain_indices"),
    torch.sparse_csr_tensor: ("crow_indices", "col_indices"),
    torch.sparse_csc_tensor: ("ccol_indices", "row_indices"),
    torch.sparse_bsr_tensor: ("crow_indices", "col_indices"),
    torch.sparse_bsc_tensor: ("ccol_indices", "row_indices"),
}
"""Constructors of sparse tensors, and what they call the indices, behind which the values stand."""


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


def _finish(result: Any, target: torch.device, pinned: bool) -> Any:
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
        # with no arguments to be beside, in a hook of backward not even beside the gradient
        result = mode.run(func, args, kwargs, beside=())
        return _finish(result, target, pinned) if out is None else result
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
    names = (*SPARSE[func], "values")
    positions = dict(zip(names, args, strict=False))
    named = positions | kwargs
    target = _asked_device(mode, kwargs)
    if target is None:
        values = named.get("values")
        target = moves.device_of(values) if isinstance(values, torch.Tensor) else CPU
        for name in SPARSE[func]:
            if isinstance(named.get(name), torch.Tensor):
                _refuse_other_indices(func, name, named[name], values, target)
    if target.type == "meta":
        return func(*args, **kwargs)
    if named.keys() >= set(names):  # else it is of a size alone, or an error
        there = {name: _part(mode, func, name, named[name], target) for name in names}
        args = (*(there[name] for name in positions), *args[len(names) :])
        kwargs |= {name: there[name] for name in names if name not in positions}
    if kwargs.get("device") is not None or default_device(mode) is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if target is not CPU:
        moves.tag_fresh(result, target)
    return result


def _part(mode: FunctionMode, func: Any, name: str, value: Any, target: torch.device) -> Any:
    """The indices or values of a sparse tensor on ``target``; a list is copied there."""
    if isinstance(value, torch.Tensor):
        return moves.move(mode.machine, value, target, what=name_of(func))
    if target is CPU:
        return value
    integers = name != "values" and (func is torch.sparse_coo_tensor or not hasattr(value, "dtype"))
    made = torch.tensor(value, dtype=torch.int64 if integers else None)
    observers.transfer(made, CPU, target, name_of(func))
    moves.tag_fresh(made, target)
    return made


def _refuse_other_indices(
    func: Any, name: str, indices: torch.Tensor, values: Any, device: torch.device
) -> None:
    """Nobody said where to: indices that are a tensor stay, and are to be where the values are.

    The sentences are those of ``SparseTensorImpl`` and ``SparseCsrTensorImpl`` in ATen.
    """
    found = moves.device_of(indices)
    if found is device or "meta" in (found.type, device.type):
        return
    if func is not torch.sparse_coo_tensor:
        kept = "crow_indices" if name == SPARSE[func][0] else "col_indices"
        sentence = f"Values and {kept} need to be on the same device."
    elif found.type != device.type:
        kinds = (found.type.upper(), device.type.upper())
        sentence = "backend of indices ({}) must match backend of values ({})".format(*kinds)
    else:
        sentence = f"device of indices ({found.index}) must match device of values ({device.index})"
    operands = {name: indices, "values": values}
    tensors = {n: v for n, v in operands.items() if isinstance(v, torch.Tensor)}
    refuse(sentence, name_of(func), list(tensors.values()), list(tensors), between=(found, device))


def from_host_memory(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.from_numpy`` and ``frombuffer``: always the host."""
    result = func(*args, **kwargs)
    moves.tag_fresh(result, CPU)
    return result


def name_of(func: Any) -> str:
    return getattr(func, "__name__", str(func))
