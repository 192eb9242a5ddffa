"""Where a tensor is: on which device of the machine, and whether in page-locked memory."""

from __future__ import annotations

import torch

from runtime_guard.core.placement import intern_device, placement_of, storage_of
from runtime_guard.core.torch_internals import real_device
from runtime_guard.recording.explanation import explain_operands, with_explanation

__tracebackhide__ = True  # pytest shows the user's frames only

_PINNED = "_devlint_pinned"


def device_of(tensor: torch.Tensor) -> torch.device:
    """Where ``tensor`` lives on the virtual machine (call with torch functions unhooked)."""
    placement = placement_of(tensor)
    return placement.device if placement is not None else intern_device(real_device(tensor))


def is_pinned(tensor: torch.Tensor) -> bool:
    """Is the host tensor in (virtually) page-locked memory?"""
    return bool(getattr(storage_of(tensor), _PINNED, False))


def mark_pinned(tensor: torch.Tensor) -> None:
    """From now on ``tensor`` is in page-locked memory."""
    setattr(storage_of(tensor), _PINNED, True)


def pin(tensor: torch.Tensor) -> torch.Tensor:
    """A host copy marked page-locked; ``tensor`` itself when it is already."""
    if is_pinned(tensor):
        return tensor
    device = device_of(tensor)
    if device.type != "cpu":
        name = tensor.type().replace("torch.", f"torch.{device.type}.", 1)
        sentence = f"cannot pin '{name}' only dense CPU tensors can be pinned"
        raise RuntimeError(with_explanation(sentence, explain_operands([tensor], ["self"])))
    copy = tensor.clone()
    mark_pinned(copy)
    return copy
