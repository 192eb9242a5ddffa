"""Indexing: which index an indexed tensor accepts, and what containers hold.

PyTorch: when it is read, a CUDA tensor takes CPU indices (they are copied), a CPU tensor refuses
CUDA indices and masks ("indices should be either on cpu or on the same device as the indexed
tensor"). When it is written to, indices are copied to where it is, wherever they are (index_put_);
a value is copied across devices by a slice, and through an index or mask only if it is 0-dim.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import GLOBAL_RANK, NONE, RANK_VARIABLES, Const, External, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    LOADED,
    MASK,
    MATRIX,
    MAYBE_SCALAR,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Unknown,
    Value,
    alternatives,
    choose,
    without,
)
from devlint.inference.facts import Hotness, MeetingKind
from devlint.inference.interpreter import contracts
from devlint.inference.models import gradients, library_attributes, objects
from devlint.inference.models.elements import told_by_position, under_key
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.modules import member, parameter_in
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification.contradictions import contradiction
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.exemptions import has_dimensions
from devlint.inference.models.unification.indices import index_contradiction
from devlint.inference.models.unification.pending import leave_index_to_callers
from devlint.inference.program.events import (
    ElementNote,
    HiddenCopyNote,
    HostReads,
    HostWaits,
    ItemWritten,
    NumberTaken,
    PlaceSettled,
)
from devlint.inference.program.frames import EVALUATORS, Frame
from devlint.inference.program.outcomes import MovedEntry
from devlint.inference.program.values import Instance
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import code, dotted, shorten


def _subscript(frame: Frame, node: cst.Subscript) -> Value:
    path = dotted(node.value)
    if path:
        held = frame.state.env.get(_key(node, path)) if len(node.slice) == 1 else None
        if held is not None:
            return held
    base = frame.eval(node.value)
    if type(base) is External:
        if base.name == "os.environ" and _key(node, "")[2:-2] in RANK_VARIABLES:
            return GLOBAL_RANK
        return contracts.subscripted(frame, node, base)
    indices = [_index(frame, element.slice) for element in node.slice]
    return item_of(frame, node, base, indices)


def _key(node: cst.Subscript, path: str) -> str:
    """The environment's name for `path["key"]` or `path[0]`."""
    inner = node.slice[0].slice
    if isinstance(inner, cst.Index) and isinstance(
        inner.value, (cst.SimpleString, cst.Integer, cst.Name)
    ):
        return f"{path}[{inner.value.value}]"
    return ""


def _index(frame: Frame, part: cst.BaseSlice) -> tuple[Value, cst.CSTNode]:
    if isinstance(part, cst.Index):
        return frame.eval(part.value), part.value
    if isinstance(part, cst.Slice):
        for bound in (part.lower, part.upper, part.step):
            if bound is not None:
                value = frame.eval(bound)
                frame.emit(NumberTaken(bound, "slice bound", value, bound))
    return UNKNOWN, part


def item_of(
    frame: Frame, node: cst.Subscript, base: Value, indices: list[tuple[Value, cst.CSTNode]]
) -> Value:
    """The value of `base[indices]`."""
    if type(base) is Tensor and base.evidence is not None and base.evidence.effects.tested:
        return UNKNOWN  # of a list: numbers, or tensors from anywhere
    if type(base) is Tensor:
        return _tensor_item(frame, node, base, indices)
    first = indices[0][0] if len(indices) == 1 else UNKNOWN
    if type(base) is Sequence:
        part = node.slice[0].slice
        if isinstance(part, cst.Slice):
            return _sequence_slice(base, part)
        if type(first) is Const and type(first.value) is int and base.items is not None:
            try:
                item: Value = base.items[first.value]
                return item
            except IndexError:
                return UNKNOWN
        return UNKNOWN if type(first) is Const and told_by_position(base) else base.any()
    if type(base) is Mapping:
        open_key = type(first) is not Const and not isinstance(node.value, cst.Dict)
        if base.element is None and open_key and not _runs(frame, indices):
            return UNKNOWN  # the entries in sight do not stand for one out of sight
        return under_key(frame, node, base.get(first), first)
    if type(base) is Host:
        if base.whole and not isinstance(node.slice[0].slice, cst.Slice):
            return Host(base.sizes)
        if base.array:
            _read_array_at(frame, node, indices)
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
            frame.each(base, lambda v: item_of(frame, node, v, _of_branch(v, base, indices)))
        )
    return UNKNOWN


