"""What the host reads of a tensor, and what it may not: ``.numpy()``, ``bool(t)``, ``print(t)``."""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.placement import CPU, placement_of
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind
from runtime_guard.recording.explanation import explain_operands, with_explanation
from runtime_guard.recording.modes import explain_error
from runtime_guard.virtual import moves
from runtime_guard.virtual.function_mode import Args, FunctionMode, Handler, Kwargs
from runtime_guard.virtual.machine import UnsupportedVirtually

__tracebackhide__ = True  # pytest shows the user's frames only


def numpy(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``Tensor.numpy()``: refused for an accelerator's tensor (``tensor_numpy.cpp``)."""
    tensor = args[0]
    device = moves.device_of(tensor)
    if device.type != "cpu" and device.type != "meta":
        if kwargs.get("force"):
            host = moves.move(mode.machine, tensor.detach(), CPU, what=".numpy")
            return func(host, **kwargs)
        sentence = (
            f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )
        explanation = explain_operands([tensor], ["self"])
        observers.problem(
            Kind.HOST_READ,
            ".numpy",
            f"{sentence} {explanation}",
            source=str(device),
            target="cpu",
        )
        raise TypeError(with_explanation(sentence, explanation, "DEV401"))
    _note_host_read(tensor, ".numpy")
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:  # it requires grad
        explain_error(error, ".numpy", args, kwargs)
        raise


def _note_host_read(tensor: torch.Tensor, what: str) -> None:
    placement = placement_of(tensor)
    if placement is not None and placement.move is not None:
        placement.move.used = True
        if not placement.move.landed:
            moves.report_read(placement.move, what)


def reads_host(what: str) -> Handler:
    """A call that copies the values into Python objects: one sync, whatever it does inside."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        tensor = args[0]
        _note_host_read(tensor, what)
        device = moves.device_of(tensor)
        if device.type not in ("cpu", "meta"):
            moves.land_all(device)
            if not mode.quiet:
                observers.sync(what, "the values go to the host")
        mode.quiet += 1
        try:
            return func(*args, **kwargs)
        finally:
            mode.quiet -= 1

    return handler


def reads_one(what: str) -> Handler:
    """``bool(t)`` and its siblings: ``.item()`` that the program does not ask for by name."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        with observers.read_as(what):
            return mode.enter(func, args, kwargs)

    return handler


def prints(what: str) -> Handler:
    """``repr``, ``str`` and ``format`` of a tensor: one sync, then PyTorch's own formatting."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        _note_host_read(args[0], what)
        device = moves.device_of(args[0])
        if device.type not in ("cpu", "meta") and not mode.quiet:
            moves.land_all(device)
            observers.sync(what, "printing reads the values")
        mode.quiet += 1
        try:
            return mode.enter(func, args, kwargs)
        finally:
            mode.quiet -= 1

    return handler


def pin_memory(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    return moves.pin(args[0])


def is_pinned(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> bool:
    return moves.is_pinned(args[0])


def on_the_host_only(name: str) -> Handler:
    """``apply_`` and its siblings, which call a Python function per element."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if moves.device_of(args[0]).type != "cpu":
            raise TypeError(f"{name} is only implemented on CPU tensors")
        return func(*args, **kwargs)

    return handler


def unsupported(what: str, why: str) -> Handler:
    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if args and isinstance(args[0], torch.Tensor) and moves.device_of(args[0]).type != "cpu":
            raise UnsupportedVirtually(f"{what} of a virtual accelerator's tensor: {why}")
        return func(*args, **kwargs)

    return handler


def no_cuda_array(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``__cuda_array_interface__``: absent; its pointer would be the host's."""
    if moves.device_of(args[0]).type != "cpu":
        raise AttributeError(
            "a virtual accelerator's tensor has no __cuda_array_interface__: its memory is the "
            "host's"
        )
    return func(*args, **kwargs)
