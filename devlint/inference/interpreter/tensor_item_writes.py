"""Writes to items of a tensor: what is copied, and what has to be together."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, MAYBE_SCALAR, SCALAR, VECTOR, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Hotness, MeetingKind
from devlint.inference.interpreter.tensor_indices import (
    Indices,
    copy_index,
    hidden_copy,
    is_advanced,
    is_beside,
    is_masked,
)
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification.contradictions import contradiction
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.exemptions import has_dimensions
from devlint.inference.program.events import ElementNote, HostWaits, ItemWritten, PlaceSettled
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.loops import targets_of


def assign_tensor_item(
    frame: Frame,
    target: cst.Subscript,
    base: Tensor,
    indices: Indices,
    value: Value,
    source: cst.CSTNode,
) -> None:
    """`x[i] = y`: what has to be together, and what the host waits for."""
    for index, expression in indices:
        beside = any(is_beside(v, base) for v in alternatives(index))
        for alternative in alternatives(index):
            if type(alternative) is Tensor and alternative.is_sure and not beside:
                copy_index(frame, target, base, alternative, expression)
    for item in alternatives(value) if base.evidence is None and is_advanced(indices) else ():
        found = _assignment_contradiction(frame, base, item)
        if type(item) is Tensor and found is not None:
            kind, said = MeetingKind.OPERATION, "index assignment"
            note(frame, target, kind, said, item, source, base, target.value, found)
    if base.is_sure and not isinstance(value, Tensor):
        _element_access(frame, target, base, indices)
    if base.is_sure and _is_large_value(value) and is_masked(indices):
        frame.emit(HostWaits(target, "mask assignment", base, target.value))


def copy_into_item(
    frame: Frame,
    target: cst.Subscript,
    base: Tensor,
    indices: Indices,
    value: Value,
    source: cst.CSTNode,
) -> None:
    """`x[0] = y` copies what is written from the host to where the tensor is."""
    if is_advanced(indices) or on_accelerator(base) < 0:
        return
    for item in alternatives(value):
        if type(item) is Tensor and item.place == CPU and not item.traits & SCALAR:
            hidden_copy(frame, target, "assignment", item, source, base, target.value)


def settle_with_item(frame: Frame, base: Tensor, value: Value) -> None:
    """What is written to a tensor on the host goes with it, if that is moved."""
    for part in tensors_in(value) if base.place == CPU else ():
        frame.emit(PlaceSettled(part))
        frame.emit(ItemWritten(base, part))


def fills_host(base: Tensor, value: Value) -> bool:
    """`rows[i] = out.cpu()`: what is filled with what was brought to the host is there on
    purpose."""
    return bool(base.traits & DEFAULT) and any(
        part.place == CPU and part.origin is not None and part.origin.kind is StepKind.MOVED
        for part in tensors_in(value)
    )


def _element_access(frame: Frame, node: cst.Subscript, base: Tensor, indices: Indices) -> None:
    """Python writes single elements of a device tensor in a hot loop. Reads are syncs."""
    loop = frame.control.loop
    if loop is None or loop.hotness is not Hotness.HOT:
        return
    if on_accelerator(base) < (0 if frame.in_module else 1):
        return
    if any(type(v) is Tensor or not isinstance(n, (cst.Name, cst.Integer)) for v, n in indices):
        return
    counters = {name for around in frame.control.loops for name in targets_of(around.node)}
    if not any(isinstance(n, cst.Name) and n.value in counters for _, n in indices):
        return
    single = bool(base.traits & VECTOR) or (len(indices) > 1 and len(frame.control.loops) > 1)
    frame.notes.append(ElementNote(node, base, node.value, True, loop, single))


def _assignment_contradiction(frame: Frame, base: Tensor, item: Value) -> Assumptions | None:
    """`x[rows] = item`, by index_put_: the values must be where the tensor is, unless they are
    0-dim."""
    if type(item) is not Tensor or item.place is base.place or item.traits & SCALAR:
        return None
    found = contradiction(frame, item, base, pointwise=True)
    if found is not None and item.traits & MAYBE_SCALAR:
        return (*found, has_dimensions(frame, item))
    return found


def _is_large_value(value: Value) -> bool:
    """More than one number, which a kernel fills in where the mask says (`masked_fill`)."""
    return (
        type(value) is Tensor
        and value.evidence is None
        and not value.traits & (SCALAR | MAYBE_SCALAR)
    )