def _runs(frame: Frame, indices: list[tuple[Value, cst.CSTNode]]) -> bool:
    """The key is bound by a loop, which goes through the entries."""
    counters = {name for loop in frame.control.loops for name in targets_of(loop.node)}
    return any(dotted(node) in counters for _, node in indices)


def _sequence_slice(base: Sequence, part: cst.Slice) -> Value:
    if base.items is None:
        return base
    bounds: list[int | None] = []
    for bound in (part.lower, part.upper, part.step):
        if bound is None:
            bounds.append(None)
            continue
        try:
            bounds.append(int(code(bound).replace(" ", "")))
        except ValueError:
            return Sequence(None, base.any(), base.kind)
    return Sequence(base.items[slice(*bounds)], None, base.kind)


_BOOLEAN = frozenset({"bool", "isnan", "isinf", "isfinite", "logical_not", "logical_and"}) | {
    "logical_or",
    "logical_xor",
    "eq",
    "ne",
    "gt",
    "lt",
    "ge",
    "le",
    "isin",
    "isclose",
}


def _is_boolean(expression: cst.CSTNode, index: Tensor) -> bool:
    """A tensor that a predicate made, here or under a name."""
    made = index.origin.node if index.origin is not None else None
    for node in (expression, made):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            return node.func.attr.value in _BOOLEAN
    return False


def _tensor_item(
    frame: Frame, node: cst.Subscript, base: Tensor, indices: list[tuple[Value, cst.CSTNode]]
) -> Value:
    sure = base.evidence is None
    masked = False
    for value, expression in indices:
        beside = any(_is_beside(v, base) for v in alternatives(value))
        for index in alternatives(value):
            if type(index) is not Tensor:
                continue
            if not beside:
                leave_index_to_callers(frame, node, base, index)
            if not beside and index.is_sure:
                _copy_index(frame, node, base, index, expression)
                _check_index(frame, node, base, index, expression)
            compared = bool(index.traits & MASK) and not (
                index.evidence is not None and index.evidence.is_host
            )
            masked = masked or compared or (index.is_sure and _is_boolean(expression, index))
    if masked:
        frame.emit(HostWaits(node, "mask indexing", base, node.value))
    origin = frame.origin(StepKind.COMPUTED, node, base.origin)
    # What is indexed has replaced an empty placeholder.
    traits = gradients.kept(frame, base.traits & ~(SCALAR | SHAPED | VECTOR | MATRIX))
    if base.traits & VECTOR and len(indices) == 1:
        index, expression = indices[0]
        if index is NONE and dotted(expression) != "None":
            index = UNKNOWN  # `x[self.step]`, of what begins as None: by then it is a number
            traits |= MAYBE_SCALAR
        traits |= SCALAR if _is_integer(node, index) else MATRIX if index is NONE else VECTOR
        if any(type(v) is Tensor and not v.is_sure for v in alternatives(indices[0][0])):
            traits |= MAYBE_SCALAR  # the index may be a number
    elif len(indices) > 1 and all(_is_number(v) or _is_zero_dim(v) for v, _ in indices):
        traits |= MAYBE_SCALAR  # `pairs[i, 1]`: of two dimensions none is left
    elif len(indices) == 1 and _is_integer(node, indices[0][0]) and not _is_large(base):
        traits |= MAYBE_SCALAR  # `x[i]`: of one dimension none is left
    elif base.place == CPU and _may_pick_one(node, indices) and not _is_large(base):
        traits |= MAYBE_SCALAR  # `table[step]`
    if sure:
        return Tensor(base.place, origin, traits)
    evidence = base.evidence
    assert evidence is not None
    if len(indices) > 1 or not _plain_key(indices[0]) or _is_tensor(indices[0][0]):
        evidence_of_item: Evidence | None = Evidence(parents=(evidence,))
    else:
        key = (id(evidence), code(node.slice[0]))
        held = frame.state.derived.get(key)
        if type(held) is Tensor and held.place is base.place:
            return held
        evidence_of_item = Evidence(parents=(evidence,) if _is_number(indices[0][0]) else ())
        evidence_of_item.hints.own = _is_own_entry(frame, indices[0][1])
        is_whole = _is_whole_batch(base) or _is_given_whole(base, indices[0][1])
        evidence_of_item.hints.part = is_whole
        derived = Tensor(base.place, base.origin, traits, evidence_of_item)
        frame.state.derived[key] = derived
        return derived
    return Tensor(base.place, origin, traits, evidence_of_item)


def _read_array_at(
    frame: Frame, node: cst.Subscript, indices: list[tuple[Value, cst.CSTNode]]
) -> None:
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


