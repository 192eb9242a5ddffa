"""What is written into a tensor: its gradient, elements, another tensor."""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.recording import gradients, observers
from runtime_guard.recording.contradictions import refuse
from runtime_guard.recording.events import Kind
from runtime_guard.virtual import moves
from runtime_guard.virtual.function_mode import Args, FunctionMode, Handler, Kwargs

__tracebackhide__ = True  # pytest shows the user's frames only


def get_grad(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``tensor.grad``: of the copy of a leaf that was moved it is None."""
    if args[0].grad_fn is not None and not args[0].retains_grad:
        gradients.asked_about(args, "`.grad`")
    return func(*args, **kwargs)


def set_grad(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``tensor.grad = g``: both on one device (``THPVariable_set_grad``)."""
    tensor, grad = args
    if isinstance(grad, torch.Tensor):
        between = (moves.device_of(tensor), moves.device_of(grad))
        if between[0] is not between[1]:
            sentence = "assigned grad has data located on a different device"
            refuse(sentence, ".grad", [tensor, grad], ["self", "grad"], between=between)
    return func(*args, **kwargs)


def copying(position: int) -> Handler:
    """``copy_`` and ``x[i] = value``: the gradient of a value from elsewhere goes back to it."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        value = args[position] if len(args) > position else kwargs.get("other")
        mode.writes_elements = position == 2
        mode.writes_number = position == 2 and not isinstance(value, torch.Tensor)
        try:
            result = mode.run(func, args, kwargs)
        finally:
            mode.writes_elements = mode.writes_number = False
        if position == 2 and observers.observing():
            _note_element(args[0], args[1])
        if isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled():
            source = moves.device_of(value)
            if source is not moves.device_of(args[0]):
                moves.gradient_goes_back(mode.machine, args[0], value, source)
        return result

    return handler


def _note_element(written: torch.Tensor, index: Any) -> None:
    """``x[i, j] = value`` on an accelerator: one launch for one element."""
    indices = index if isinstance(index, tuple) else (index,)
    if len(indices) != written.dim() or not all(isinstance(i, int) for i in indices):
        return
    device = moves.device_of(written)
    if device.type not in ("cpu", "meta"):
        observers.problem(Kind.ELEMENT_WRITE, "__setitem__", "", target=str(device))
