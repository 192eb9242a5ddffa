"""Indexing: what an index picks out of a tensor, a container or an object.

Of a tensor: the shape of the item, as far as the index says, and whether it is a tensor.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import (
    GLOBAL_RANK,
    HOST,
    NONE,
    RANK_VARIABLES,
    Const,
    External,
    Host,
)
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
from devlint.inference.domain.value import UNKNOWN, Union, Value, alternatives, choose
from devlint.inference.interpreter import contracts
from devlint.inference.interpreter.tensor_indices import (
    Indices,
    check_index,
    copy_index,
    is_beside,
    is_integer,
    is_number,
    is_zero_dim,
    may_be_number,
    of_branch,
)
from devlint.inference.models import gradients, library_objects, objects
from devlint.inference.models.elements import is_row, told_by_position, under_key
from devlint.inference.models.modules import member, parameter_in
from devlint.inference.models.unification.indices import is_mask
from devlint.inference.models.unification.pending_meetings import leave_index_to_callers
from devlint.inference.program.events import HostReads, HostWaits, NumberTaken
from devlint.inference.program.frames import EVALUATORS, Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import code, dotted, shorten


def _subscript(frame: Frame, node: cst.Subscript) -> Value:
    path = dotted(node.value)
    if path:
        held = frame.state.env.get(key_of(node, path)) if len(node.slice) == 1 else None
        if held is not None:
            return held
    base = frame.eval(node.value)
    if type(base) is External:
        if base.name == "os.environ" and key_of(node, "")[2:-2] in RANK_VARIABLES:
            return GLOBAL_RANK
        return contracts.subscripted(frame, node, base)
    indices = [index_of(frame, element.slice) for element in node.slice]
    return item_of(frame, node, base, indices)


def key_of(node: cst.Subscript, path: str) -> str:
    """The environment's name for `path["key"]` or `path[0]`."""
    inner = node.slice[0].slice
    if isinstance(inner, cst.Index) and isinstance(
        inner.value, (cst.SimpleString, cst.Integer, cst.Name)
    ):
        return f"{path}[{inner.value.value}]"
    return ""


def index_of(frame: Frame, part: cst.BaseSlice) -> tuple[Value, cst.CSTNode]:
    """The value of an index, and its expression. The bounds of a slice are read as numbers."""
    if isinstance(part, cst.Index):
        return frame.eval(part.value), part.value
    if isinstance(part, cst.Slice):
        for bound in (part.lower, part.upper, part.step):
            if bound is not None:
                value = frame.eval(bound)
                frame.emit(NumberTaken(bound, "slice bound", value, bound))
    return UNKNOWN, part


def item_of(frame: Frame, node: cst.Subscript, base: Value, indices: Indices) -> Value:
    """The value of `base[indices]`."""
    if type(base) is Tensor and base.evidence is not None and base.evidence.effects.tested:
        return UNKNOWN  # of a list: numbers, or tensors from anywhere
    if type(base) is Tensor:
        return tensor_item(frame, node, base, indices)
    if type(base) is Sequence:
        return _item_of_list(node, base, indices)
    if type(base) is Mapping:
        return _item_of_dict(frame, node, base, indices)
    if type(base) is Host:
        if base.whole and not isinstance(node.slice[0].slice, cst.Slice):
            return Host(base.sizes)
        if base.array:
            read_array_at(frame, node, indices)
        return base
    if type(base) is Instance and base.items is not None:
        items = item_of(frame, node, base.items, indices)
        if base.module and isinstance(node.slice[0].slice, cst.Slice) and type(items) is Sequence:
            return _part_of_modules(base, items)
        return member(base, items)
    if type(base) is Instance and base.module and base.info is None:
        return parameter_in(frame, node, base)
    if type(base) is Instance and base.tensor is not None:
        return objects.elements(frame, node, base)
    if type(base) is Instance and library_objects.is_grid(frame, base):
        return base
    if type(base) is Instance and not base.module:
        row = objects.row(frame, node, base, _only(indices))
        return UNKNOWN if row is None else row
    if type(base) is Union:
        if any(type(v) in (Mapping, Sequence) for v in base.alternatives):
            indices = [(UNKNOWN, n) for _, n in indices]  # perhaps a key, or a list's index
        with frame.under(receiver=base):
            return choose(
                frame.each(base, lambda v: item_of(frame, node, v, of_branch(v, base, indices)))
            )
    return UNKNOWN


def _part_of_modules(base: Instance, items: Sequence) -> Instance:
    """`layers[1:]`: a container of modules as well, and registered where it is kept."""
    return Instance(base.info, base.library, True, base.place, base.origin, base, items, base.name)


def _only(indices: Indices) -> Value:
    return indices[0][0] if len(indices) == 1 else UNKNOWN


def _item_of_list(node: cst.Subscript, base: Sequence, indices: Indices) -> Value:
    """`items[0]`, `items[1:]`; at a position out of sight it is any of the elements."""
    index, part = _only(indices), node.slice[0].slice
    if isinstance(part, cst.Slice):
        return _sequence_slice(base, part)
    if type(index) is not Const:
        return base.any()
    if base.items is None or type(index.value) is not int:
        return UNKNOWN if told_by_position(base) else base.any()
    length = len(base.items)
    return base.items[index.value] if -length <= index.value < length else UNKNOWN