def _is_own_entry(frame: Frame, key: cst.CSTNode) -> bool:
    """The class makes such an entry itself, on the host, in the dict that its methods hand round:
    `cache["rest"] = torch.empty(0)`."""
    if frame.info is None or not isinstance(key, cst.SimpleString):
        return False
    return frame.info.says("own-entry", key.value)


def _may_pick_one(node: cst.Subscript, indices: list[tuple[Value, cst.CSTNode]]) -> bool:
    """What a table is indexed with may be a number, as far as it is known."""
    if len(indices) != 1 or isinstance(node.slice[0].slice, cst.Slice):
        return False
    return any(
        type(index) is Unknown or (type(index) is Tensor and not index.is_sure)
        for index in alternatives(indices[0][0])
    )


def _is_large(tensor: Tensor) -> bool:
    """The tensor has more than one dimension, or is a batch that holds tensors."""
    return bool(tensor.traits & MATRIX) or (not tensor.is_sure and bool(tensor.traits & LOADED))


def _plain_key(index: tuple[Value, cst.CSTNode]) -> bool:
    return isinstance(index[1], (cst.SimpleString, cst.Integer, cst.Name))


def _is_tensor(index: Value) -> bool:
    """What a tensor indexes is one as well."""
    return type(index) is Tensor and index.is_sure


def _is_integer(node: cst.Subscript, index: Value) -> bool:
    """A single element is picked: no slice, no list, no tensor of several."""
    if isinstance(node.slice[0].slice, cst.Slice):
        return False
    if _is_zero_dim(index):
        return True
    return type(index) is Host or (type(index) is Const and index.value is not None)


def _is_zero_dim(index: Value) -> bool:
    """A 0-dim tensor of integers is read as a number."""
    return type(index) is Tensor and bool(index.traits & SCALAR) and not index.traits & MASK


def _is_number(value: Value) -> bool:
    if type(value) is Host:
        return not value.array
    return type(value) is Const and type(value.value) is int


def _of_branch(
    holder: Value, base: Value, indices: list[tuple[Value, cst.CSTNode]]
) -> list[tuple[Value, cst.CSTNode]]:
    """The indices, or the value, that one alternative of the base meets: one that is where another
    alternative of the base is belongs to that branch."""
    others = [v for v in alternatives(base) if v is not holder and type(v) is Tensor]

    def is_of_other(value: Value) -> bool:
        return any(_is_beside(value, other) for other in others)

    return [
        (UNKNOWN if is_of_other(value) else without(value, is_of_other), expression)
        for value, expression in indices
    ]


def _is_beside(index: Value, base: Tensor) -> bool:
    """Index and base are together, in this alternative of the two: the others belong to other
    branches."""
    return type(index) is Tensor and base.place is not None and index.place == base.place


def _copy_index(
    frame: Frame, node: cst.Subscript, base: Tensor, index: Tensor, expression: cst.CSTNode
) -> None:
    """A tensor on an accelerator takes an index on the CPU, and copies it."""
    if index.traits & SCALAR:
        return  # read as a number
    frame.emit(PlaceSettled(index))
    if index.place == CPU and on_accelerator(base) >= 0:
        hidden_copy(frame, node, "index", index, expression, base, node.value)


def _check_index(
    frame: Frame, node: cst.Subscript, base: Tensor, index: Tensor, expression: cst.CSTNode
) -> None:
    """A tensor on the CPU refuses to be read at an index on an accelerator."""
    found = index_contradiction(frame, base, index)
    if found is not None:
        note(frame, node, MeetingKind.INDEX, "index", base, node.value, index, expression, found)


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
        frame.notes.append(
            HiddenCopyNote(
                node,
                what,
                tensor,
                tensor_node,
                base,
                base_node,
                frame.control.loop,
                frame.control.cold,
            )
        )


def _element_access(
    frame: Frame,
    node: cst.Subscript,
    base: Tensor,
    indices: list[tuple[Value, cst.CSTNode]],
) -> None:
    """Python writes single elements of a device tensor in a hot loop. Reads are syncs."""
    loop = frame.control.loop
    if loop is None or loop.hotness is not Hotness.HOT:
        return
    if on_accelerator(base) < (0 if frame.in_module else 1):
        return
    counters = {name for around in frame.control.loops for name in targets_of(around.node)}
    picked = [n.value for v, n in indices if isinstance(n, cst.Name) and type(v) is not Tensor]
    if not any(name in counters for name in picked):
        return
    if not all(isinstance(n, (cst.Name, cst.Integer)) for _, n in indices):
        return
    if any(type(v) is Tensor for v, _ in indices):
        return
    single = bool(base.traits & VECTOR) or (len(indices) > 1 and len(frame.control.loops) > 1)
    frame.notes.append(ElementNote(node, base, node.value, True, loop, single))


