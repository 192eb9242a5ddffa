"""Calls that take a tensor elsewhere, or to another dtype: ``.to``, ``.cuda``, ``.type``."""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.placement import CPU
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind
from runtime_guard.virtual import moves
from runtime_guard.virtual.function_mode import Args, FunctionMode, Handler, Kwargs
from runtime_guard.virtual.legacy_types import legacy_type
from runtime_guard.virtual.single_operations import CONVERSION, pass_by

__tracebackhide__ = True  # pytest shows the user's frames only


def parse_to(mode: FunctionMode, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """The arguments of ``Tensor.to`` in all its overloads, by name.

    Overloads as in ``torch/csrc/autograd/utils/python_arg_parsing.h``: ``(device, dtype,
    non_blocking, copy)``, ``(dtype, non_blocking, copy)``, ``(other, non_blocking, copy)``.
    """
    found: dict[str, Any] = dict(kwargs)
    names = ["device", "dtype", "non_blocking", "copy"]
    if args:
        head = args[0]
        if isinstance(head, bool):  # to PyTorch a dtype
            observers.problem(
                Kind.NOT_A_DEVICE, ".to", "a truth value is taken for the dtype torch.bool"
            )
            args = (torch.bool, *args[1:])
        if isinstance(head, (bool, torch.dtype, type)):  # `float` is a dtype to PyTorch, too
            names = ["dtype", "non_blocking", "copy"]
        elif isinstance(head, torch.Tensor):
            names = ["other", "non_blocking", "copy"]
    found.update(zip(names, args, strict=False))
    other = found.pop("other", None)
    if other is not None:
        found["device"], found["dtype"] = moves.device_of(other), other.dtype
    elif found.get("device") is not None:
        found["device"] = mode.machine.parse(found["device"])
    return found


def parse_module_to(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """What ``Module.to`` parses its arguments with: the device it returns is a wish for ``.to``."""
    if args and type(args[0]) is int:
        args = (mode.machine.parse(args[0]), *args[1:])
    if type(kwargs.get("device")) is int:
        kwargs["device"] = mode.machine.parse(kwargs["device"])
    result = func(*args, **kwargs)
    other = args[0] if args else kwargs.get("tensor")
    if isinstance(other, torch.Tensor):
        return (moves.device_of(other), *result[1:])
    return result


def to(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) == 2 and type(args[1]) is torch.dtype and not kwargs:
        refuse_dtype = args[1] is torch.float64 and "mps" in mode.machine.counts
        if not refuse_dtype and mode.operation_hook is not None:
            converted = pass_by(mode.operation_hook, CONVERSION, func, args, None)
            if converted is not NotImplemented:
                return converted
    wish = parse_to(mode, args[1:], kwargs)
    return moves.move(
        mode.machine,
        args[0],
        wish.get("device"),
        what=".to",
        dtype=wish.get("dtype"),
        non_blocking=bool(wish.get("non_blocking", False)),
        copy=bool(wish.get("copy", False)),
        memory_format=wish.get("memory_format"),
    )


def to_copy(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``aten._to_copy``, as tensors that wrap others call it."""
    if kwargs.get("device") is None:
        return mode.run(func, args, kwargs)
    return moves.move(
        mode.machine,
        args[0],
        mode.machine.parse(kwargs["device"]),
        what=".to",
        dtype=kwargs.get("dtype"),
        non_blocking=bool(kwargs.get("non_blocking", False)),
        copy=True,
        memory_format=kwargs.get("memory_format"),
    )


def to_overload(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``aten.to.device`` and the other overloads, as an exported program calls them."""
    names = (argument.name for argument in func._schema.arguments)
    named = dict(zip(names, args, strict=False)) | kwargs
    for option in ("layout", "pin_memory"):
        named.pop(option, None)
    return to(mode, func, (named.pop("self"),), named)


def move_method(kind: str) -> Handler:
    """``Tensor.cuda`` and its siblings."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if kind not in mode.machine.counts:
            mode.machine.canonical(torch.device(kind))
            return func(*args, **kwargs)
        device = args[1] if len(args) > 1 else kwargs.get("device")
        if device is None:
            target = mode.machine.canonical(torch.device(kind))
        elif isinstance(device, int):
            target = mode.machine.canonical(torch.device(kind, device))
        else:
            target = mode.machine.parse(device)
            if target.type != kind:
                raise RuntimeError(f"Invalid device, must be {kind} device")
        non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        return moves.move(
            mode.machine,
            args[0],
            target,
            what=f".{kind}",
            non_blocking=bool(non_blocking),
            memory_format=kwargs.get("memory_format"),
        )

    return handler


def cpu(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    memory_format = kwargs.get("memory_format", args[1] if len(args) > 1 else None)
    return moves.move(mode.machine, args[0], CPU, what=".cpu", memory_format=memory_format)


def double(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    moves.refuse_dtype(torch.float64, moves.device_of(args[0]))
    return mode.run(func, args, kwargs)


def type_as(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    other = args[1] if len(args) > 1 else kwargs["other"]
    target = moves.device_of(other)
    return moves.move(mode.machine, args[0], target, what=".type_as", dtype=other.dtype)


def type_(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``Tensor.type()``: the legacy name, or a conversion that also moves."""
    tensor = args[0]
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    device = moves.device_of(tensor)
    if wanted is None:
        name: str = func(tensor)
        if mode.machine.is_virtual(device):
            return name.replace("torch.", f"torch.{device.type}.", 1)
        return name
    if isinstance(wanted, torch.dtype):
        return moves.move(mode.machine, tensor, None, what=".type", dtype=wanted)
    kind, dtype = legacy_type(wanted)
    target = CPU if kind == "cpu" else device
    if kind != "cpu" and device.type != kind:
        target = mode.machine.canonical(torch.device(kind))
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    return moves.move(
        mode.machine, tensor, target, what=".type", dtype=dtype, non_blocking=bool(non_blocking)
    )
