"""What is said when devices contradict: PyTorch's sentence, then where each operand came from."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

import torch

from runtime_guard.core.placement import UNTAGGED, Placement, computed_at, placement_of
from runtime_guard.core.sites import nearest, site_of, user_frames
from runtime_guard.core.torch_internals import disable_torch_function, real_device
from runtime_guard.recording.events import hint_at

_TENSOR_SLOTS = ("_parameters", "_buffers", "__dict__")


def explain_operands(tensors: Sequence[torch.Tensor], argument_names: Sequence[str]) -> str:
    """```mask`: made on cpu at model.py:41; `x`: moved to cuda:0 at train.py:88``."""
    frames = user_frames()
    parts = []
    for tensor, argument in zip(tensors, argument_names, strict=False):
        name = name_in_frames(tensor, frames)
        operand = f"`{name}`" if name is not None else f"argument `{argument}`"
        parts.append(f"{operand}: {_told(tensor)}{_beside(tensor, frames)}")
    return "; ".join([*parts, *_thrown_away(tensors), *_attributes(tensors)])


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
        for name, value in _variables(frame).items():
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


def name_in_frames(tensor: torch.Tensor, frames: Sequence[FrameType]) -> str | None:
    """What the user's innermost frames call ``tensor``: a local, or an attribute of a local.

    Another tensor object on the same storage (a view, a transposed weight) counts when no name
    stands for the very object.
    """
    for same in (_is_same, _shares_storage):
        for frame in frames[:3]:
            name = _name_in_frame(tensor, frame, same)
            if name is not None:
                return name
    return None


def _is_same(candidate: Any, tensor: torch.Tensor) -> bool:
    return candidate is tensor


def _shares_storage(candidate: Any, tensor: torch.Tensor) -> bool:
    if not isinstance(candidate, torch.Tensor):
        return False
    try:
        return candidate.untyped_storage() is tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False


def _variables(frame: FrameType) -> dict[str, Any]:
    try:
        return dict(frame.f_locals)
    except Exception:
        return {}


def _name_in_frame(tensor: torch.Tensor, frame: FrameType, same: Any) -> str | None:
    variables = _variables(frame)
    for name, value in variables.items():
        if same(value, tensor):
            return name
    for name, value in variables.items():
        if isinstance(value, torch.nn.Module):
            found = _name_in_module(tensor, value, same)
            if found is not None:
                return f"{name}.{found}"
        elif isinstance(value, dict) and len(value) <= 100:
            for key, item in value.items():
                if same(item, tensor):
                    return f"{name}[{key!r}]"
        elif isinstance(value, (list, tuple)) and len(value) <= 100:
            for index, item in enumerate(value):
                if same(item, tensor):
                    return f"{name}[{index}]"
    return None


def _name_in_module(tensor: torch.Tensor, module: torch.nn.Module, same: Any) -> str | None:
    for prefix, child in module.named_modules():
        for slot in _TENSOR_SLOTS:
            for key, value in (
                child.__dict__.get(slot, {}).items()
                if slot != "__dict__"
                else (child.__dict__.items())
            ):
                if same(value, tensor):
                    return f"{prefix}.{key}" if prefix else str(key)
    return None
