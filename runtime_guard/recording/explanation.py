"""What is said when devices contradict: PyTorch's sentence, then where each operand came from."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType

import torch

from runtime_guard.core.placement import UNTAGGED, Placement, computed_at, placement_of
from runtime_guard.core.sites import nearest, site_of, user_frames
from runtime_guard.core.torch_internals import disable_torch_function, real_device
from runtime_guard.recording.events import hint_at
from runtime_guard.recording.names import names_of, variables


def explain_operands(tensors: Sequence[torch.Tensor], argument_names: Sequence[str]) -> str:
    """```mask`: made on cpu at model.py:41; `x`: moved to cuda:0 at train.py:88``."""
    frames = user_frames()
    parts = []
    named = zip(tensors, names_of(tensors, frames), argument_names, strict=False)
    for tensor, name, argument in named:
        operand = f"`{name}`" if name is not None else _argument(argument)
        parts.append(f"{operand}: {_told(tensor)}{_beside(tensor, frames)}")
    return "; ".join([*parts, *_thrown_away(tensors), *_attributes(tensors)])


def _argument(name: str) -> str:
    """``argument `other```; what is no name, as ``the gradient``, stands for itself."""
    return name if " " in name else f"argument `{name}`"


def _beside(tensor: torch.Tensor, frames: Sequence[FrameType]) -> str:
    """Of a tensor that was moved inside of a call that is still running: what that was given on the
    same device.

    In ``scheduler.add_noise(images, noise, steps)`` the scheduler's table is moved to where
    ``images`` is, and there it meets ``noise``.  The line of the call says nothing of ``images``.
    """
    place = _placement(tensor)
    sites = [site_of(frame) for frame in frames]
    if place.moved is None or place.moved not in sites:
        return ""
    for frame in frames[: sites.index(place.moved)]:
        for name, value in variables(frame).items():
            if not isinstance(value, torch.Tensor) or value is tensor:
                continue
            other = _placement(value)
            origin = other.moved or other.made
            told = other.device is place.device and not other.computed and origin is not None
            if told and origin != place.moved:
                return f" (where `{name}` is: {_told(value)})"
    return ""


def _thrown_away(tensors: Sequence[torch.Tensor]) -> list[str]:
    """The copies of the operands that were meant to be here in their place."""
    found = dict.fromkeys(_placement(tensor).thrown_away for tensor in tensors)
    return [one.sentence for one in found if one is not None]


def _attributes(tensors: Sequence[torch.Tensor]) -> list[str]:
    """What a module's move has passed by, which attribute it is, and the cure."""
    found = dict.fromkeys(_placement(tensor).passed_by for tensor in tensors)
    return [f"{one.sentence} (moved at {nearest(one.stack)})" for one in found if one is not None]


def rule_for(tensors: Sequence[torch.Tensor]) -> str:
    """The rule of ``devlint check`` that finds such operands where they meet."""
    places = [_placement(tensor) for tensor in tensors]
    for place in places:
        if place.passed_by is not None:
            return place.passed_by.rule
        if place.thrown_away is not None:
            return place.thrown_away.rule
    if places and all(place.device.type != "cpu" for place in places):
        return "DEV106"
    fresh = any(p.device.type == "cpu" and p.made and not (p.moved or p.computed) for p in places)
    return "DEV102" if fresh else "DEV101"


def with_explanation(sentence: str, explanation: str, rule: str = "") -> str:
    """PyTorch's first sentence on the first line, what devlint knows on the next.

    ``rule`` is the one of ``devlint check`` that finds it without running.
    """
    known = " ".join(part for part in (explanation, rule and hint_at(rule)) if part)
    return f"{sentence}\n  {known}" if known else sentence


def _told(tensor: torch.Tensor) -> str:
    return _placement(tensor).describe(computed_at(tensor))


def _placement(tensor: torch.Tensor) -> Placement:
    found = placement_of(tensor)
    if found is not None:
        return found
    with disable_torch_function():
        device = real_device(tensor)
    return UNTAGGED if device.type == "cpu" else Placement(device)
