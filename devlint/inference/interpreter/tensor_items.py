"""Items of a tensor: their shapes, as far as the index says, and whether they are tensors."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import NONE
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import (
    LOADED,
    MASK,
    MATRIX,
    MAYBE_SCALAR,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.interpreter.tensor_indices import (
    Indices,
    check_index,
    copy_index,
    is_beside,
    is_boolean,
    is_integer,
    is_number,
    is_zero_dim,
    may_be_number,
)
from devlint.inference.models import gradients
from devlint.inference.models.unification.pending import leave_index_to_callers
from devlint.inference.program.events import HostReads, HostWaits
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import code, dotted, shorten


def tensor_item(frame: Frame, node: cst.Subscript, base: Tensor, indices: Indices) -> Value:
    """`tensor[indices]`: a tensor in the same place."""
    if _hold_against(frame, node, base, indices):
        frame.emit(HostWaits(node, "mask indexing", base, node.value))
    traits = _traits_of_item(frame, node, base, indices)
    evidence = base.evidence
    origin = frame.origin(StepKind.COMPUTED, node, base.origin)
    if evidence is None:
        return Tensor(base.place, origin, traits)
    index, expression = indices[0]
    is_plain = isinstance(expression, (cst.SimpleString, cst.Integer, cst.Name))
    is_tensor = type(index) is Tensor and index.is_sure  # what a tensor indexes is one as well
    if len(indices) > 1 or not is_plain or is_tensor:
        return Tensor(base.place, origin, traits, Evidence(parents=(evidence,)))
    key = (id(evidence), code(node.slice[0]))
    held = frame.state.derived.get(key)
    if type(held) is Tensor and held.place is base.place:
        return held
    of_entry = Evidence(parents=(evidence,) if is_number(index) else ())
    of_entry.hints.part = _is_whole_batch(base) or _is_given_whole(base, expression)
    derived = Tensor(base.place, base.origin, traits, of_entry)
    frame.state.derived[key] = derived
    return derived


def _hold_against(frame: Frame, node: cst.Subscript, base: Tensor, indices: Indices) -> bool:
    """Hold each index against the tensor that it reads; whether one of them is a mask."""
    masked = False
    for value, expression in indices:
        beside = any(is_beside(v, base) for v in alternatives(value))
        for index in alternatives(value):
            if type(index) is not Tensor:
                continue
            if not beside:
                leave_index_to_callers(frame, node, base, index)
                if index.is_sure:
                    copy_index(frame, node, base, index, expression)
                    check_index(frame, node, base, index, expression)
            is_host = index.evidence is not None and index.evidence.is_host
            compared = bool(index.traits & MASK) and not is_host
            masked = masked or compared or (index.is_sure and is_boolean(expression, index))
    return masked


def _traits_of_item(frame: Frame, node: cst.Subscript, base: Tensor, indices: Indices) -> int:
    """The dimensions that are left. What is indexed has replaced an empty placeholder."""
    traits = gradients.kept(frame, base.traits & ~(SCALAR | SHAPED | VECTOR | MATRIX))
    index, expression = indices[0]
    if len(indices) > 1:
        is_last = all(is_number(v) or is_zero_dim(v) for v, _ in indices)
        # `pairs[i, 1]`: of two dimensions none is left
        return traits | (MAYBE_SCALAR if is_last else 0)
    if not base.traits & VECTOR:
        # `x[i]`: of one dimension none is left; `table[step]`
        picks = is_integer(node, index) or (base.place == CPU and may_be_number(node, index))
        return traits | (MAYBE_SCALAR if picks and not _is_large(base) else 0)
    if any(type(v) is Tensor and not v.is_sure for v in alternatives(index)):
        traits |= MAYBE_SCALAR  # the index may be a number
    if index is NONE and dotted(expression) != "None":
        return traits | MAYBE_SCALAR | VECTOR  # `x[self.step]`, of what begins as None
    return traits | (SCALAR if is_integer(node, index) else MATRIX if index is NONE else VECTOR)


def read_array_at(frame: Frame, node: cst.Subscript, indices: Indices) -> None:
    """`colors[labels]`, of an array of NumPy: that takes an index of the host. An integer without
    dimensions it reads as a number."""
    for value, expression in indices:
        for index in alternatives(value):
            if type(index) is Tensor and not index.traits & (SCALAR | MAYBE_SCALAR):
                frame.emit(HostReads(node, shorten(node), index, expression))


def _is_whole_batch(tensor: Tensor) -> bool:
    """What a loader yields, as it is: `batch[0]` and `batch["labels"]` are parts of it."""
    evidence, origin = tensor.evidence, tensor.origin
    if evidence is None or evidence.hints.part or origin is None or not tensor.traits & LOADED:
        return False
    return origin.kind is StepKind.LOADED


def _is_given_whole(tensor: Tensor, key: cst.CSTNode) -> bool:
    """What a caller hands in, asked for a part of a fixed name or number: `data["image"]`."""
    evidence, origin = tensor.evidence, tensor.origin
    if evidence is None or evidence.is_tensor or evidence.hints.part or origin is None:
        return False
    fixed = isinstance(key, (cst.SimpleString, cst.Integer))
    return fixed and origin.kind is StepKind.PARAMETER


def _is_large(tensor: Tensor) -> bool:
    """The tensor has more than one dimension, or is a batch that holds tensors."""
    return bool(tensor.traits & MATRIX) or (not tensor.is_sure and bool(tensor.traits & LOADED))
