"""Indexing: what an index picks out of a tensor, a container or an object."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import GLOBAL_RANK, RANK_VARIABLES, Const, External, Host
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Union, Value, choose
from devlint.inference.interpreter import contracts
from devlint.inference.interpreter.tensor_indices import Indices, of_branch
from devlint.inference.interpreter.tensor_items import read_array_at, tensor_item
from devlint.inference.models import library_attributes, objects
from devlint.inference.models.elements import told_by_position, under_key
from devlint.inference.models.modules import member, parameter_in
from devlint.inference.program.events import NumberTaken
from devlint.inference.program.frames import EVALUATORS, Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import code, dotted


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
        return member(base, item_of(frame, node, base.items, indices))
    if type(base) is Instance and base.module and base.info is None:
        return parameter_in(frame, node, base)
    if type(base) is Instance and base.tensor is not None:
        return objects.elements(frame, node, base)
    if type(base) is Instance and library_attributes.is_grid(frame, base):
        return base
    if type(base) is Union:
        if any(type(v) in (Mapping, Sequence) for v in base.alternatives):
            indices = [(UNKNOWN, n) for _, n in indices]  # perhaps a key, or a list's index
        return choose(
            frame.each(base, lambda v: item_of(frame, node, v, of_branch(v, base, indices)))
        )
    return UNKNOWN


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
