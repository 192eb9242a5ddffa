"""Assignments to items: `base[i] = value`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, EMPTY, LOADED, Tensor
from devlint.inference.domain.value import Unknown, Value, alternatives
from devlint.inference.interpreter.subscripts import index_of, key_of
from devlint.inference.interpreter.tensor_indices import of_branch
from devlint.inference.interpreter.tensor_item_writes import (
    assign_tensor_item,
    copy_into_item,
    fills_host,
    settle_with_item,
)
from devlint.inference.models import objects
from devlint.inference.program.events import HostReads
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
    if path:
        frame.touch(path)
    for holder in alternatives(base):
        if type(holder) is Instance and holder.library:
            objects.assign_item(frame, target, holder, value, source)
            _replace(frame, target, value)
        elif type(holder) is Sequence:
            _put_into_list(frame, target, holder, indices[0][0], value)
        elif type(holder) is Mapping:
            _put_into_dict(frame, holder, indices[0][0], value)
        elif (type(holder) is Host and holder.array) or _takes_list(target, holder, value):
            _fill_array(frame, target, value, source)
        elif type(holder) is Tensor:
            _replace(frame, target, value)
            chosen = of_branch(holder, base, indices)
            assign_tensor_item(frame, target, holder, chosen, value, source)
            ((written, _),) = of_branch(holder, base, [(value, source)])
            copy_into_item(frame, target, holder, chosen, written, source)
            settle_with_item(frame, holder, value)
            if path and base is holder and fills_host(holder, value):
                frame.state.hold(path, holder.with_place(CPU, holder.origin, drop=DEFAULT))
    if path and type(base) is Tensor:
        _move_parts(frame, path, base, indices[0], value)
    is_tensor = type(base) is Tensor and base.evidence is None
    if path and len(target.slice) == 1 and not is_tensor and type(base) not in (Sequence, Mapping):
        key = key_of(target, path)
        if key:
            frame.state.hold(key, value)


def _replace(frame: Frame, target: cst.Subscript, value: Value) -> None:
    """A loop that puts another value in the place of each is told which."""
    loop = frame.control.loop
    if loop is not None and loop.replacing is target:
        loop.replacement = value


def _put_into_list(
    frame: Frame, target: cst.Subscript, holder: Sequence, index: Value, value: Value
) -> None:
    """`items[0] = value`; at an index out of sight it is one of the elements."""
    position = index.value if type(index) is Const and type(index.value) is int else None
    length = len(holder.items) if holder.items is not None and holder.kind == "list" else 0
    if position is not None and -length <= position < length:
        frame.write(holder, holder.replacing(position, value))
        return
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
    return is_open and type(value) is Sequence and len(target.slice) > 1


def _fill_array(frame: Frame, target: cst.Subscript, value: Value, source: cst.CSTNode) -> None:
    """`array[i, :] = value`: NumPy makes an array of the value first. A number is read as one."""
    is_part = any(isinstance(element.slice, cst.Slice) for element in target.slice)
    if is_part or type(value) is Sequence:
        frame.emit(HostReads(target, shorten(target), value, source))


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
