"""Assignments to items: `base[i] = value`.

Of a tensor: what is copied, and what has to be together.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, External, Host
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    LOADED,
    MAYBE_SCALAR,
    SCALAR,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import Union, Unknown, Value, alternatives
from devlint.inference.facts import Hotness, MeetingKind
from devlint.inference.interpreter.subscripts import index_of, key_of
from devlint.inference.interpreter.tensor_indices import (
    Indices,
    copy_index,
    hidden_copy,
    is_advanced,
    is_beside,
    is_masked,
    of_branch,
)
from devlint.inference.models import objects
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_places import put_back, put_into
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification.contradictions import contradiction
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.exemptions import has_dimensions
from devlint.inference.program.events import (
    ElementNote,
    EnvironmentSet,
    HostReads,
    HostWaits,
    ItemWritten,
    PlaceSettled,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.outcomes import MovedEntry
from devlint.inference.program.values import Instance
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import dotted, shorten


def assign_item(frame: Frame, target: cst.Subscript, value: Value, source: cst.CSTNode) -> None:
    """`base[i] = value`."""
    base = frame.eval(target.value)
    indices = [index_of(frame, element.slice) for element in target.slice]
    path = dotted(target.value)
    if type(value) is Instance and value.module:
        put_into(frame, value, target.value, target)
    put_back(frame, value, target.value, target)
    if path:
        frame.touch(path)
    frame.each(base, lambda holder: _assign_to(frame, target, base, holder, indices, value, source))
    if type(base) is External and base.name == "os.environ":
        frame.emit(EnvironmentSet(target, value, source))
    if path and type(base) is Tensor:
        _move_parts(frame, path, base, indices[0], value)
    is_tensor = type(base) is Tensor and base.evidence is None
    if path and len(target.slice) == 1 and not is_tensor and type(base) not in (Sequence, Mapping):
        key = key_of(target, path)
        if key:
            frame.state.hold(key, value)


def _assign_to(
    frame: Frame,
    target: cst.Subscript,
    base: Value,
    holder: Value,
    indices: Indices,
    value: Value,
    source: cst.CSTNode,
) -> Value:
    """Put the value into one of those that the base may be."""
    path = dotted(target.value)
    if type(holder) is Instance and holder.library:
        objects.assign_item(frame, target, holder, value, source)
        _replace(frame, target, value)
    elif type(holder) is Sequence:
        _put_into_list(frame, target, holder, indices[0][0], value)
    elif type(holder) is Mapping:
        _put_into_dict(frame, holder, indices[0][0], value)
        _replace(frame, target, value)
    elif (type(holder) is Host and holder.array) or _takes_list(target, holder, value):
        _fill_array(frame, target, value, source)
    elif type(holder) is Tensor:
        _replace(frame, target, value)
        chosen = of_branch(holder, base, indices)
        ((written, _),) = of_branch(holder, base, [(value, source)])
        # `x[i] += 1` writes what it read of this alternative; one value is written to each.
        met = written if type(value) is Union else value
        assign_tensor_item(frame, target, holder, chosen, met, source)
        copy_into_item(frame, target, holder, chosen, written, source)
        settle_with_item(frame, holder, value)
        if path and base is holder and fills_host(holder, value):
            frame.state.hold(path, holder.with_place(CPU, holder.origin, drop=DEFAULT))
    return holder


def _replace(frame: Frame, target: cst.Subscript, value: Value) -> None:
    """A loop that puts another value in the place of each is told which."""
    loop = frame.control.loop
    if loop is not None and loop.replacing is target:
        loop.replacement = value


def _put_into_list(
    frame: Frame, target: cst.Subscript, holder: Sequence, index: Value, value: Value
) -> None:
    """`items[0] = value`; at an index out of sight it is one of the elements. Where a loop puts
    another value in the place of each, no turn reads what another one has put there."""
    position = index.value if type(index) is Const and type(index.value) is int else None
    length = len(holder.items) if holder.items is not None and holder.kind == "list" else 0
    if position is not None and -length <= position < length:
        frame.write(holder, holder.replacing(position, value))
        return
    loop, path = frame.control.loop, dotted(target.value)
    if loop is not None and loop.replacing is target and path:
        frame.state.hold(key_of(target, path), value)
    else:
        frame.write(holder, _without_placeholders(holder).adding(value))
    _replace(frame, target, frame.stored(value))


def _put_into_dict(frame: Frame, holder: Mapping, key: Value, value: Value) -> None:
    """`table["x"] = value`; under a key out of sight it is one of the values."""
    if type(key) is Const:
        frame.write(holder, holder.putting({key.value: value}))
    else:
        frame.write(holder, _moved_along(holder, value).putting({}, value))


def _takes_list(target: cst.Subscript, holder: Value, value: Value) -> bool:
    """`table.values[i, :] = [1, loss]`: no list has such an index, and no tensor takes a list."""
    is_open = type(holder) is Unknown or (type(holder) is Tensor and not holder.is_sure)
    is_list = type(value) is Sequence and value.kind == "list"
    return is_open and is_list and len(target.slice) > 1


def _fill_array(frame: Frame, target: cst.Subscript, value: Value, source: cst.CSTNode) -> None:
    """`array[i, :] = value`: NumPy makes an array of the value first. A number is read as one."""
    is_part = any(isinstance(element.slice, cst.Slice) for element in target.slice)
    if is_part or type(value) is Sequence:
        frame.emit(HostReads(target, shorten(target), value, source))


def _move_parts(
    frame: Frame, path: str, base: Tensor, index: tuple[Value, cst.CSTNode], value: Value
) -> None:
    """`for k, v in batch.items(): batch[k] = v.to(device)`: all parts of it are moved, when the
    loop is left. Before that, no turn reads what another has put there: each has its own key. What
    a loader yields is no tensor then, whatever else is done with it: in a tensor they would stay
    where that is."""
    if base.evidence is None or type(value) is not Tensor:
        return
    is_move = value.origin is not None and value.origin.kind is StepKind.MOVED
    if base.is_sure and not (is_move and base.traits & LOADED):
        return
    is_elsewhere = value.place is not None and value.place != base.place
    if not is_move and (type(index[0]) is Const or not is_elsewhere):
        return
    if type(index[0]) is Const:
        place = None if frame.control.conditional else value.place
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
    origin = value.origin if type(value) is Tensor else None
    if type(value) is not Tensor or origin is None or origin.kind is not StepKind.MOVED:
        return holder
    return holder.putting(
        {
            key: Tensor(value.place, origin, entry.traits & ~(DEFAULT | LOADED), entry.evidence)
            for key, entry in holder.entries.items()
            if type(entry) is Tensor
        }
    )


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
            note(frame, target, kind, said, (item, source), (base, target.value), found)
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
