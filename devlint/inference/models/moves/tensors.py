"""Moves of tensors, and of values that may be one.

A move says where its source is not, and where what came with it belongs.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.host import HOST, External, text_of
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import both
from devlint.inference.domain.placement import CPU, CUDA, Placement, Variable
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    COPYING,
    DEFAULT,
    EMPTY,
    GRAD,
    INDIRECT,
    KEPT,
    LOADED,
    MAYBE_SCALAR,
    NON_LEAF,
    PAGEABLE,
    PARAMETER,
    PINNED,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models.devices import LEGACY_TYPES
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.moves.copies import is_non_blocking, wait_for_copies
from devlint.inference.models.moves.in_place import is_set_alone, itself, rebind
from devlint.inference.models.moves.notes import note_move_of_tensor
from devlint.inference.models.moves.targets import Stay, condition_of_target, target_of
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification.drafts import note
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.events import HostWaits, NonLeafNote, PlaceSettled
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.meetings import Meetings
from devlint.inference.program.traffic import HostCopies, Moves
from devlint.inference.syntax.text import code, dotted, every, receiver_of

_CPU_TYPES = frozenset(f"torch.{name}Tensor" for name in LEGACY_TYPES)

# What is no longer so of a tensor that was moved.
LEFT = DEFAULT | LOADED | INDIRECT | KEPT | PARAMETER | PINNED | EMPTY | PAGEABLE


def move_of_tensor(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """The result of a move of a tensor (or of a value that may be one)."""
    subject_node, discarded = receiver_of(node), frame.statement is node
    place, target_node = target_of(frame, name, arguments)
    if isinstance(place, Stay):
        if tensor.traits & PARAMETER and _has_dtype_already(node, subject_node):
            return tensor
        return _converted(frame, node, tensor)
    if name == "to" and type(place) is Variable and place.parameter:
        frame.unit.context.none_handled.add(place)  # `x.to(None)` leaves it where it is
    keep_batch(frame, tensor, place, discarded)
    frame.emit(PlaceSettled(tensor, dotted(subject_node)))
    step = _moved(frame, node, tensor)
    step.when = both(step.when, condition_of_target(frame, arguments, place))
    evidence = tensor.evidence
    if evidence is not None and (evidence.effects.foreign or not evidence.is_tensor):
        if evidence.taken_from is not None:  # each of the modules that a caller hands in
            evidence.taken_from.effects.handed = True
        module_node = itself(subject_node)
        if discarded or module_node is not subject_node or is_set_alone(frame, node):
            # In place if it is a module, lost if it is a tensor: most callers mean a module.
            evidence.effects.in_place = True
            rebind(frame, module_node, tensor, place, step)
    non_blocking = is_non_blocking(name, arguments)
    note = note_move_of_tensor(frame, node, name, tensor, place, target_node, non_blocking)
    traits = tensor.traits & ~LEFT
    if tensor.traits & GRAD and _is_leaf(tensor) and _changes(tensor.place, place):
        traits |= NON_LEAF
        frame.notes.append(NonLeafNote(node, tensor, subject_node))
    if place == CPU and on_accelerator(tensor) >= 0:
        if non_blocking:
            traits |= COPYING
            frame.kept(HostCopies).landing.add(node)
        else:
            frame.emit(HostWaits(node, f".{name}()", tensor, subject_node))
    elif tensor.place is None:
        wait_for_copies(frame, name, place, arguments)
    if place is None:
        return Tensor(None, step, traits, tensor.evidence)
    note_index_moved_before(frame, subject_node, tensor, place)
    if frame.control.loop is not None and on_accelerator(Tensor(place)) >= 1:
        frame.control.loop.feeds_device = True
    if not discarded:
        keep_goal(frame, tensor, place)
    if evidence is not None:
        evidence.effects.move(frame.state.when)
        evidence = Evidence(parents=(evidence,))
    note.result = Tensor(place, step, traits, evidence)
    return note.result


def _converted(frame: Frame, node: cst.Call, tensor: Tensor) -> Tensor:
    """A tensor of another dtype, where it was: in memory of its own, which nobody has pinned."""
    return tensor.with_place(tensor.place, _computed(frame, node, tensor), drop=PINNED)


def _has_dtype_already(node: cst.Call, subject: cst.BaseExpression) -> bool:
    """`nn.Parameter(torch.ones(3, dtype=torch.float32)).to(torch.float32)` is the parameter."""
    if len(node.args) != 1:
        return False
    given = every(subject, cst.Arg)
    found = [arg.value for arg in given if arg.keyword and arg.keyword.value == "dtype"]
    return len(found) == 1 and code(found[0]) == code(node.args[0].value)


def _moved(frame: Frame, node: cst.CSTNode, tensor: Tensor) -> Provenance:
    before = tensor.place
    return Provenance(StepKind.MOVED, node, frame.unit.source, tensor.origin, before=before)


def _computed(frame: Frame, node: cst.CSTNode, tensor: Tensor) -> Provenance:
    return frame.origin(StepKind.COMPUTED, node, tensor.origin)


def _is_leaf(tensor: Tensor) -> bool:
    origin = tensor.origin
    return origin is not None and origin.kind is StepKind.CREATED and not tensor.traits & NON_LEAF


def _changes(before: Placement, after: Placement) -> bool:
    return after is not None and before != after


def type_of_tensor(frame: Frame, node: cst.Call, tensor: Tensor, arguments: Arguments) -> Value:
    """`Tensor.type`: `torch.LongTensor` moves to the CPU, `torch.cuda.LongTensor` to CUDA, a
    dtype stays (Tensor.type in torch/csrc: the type's backend is the target)."""
    value = arguments.get(0, "dtype")
    if value is None:
        return HOST  # its name
    name = value.name if type(value) is External else text_of(value)
    if name in _CPU_TYPES or name.startswith("torch.cuda."):
        place = CPU if name in _CPU_TYPES else CUDA
        return Tensor(place, _moved(frame, node, tensor), tensor.traits & ~LEFT, tensor.evidence)
    if name.startswith("torch."):
        return _converted(frame, node, tensor)
    frame.emit(PlaceSettled(tensor))  # `x.type(other.type())` moves as well
    return Tensor(None, _computed(frame, node, tensor), 0, tensor.evidence)


def type_as(frame: Frame, node: cst.Call, tensor: Tensor, arguments: Arguments) -> Value:
    """`x.type_as(y)` is `x.to(dtype and device of y)`."""
    other = arguments.get(0, "other")
    places: list[Placement] = []
    for candidate in alternatives(other if other is not None else UNKNOWN):
        if type(candidate) is Tensor:
            candidate.show()
            places.append(candidate.place)
    same = places and all(place is places[0] or place == places[0] for place in places)
    place = places[0] if same else None  # of several, it is where the one is that is taken
    frame.emit(PlaceSettled(tensor))
    note_move_of_tensor(frame, node, "type_as", tensor, place, arguments.node(0, "other"))
    return Tensor(place, _moved(frame, node, tensor), tensor.traits & ~LEFT, tensor.evidence)


def keep_batch(frame: Frame, part: Tensor, place: Placement, discarded: bool) -> None:
    """Keep where a part of a batch is brought: the other parts belong there. A whole batch may move
    in place; its parts are tensors."""
    if part.traits & LOADED and part.evidence is not None:
        if not part.evidence.hints.part and discarded:
            return
        part.evidence.mark_tensor()
        if not part.evidence.hints.part:
            return
    elif not is_given_part(part) or place is part.place:
        return
    if part.origin is not None:
        frame.kept(Moves).of_batches.setdefault(part.origin.root.node, []).append(place)


def keep_goal(frame: Frame, tensor: Tensor, place: Placement) -> None:
    """Keep where what lives where a caller chose is brought."""
    if type(tensor.place) is Variable and place != CPU:
        frame.kept(Moves).goals.setdefault(tensor.place, set()).add(place)


def note_index_moved_before(
    frame: Frame, subject_node: cst.CSTNode, tensor: Tensor, place: Placement
) -> None:
    """`table[rows].to(device)` where `rows` are on that device: a move says where its source is
    not, so the table is elsewhere, and refuses the index."""
    pending = frame.kept(Meetings).pendings.get((tensor.place, place))
    if pending is None or not isinstance(subject_node, cst.Subscript):
        return
    table, index = pending.left, pending.right
    if pending.kind is not MeetingKind.INDEX or pending.node is not subject_node:
        return
    was_moved = index.is_sure or (index.evidence is not None and index.evidence.was_moved)
    if on_accelerator(index) < 0 or not was_moved or index.traits & MAYBE_SCALAR:
        return
    table.show()
    index.show()  # no module, which could be moved as well
    message = "{} is not where its rows are moved to"
    assumed = of_value(frame, AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE, table, message)
    rows = subject_node.slice[0].slice
    at_index = rows.value if isinstance(rows, cst.Index) else subject_node
    meeting = (subject_node, MeetingKind.INDEX, pending.operation)
    note(frame, *meeting, (table, subject_node.value), (index, at_index), (assumed,))