def _takes_list(target: cst.Subscript, holder: Value, value: Value) -> bool:
    """`table.values[i, :] = [1, loss]`: no list has such an index, and no tensor takes a list."""
    is_open = type(holder) is Unknown or (type(holder) is Tensor and not holder.is_sure)
    return is_open and type(value) is Sequence and len(target.slice) > 1


def _fill_array(frame: Frame, target: cst.Subscript, value: Value, source: cst.CSTNode) -> None:
    """`array[i, :] = value`: NumPy makes an array of the value first. A number is read as one."""
    is_part = any(isinstance(element.slice, cst.Slice) for element in target.slice)
    if is_part or type(value) is Sequence:
        frame.emit(HostReads(target, shorten(target), value, source))


def assign_item(frame: Frame, target: cst.Subscript, value: Value, source: cst.CSTNode) -> None:
    """`base[i] = value`."""
    base = frame.eval(target.value)
    indices = [_index(frame, element.slice) for element in target.slice]
    path = dotted(target.value)
    if path:
        frame.touch(path)
    for holder in alternatives(base):
        if type(holder) is Instance and holder.library:
            objects.assign_item(frame, target, holder, value, source)
            if frame.control.loop is not None and frame.control.loop.replacing is target:
                frame.control.loop.replacement = value
        first = indices[0][0]
        if type(holder) is Sequence:
            if (
                type(first) is Const
                and type(first.value) is int
                and holder.items is not None
                and -len(holder.items) <= first.value < len(holder.items)
                and holder.kind == "list"
            ):
                frame.write(holder, holder.replacing(first.value, value))
            else:
                frame.write(holder, _without_placeholders(holder).adding(value))
                if frame.control.loop is not None and frame.control.loop.replacing is target:
                    frame.control.loop.replacement = frame.stored(value)
        elif type(holder) is Mapping:
            if type(first) is Const:
                frame.write(holder, holder.putting({first.value: value}))
            else:
                frame.write(holder, _moved_along(holder, value).putting({}, value))
        elif (type(holder) is Host and holder.array) or _takes_list(target, holder, value):
            _fill_array(frame, target, value, source)
        elif type(holder) is Tensor:
            if frame.control.loop is not None and frame.control.loop.replacing is target:
                frame.control.loop.replacement = value
            chosen = _of_branch(holder, base, indices)
            _assign_tensor_item(frame, target, holder, chosen, value, source)
            ((written, _),) = _of_branch(holder, base, [(value, source)])
            _copy_into_item(frame, target, holder, chosen, written, source)
            if holder.place == CPU:  # it goes with what it is written to, if that is moved
                for part in tensors_in(value):
                    frame.emit(PlaceSettled(part))
                    frame.emit(ItemWritten(holder, part))
            if path and base is holder and _fills_host(holder, value):
                frame.state.hold(path, holder.with_place(CPU, holder.origin, drop=DEFAULT))
        if path and type(base) is Tensor:
            _move_parts(frame, path, base, indices[0], value)
    if path and len(target.slice) == 1 and type(base) is not Sequence and type(base) is not Mapping:
        key = _key(target, path)
        is_tensor = type(base) is Tensor and base.evidence is None
        if key and not is_tensor:
            frame.state.hold(key, value)


def _fills_host(tensor: Tensor, value: Value) -> bool:
    """`rows[i] = out.cpu()`: what is filled with what was brought to the host is there on
    purpose."""
    return bool(tensor.traits & DEFAULT) and any(
        part.place == CPU and part.origin is not None and part.origin.kind is StepKind.MOVED
        for part in tensors_in(value)
    )


def _move_parts(
    frame: Frame, path: str, base: Tensor, index: tuple[Value, cst.CSTNode], value: Value
) -> None:
    """`for k, v in batch.items(): batch[k] = v.to(device)`: all parts of it are moved, when the
    loop is left. Before that, no turn reads what another has put there: each has its own key."""
    if base.evidence is None or base.is_sure or type(value) is not Tensor:
        return
    is_move = value.origin is not None and value.origin.kind is StepKind.MOVED
    is_elsewhere = value.place is not None and value.place != base.place
    if not is_move and (type(index[0]) is Const or not is_elsewhere):
        return
    if type(index[0]) is Const:
        place = None if frame.control.branches else value.place
        entry = Tensor(place, value.origin, value.traits, value.evidence)
        frame.outcome.moved_entries.append(MovedEntry(base.evidence, index[0].value, entry))
        return
    if not frame.control.loops:
        return
    moved = Tensor(value.place, value.origin, value.traits, base.evidence)
    key = dotted(index[1])
    for loop in frame.control.loops:
        if key in targets_of(loop.node):
            loop.moved_parts[path] = moved
            frame.outcome.moved_entries.append(MovedEntry(base.evidence, None, value))
            return
    frame.bind(path, moved)


