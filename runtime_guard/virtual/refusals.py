"""What PyTorch refuses beside mixed operands: generators, storages, kernels that are missing."""

from __future__ import annotations

import re
from typing import Any

import torch

from runtime_guard.core.placement import CPU, TAG, placement_of
from runtime_guard.core.sites import Site
from runtime_guard.core.tensors import tensors_of
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind, hint_at
from runtime_guard.recording.explanation import explain_operands, rule_for, with_explanation
from runtime_guard.virtual import moves
from runtime_guard.virtual.machine import UnsupportedVirtually

__tracebackhide__ = True  # pytest shows the user's frames only


def check_generator(generator: torch.Generator, device: torch.device, func: Any) -> None:
    """Raise what ``at::check_generator`` raises when ``generator`` is of another device type."""
    found = generator.device.type
    if found == device.type or device.type == "meta":
        return
    sentence = f"Expected a '{device.type}' device type for generator but found '{found}'"
    made: Site | None = getattr(generator, "made", None)
    origin = f"the generator: made on {generator.device} at {made}; " if made is not None else ""
    explanation = f"{origin}the result would be on {device}"
    observers.problem(
        Kind.GENERATOR,
        getattr(func, "__name__", str(func)),
        f"{sentence} {explanation}",
        source=str(generator.device),
        target=str(device),
        declared=() if made is None else (made,),
    )
    if observers.mixed_policy() == "raise":
        raise RuntimeError(with_explanation(sentence, explanation, "DEV105"))


_TYPES = re.compile(r"Input type \(.*\) and (weight|bias) type \(.*\) should be the same")


def explain_types(
    error: RuntimeError, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """A convolution that complains of types, since autocast leaves alone what is not on the card.

    It asks for them before any kernel asks for devices (``conv2d`` in
    ``aten/src/ATen/native/Convolution.cpp``).
    """
    found = _TYPES.match(str(error))
    if found is None or "\n" in str(error):
        return
    named = dict(zip(("input", "weight", "bias"), args, strict=False)) | kwargs
    names = ("input", found[1])
    operands = [named[name] for name in names if isinstance(named.get(name), torch.Tensor)]
    if len(operands) == 2 and moves.device_of(operands[0]) is not moves.device_of(operands[1]):
        explanation, rule = explain_operands(operands, names), rule_for(operands)
        detail = f"{error} {explanation} {hint_at(rule)}"
        observers.problem(Kind.MIXED, func.__name__, detail, operands=operands)
        error.args = (with_explanation(str(error), explanation, rule),)


def refuse_other_storage(args: tuple[Any, ...]) -> None:
    """``x.set_(source)``: both on one device (``checkSetStorage`` in ATen's ``Resize.h``)."""
    placement = placement_of(args[0])
    source = args[1] if len(args) > 1 else None
    if placement is None or source is None:  # PyTorch's own helpers are untagged
        return
    found = placement_of(source) if isinstance(source, torch.Tensor) else getattr(source, TAG, None)
    device = CPU if found is None else found.device
    if device is not placement.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{placement.device}" to a storage '
            f'on different device "{device}".  This is no longer allowed; the devices must match.'
        )


def refuse_without_kernel(func: Any, operands: Any) -> None:
    """Raise what the dispatcher raises when an operand's device has no kernel of ``func``."""
    for tensor in tensors_of(operands):
        kind = moves.device_of(tensor).type
        if kind not in ("cpu", "meta"):
            raise NotImplementedError(
                f"Could not run '{func.name()}' with arguments from the '{kind.upper()}' backend. "
                "This could be because the operator doesn't exist for this backend, or was "
                "omitted during the selective/custom build process (if using custom build)."
            )


def says_what_is_missing(error: RuntimeError) -> bool:
    """Is it an error about a kernel, or a dtype of one, that PyTorch has not?

    Of a dtype it was a ``RuntimeError`` (in 2.6), before it was a ``NotImplementedError`` (in 2.9).
    """
    return isinstance(error, NotImplementedError) or "not implemented for '" in str(error)


def refuse_what_the_host_lacks(func: Any, operands: Any, error: RuntimeError) -> None:
    """Raise ``UnsupportedVirtually`` where the CPU's kernel of ``func`` is what is missing."""
    text = str(error)
    if "'CPU' backend" not in text and "not implemented for '" not in text:
        return
    device = next(
        (d for d in map(moves.device_of, tensors_of(operands)) if d.type not in ("cpu", "meta")),
        None,
    )
    if device is not None and not isinstance(error, UnsupportedVirtually):
        raise UnsupportedVirtually(
            f"{func.name()} on {device}: values are computed by the CPU, which has no such kernel "
            f"({text.partition('. ')[0]})"
        ) from None