def _item_of_dict(frame: Frame, node: cst.Subscript, base: Mapping, indices: Indices) -> Value:
    """`table[key]`."""
    key = _only(indices)
    is_open = type(key) is not Const and not isinstance(node.value, cst.Dict)
    if is_open and base.element is None and not _runs(frame, indices):
        return UNKNOWN  # the entries in sight do not stand for one out of sight
    return under_key(frame, node, base.get(key), key)


def _runs(frame: Frame, indices: Indices) -> bool:
    """The key is bound by a loop, which goes through the entries."""
    counters = {name for loop in frame.control.loops for name in targets_of(loop.node)}
    return any(dotted(node) in counters for _, node in indices)


def _sequence_slice(base: Sequence, part: cst.Slice) -> Value:
    if base.items is None:
        return base
    written = (part.lower, part.upper, part.step)
    try:
        bounds = [None if each is None else int(code(each).replace(" ", "")) for each in written]
    except ValueError:
        return Sequence(None, base.any(), base.kind)
    return Sequence(base.items[slice(*bounds)], None, base.kind)


EVALUATORS[cst.Subscript] = _subscript


def tensor_item(frame: Frame, node: cst.Subscript, base: Tensor, indices: Indices) -> Value:
    """`tensor[indices]`: a tensor in the same place."""
    if _is_old_number(node, base, indices):
        return HOST
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
    of_entry.hints.inner = _is_given_table(base, expression)
    derived = Tensor(base.place, base.origin, traits, of_entry)
    frame.state.derived[key] = derived
    return derived


def _is_old_number(node: cst.Subscript, base: Tensor, indices: Indices) -> bool:
    """`loss.data[0]`, of what has no dimensions: a number before PyTorch 0.4, an error since."""
    if len(indices) > 1 or not is_integer(node, indices[0][0]):
        return False
    of_data = isinstance(node.value, cst.Attribute) and node.value.attr.value == "data"
    return bool(base.traits & (SCALAR | MAYBE_SCALAR if of_data else SCALAR))


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
            masked = masked or compared or (index.is_sure and is_mask(index, expression))
    return masked


def _traits_of_item(frame: Frame, node: cst.Subscript, base: Tensor, indices: Indices) -> int:
    """The dimensions that are left. What is indexed has replaced an empty placeholder."""
    traits = gradients.kept(frame, base.traits & ~(SCALAR | SHAPED | VECTOR | MATRIX))
    index, expression = indices[0]
    if len(indices) > 1:
        is_last = all(is_number(v) or is_zero_dim(v) for v, _ in indices)
        # `pairs[i, 1]`: of two dimensions none is left
        return traits | (MAYBE_SCALAR if is_last else 0)
    if isinstance(node.slice[0].slice, cst.Slice):
        traits |= base.traits & MATRIX  # all dimensions are left
    if not base.traits & VECTOR:
        # `x[i]`: of one dimension none is left; `table[step]`
        picks = is_integer(node, index) or _begins_as_none(index, expression)
        picks = picks or (base.place == CPU and may_be_number(node, index))
        return traits | (MAYBE_SCALAR if picks and not _is_large(base) else 0)
    if any(type(v) is Tensor and not v.is_sure for v in alternatives(index)):
        traits |= MAYBE_SCALAR  # the index may be a number
    if index is NONE and _begins_as_none(index, expression):
        return traits | MAYBE_SCALAR | VECTOR
    return traits | (SCALAR if is_integer(node, index) else MATRIX if index is NONE else VECTOR)


def _begins_as_none(index: Value, expression: cst.CSTNode) -> bool:
    """`x[self.step]`, of a number that is none at first; `x[None]` adds a dimension."""
    return dotted(expression) != "None" and any(v is NONE for v in alternatives(index))


def read_array_at(frame: Frame, node: cst.Subscript, indices: Indices) -> None:
    """`colors[labels]`, of an array of NumPy: that takes an index of the host. One integer it reads
    as a number, `Tensor.__index__`, from wherever it is."""
    for value, expression in indices:
        for index in alternatives(value):
            if type(index) is not Tensor or is_row(index):
                continue
            if not index.traits & (SCALAR | MAYBE_SCALAR):
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


def _is_given_table(entry: Tensor, key: cst.CSTNode) -> bool:
    """An entry of what a caller hands in has names itself, `batch["meta"]["size"]`."""
    evidence, origin = entry.evidence, entry.origin
    if evidence is None or not evidence.hints.part or origin is None:
        return False
    return isinstance(key, cst.SimpleString) and origin.kind is StepKind.PARAMETER


def _is_large(tensor: Tensor) -> bool:
    """The tensor has more than one dimension, or is a batch that holds tensors."""
    return bool(tensor.traits & MATRIX) or (not tensor.is_sure and bool(tensor.traits & LOADED))