def _without_placeholders(holder: Sequence) -> Sequence:
    """A list whose elements stand for nothing: `[torch.empty(0) for _ in xs]`. What is put there
    takes their place."""
    held = alternatives(holder.any())
    if all(type(v) is Tensor and v.traits & EMPTY for v in held):
        return Sequence(None, None, holder.kind, holder.node, holder.names, holder.addresses)
    return holder


def _moved_along(holder: Mapping, value: Value) -> Mapping:
    """`for k in d: d[k] = d[k].to(device)`: every tensor of the dict is moved."""
    if type(value) is not Tensor or value.origin is None:
        return holder
    if value.origin.kind is not StepKind.MOVED:
        return holder
    place, origin = value.place, value.origin
    return holder.putting(
        {
            key: Tensor(place, origin, entry.traits & ~(DEFAULT | LOADED), entry.evidence)
            for key, entry in holder.entries.items()
            if type(entry) is Tensor
        }
    )


def _is_advanced(indices: list[tuple[Value, cst.CSTNode]]) -> bool:
    """One of the indices is a tensor of several: `index_put_` writes, which copies nothing."""
    return any(
        type(index) is Tensor and index.is_sure and not index.traits & SCALAR
        for value, _ in indices
        for index in alternatives(value)
    )


def _copy_into_item(
    frame: Frame,
    target: cst.Subscript,
    base: Tensor,
    indices: list[tuple[Value, cst.CSTNode]],
    value: Value,
    source: cst.CSTNode,
) -> None:
    """`x[0] = y` copies what is written from the host to where the tensor is."""
    if _is_advanced(indices) or on_accelerator(base) < 0:
        return
    for item in alternatives(value):
        if type(item) is Tensor and item.place == CPU and not item.traits & SCALAR:
            hidden_copy(frame, target, "assignment", item, source, base, target.value)


def _assign_tensor_item(
    frame: Frame,
    target: cst.Subscript,
    base: Tensor,
    indices: list[tuple[Value, cst.CSTNode]],
    value: Value,
    source: cst.CSTNode,
) -> None:
    advanced = _is_advanced(indices)
    for index, expression in indices:
        beside = any(_is_beside(v, base) for v in alternatives(index))
        for alternative in alternatives(index):
            if type(alternative) is Tensor and alternative.is_sure and not beside:
                _copy_index(frame, target, base, alternative, expression)
    if advanced and base.evidence is None:
        for item in alternatives(value):
            found = _assignment_contradiction(frame, base, item)
            if type(item) is Tensor and found is not None:
                kind, said = MeetingKind.OPERATION, "index assignment"
                note(frame, target, kind, said, item, source, base, target.value, found)
    if base.is_sure and not isinstance(value, Tensor):
        _element_access(frame, target, base, indices)
    if base.is_sure and _is_large_value(value) and _is_masked(indices):
        frame.emit(HostWaits(target, "mask assignment", base, target.value))


def _assignment_contradiction(frame: Frame, base: Tensor, item: Value) -> Assumptions | None:
    """`x[rows] = item`, by index_put_: the values must be where the tensor is, unless they are
    0-dim."""
    if type(item) is not Tensor or item.place is base.place or item.traits & SCALAR:
        return None
    found = contradiction(frame, item, base, pointwise=True)
    if found is not None and item.traits & MAYBE_SCALAR:
        return (*found, has_dimensions(frame, item))
    return found


def _is_masked(indices: list[tuple[Value, cst.CSTNode]]) -> bool:
    return any(
        type(index) is Tensor
        and index.is_sure
        and (bool(index.traits & MASK) or _is_boolean(expression, index))
        for value, expression in indices
        for index in alternatives(value)
    )


def _is_large_value(value: Value) -> bool:
    """More than one number, which a kernel fills in where the mask says (`masked_fill`)."""
    return (
        type(value) is Tensor
        and value.evidence is None
        and not value.traits & (SCALAR | MAYBE_SCALAR)
    )


EVALUATORS[cst.Subscript] = _subscript
