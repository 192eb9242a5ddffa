"""Indices of a tensor: which it accepts, and which of them the host has to read.

PyTorch: when it is read, a CUDA tensor takes CPU indices (they are copied), a CPU tensor refuses
CUDA indices and masks ("indices should be either on cpu or on the same device as the indexed
tensor"). When it is written to, indices are copied to where it is, wherever they are (index_put_);
a value is copied across devices by a slice, and through an index or mask only if it is 0-dim.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.tensors import MASK, SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Unknown, Value, alternatives, without
from devlint.inference.facts import MeetingKind
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.indices import index_contradiction, is_mask
from devlint.inference.program import options
from devlint.inference.program.assumption_sites import branch_taken, of_receiver
from devlint.inference.program.events import HiddenCopyNote, PlaceSettled
from devlint.inference.program.frames import Frame

Indices = list[tuple[Value, cst.CSTNode]]
"""The values of indices, each with its expression."""


def may_be_number(node: cst.Subscript, index: Value) -> bool:
    """What a table is indexed with may be a number, as far as it is known."""
    return not isinstance(node.slice[0].slice, cst.Slice) and any(
        type(each) is Unknown or (type(each) is Tensor and not each.is_sure)
        for each in alternatives(index)
    )


def is_integer(node: cst.Subscript, index: Value) -> bool:
    """A single element is picked: no slice, no list, no tensor of several."""
    if isinstance(node.slice[0].slice, cst.Slice):
        return False
    if is_zero_dim(index):
        return True
    return type(index) is Host or (type(index) is Const and index.value is not None)


def is_zero_dim(index: Value) -> bool:
    """A 0-dim tensor of integers is read as a number."""
    return type(index) is Tensor and bool(index.traits & SCALAR) and not index.traits & MASK


def is_number(value: Value) -> bool:
    """One number, or a shape, as Python has it."""
    if type(value) is Host:
        return not value.array
    return type(value) is Const and type(value.value) is int


def of_branch(holder: Value, base: Value, indices: Indices) -> Indices:
    """The indices, or the value, that one alternative of the base meets: one that is where another
    alternative of the base is belongs to that branch."""
    others = [v for v in alternatives(base) if v is not holder and type(v) is Tensor]

    def is_of_other(value: Value) -> bool:
        return any(is_beside(value, other) for other in others)

    return [
        (UNKNOWN if is_of_other(value) else without(value, is_of_other), expression)
        for value, expression in indices
    ]


def is_beside(index: Value, base: Tensor) -> bool:
    """Index and base are together, in this alternative of the two: the others belong to other
    branches."""
    return type(index) is Tensor and base.place is not None and index.place == base.place


def copy_index(
    frame: Frame, node: cst.Subscript, base: Tensor, index: Tensor, expression: cst.CSTNode
) -> None:
    """A tensor on an accelerator takes an index on the CPU, and copies it."""
    if index.traits & SCALAR:
        return  # read as a number
    frame.emit(PlaceSettled(index))
    if index.place == CPU and on_accelerator(base) >= 0:
        hidden_copy(frame, node, "index", index, expression, base, node.value)


def check_index(
    frame: Frame, node: cst.Subscript, base: Tensor, index: Tensor, expression: cst.CSTNode
) -> None:
    """A tensor on the CPU refuses to be read at an index on an accelerator."""
    found = index_contradiction(frame, base, index, expression)
    if found is not None:
        sides = (base, node.value), (index, expression)
        if len(of_receiver(frame, base)) > 1:
            found = (*found, branch_taken(frame, node.value, base))
        note(frame, node, MeetingKind.INDEX, "index", *sides, found)


def hidden_copy(
    frame: Frame,
    node: cst.CSTNode,
    what: str,
    tensor: Tensor,
    tensor_node: cst.CSTNode,
    base: Tensor,
    base_node: cst.CSTNode,
) -> None:
    """A host tensor is copied to the device to serve as an index or to be written there."""
    if not frame.constructing:
        loop, cold = frame.control.loop, options.is_cold(frame)
        frame.notes.append(
            HiddenCopyNote(node, what, tensor, tensor_node, base, base_node, loop, cold)
        )


def is_advanced(indices: Indices) -> bool:
    """One of the indices is a tensor of several: `index_put_` writes, which copies nothing."""
    return any(not index.traits & SCALAR for index, _ in _sure_tensors(indices))


def is_masked(indices: Indices) -> bool:
    """One of the indices is a mask."""
    return any(is_mask(index, expression) for index, expression in _sure_tensors(indices))


def _sure_tensors(indices: Indices) -> Iterator[tuple[Tensor, cst.CSTNode]]:
    for value, expression in indices:
        for index in alternatives(value):
            if type(index) is Tensor and index.is_sure:
                yield index, expression
