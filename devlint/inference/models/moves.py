"""Moves: `.to` in all its overloads, `.cuda`, `.cpu`, `.type`, `type_as`, and `Module.to`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found, holds
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.host import HOST, Const, DeviceValue, External, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, CUDA, Device, Placement, Variable, VariableKind
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
from devlint.inference.models import creations
from devlint.inference.models.devices import (
    LEGACY_TYPES,
    device_among,
    is_dtype,
    named_device,
    names_device,
    place_of,
)
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.module_places import move_module, move_what_was_handed_in, placed
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification.drafts import note
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.events import (
    CreatedThenMoved,
    HostWaits,
    MoveNote,
    NonLeafNote,
    PlaceSettled,
    RoundTripNote,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.meetings import Meetings
from devlint.inference.program.traffic import HostCopies, Moves
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import (
    called_name,
    code,
    dotted,
    every,
    receiver_of,
    shorten,
)
from devlint.inference.syntax.words import names_module


class _Stay:
    """A change of dtype only: no move."""


_STAY = _Stay()


_CPU_TYPES = frozenset(f"torch.{name}Tensor" for name in LEGACY_TYPES)


def target_of(
    frame: Frame, name: str, arguments: Arguments
) -> tuple[Placement | _Stay, cst.CSTNode | None]:
    """Where a move goes: a placement, None for unknown, or `_STAY` for a change of dtype only."""
    if name in ("cuda", "xpu", "npu"):
        given = arguments.get(0, "device")
        node = arguments.node(0, "device")
        if given is None or (type(given) is Const and given.value is None):
            return Device(name), None
        place = place_of(frame, given)
        if place is None:
            return chosen(frame, node), node
        return place, node
    if name == "cpu":
        return CPU, None
    device = arguments.keywords.get("device")
    if device is not None:
        place = place_of(frame, device[0])
        if type(device[0]) is DeviceValue:
            return place, device[1]
        return (place if place is not None else chosen(frame, device[1])), device[1]
    other = arguments.keywords.get("other") or arguments.keywords.get("tensor")
    if other is not None:
        return place_of(frame, other[0]), other[1]
    if not arguments.positional:
        if "**" in arguments.keywords:
            _, node = arguments.keywords["**"]
            return device_among(frame, node), node
        return (_STAY, None) if arguments.keywords and not arguments.open else (None, None)
    value, node = arguments.positional[0]
    if type(value) is Host and (number := chosen(frame, node)) is not None:
        return number, node  # `x.to(local_rank)`: the number of a card
    if is_dtype(value):
        return _STAY, None
    place = place_of(frame, value)
    if place is None:
        if type(value) is DeviceValue:
            return None, node  # a device, but not known which
        if type(value) is Tensor and value.place is None and value.is_sure:
            return None, node
        if _names_dtype(node):
            return _STAY, None
        return chosen(frame, node), node
    return place, node


def _has_dtype_already(node: cst.Call, subject: cst.BaseExpression) -> bool:
    """`nn.Parameter(torch.ones(3, dtype=torch.float32)).to(torch.float32)` is the parameter."""
    if len(node.args) != 1:
        return False
    given = every(subject, cst.Arg)
    found = [arg.value for arg in given if arg.keyword and arg.keyword.value == "dtype"]
    return len(found) == 1 and code(found[0]) == code(node.args[0].value)


def _names_dtype(node: cst.CSTNode) -> bool:
    name = dotted(node).rpartition(".")[2]
    return "dtype" in name or "precision" in name


def chosen(frame: Frame, node: cst.CSTNode | None) -> Placement:
    """A device that the configuration chooses: `args.device`, `rank`, `gpu_id`."""
    path = dotted(node) if node is not None else ""
    if not path:
        return None
    last = path.rpartition(".")[2].lower()
    if "device" not in last and "gpu" not in last and "rank" not in last and last != "dev":
        return None
    return named_device(frame, path).place


def move_of_tensor(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """The result of a move of a tensor (or of a value that may be one)."""
    subject_node = receiver_of(node)
    target, target_node = target_of(frame, name, arguments)
    if isinstance(target, _Stay):
        if tensor.traits & PARAMETER and _has_dtype_already(node, subject_node):
            return tensor
        return tensor.with_place(tensor.place, _computed(frame, node, tensor))
    place = target
    if name == "to" and type(place) is Variable and place.parameter:
        frame.unit.context.none_handled.add(place)  # `x.to(None)` leaves it where it is
    discarded = frame.statement is node
    batch = tensor.evidence if tensor.traits & LOADED else None
    if batch is not None and (batch.hints.part or not discarded):
        batch.mark_tensor()  # a whole batch may move in place, its parts are tensors
        if batch.hints.part and tensor.origin is not None:
            frame.kept(Moves).of_batches.setdefault(tensor.origin.root.node, []).append(place)
    elif is_given_part(tensor) and tensor.origin is not None and place is not tensor.place:
        frame.kept(Moves).of_batches.setdefault(tensor.origin.root.node, []).append(place)
    frame.emit(PlaceSettled(tensor))
    module_node = _itself(subject_node)
    alone = discarded or module_node is not subject_node or _is_set_alone(frame, node)
    if alone and tensor.evidence is not None and not tensor.evidence.is_tensor:
        # In place if it is a module, lost if it is a tensor: the ordinary caller means a module.
        tensor.evidence.effects.in_place = True
        _rebind_moved(frame, module_node, tensor, place, node)
    non_blocking = _is_non_blocking(name, arguments)
    note = _note_move(
        frame, node, name, tensor, subject_node, place, target_node, discarded, non_blocking
    )
    step = Provenance(
        StepKind.MOVED, node, frame.unit.source, tensor.origin, "", before=tensor.place
    )
    traits = tensor.traits & ~(DEFAULT | LOADED | INDIRECT | KEPT | PARAMETER | PINNED | EMPTY)
    traits &= ~PAGEABLE
    if tensor.traits & GRAD and _is_leaf(tensor) and _changes(tensor.place, place):
        traits |= NON_LEAF
        frame.notes.append(NonLeafNote(node, tensor, subject_node))
    to_host = place == CPU
    if to_host and non_blocking and on_accelerator(tensor) >= 0:
        traits |= COPYING
        frame.kept(HostCopies).landing.add(node)
    elif to_host and on_accelerator(tensor) >= 0:
        frame.emit(HostWaits(node, f".{name}()", tensor, subject_node))
    elif tensor.place is None:
        wait_for_copies(frame, name, place, arguments)
    if place is None:
        return Tensor(None, step, traits, tensor.evidence)
    _note_index_moved_before(frame, subject_node, tensor, place)
    if frame.control.loop is not None and on_accelerator(Tensor(place)) >= 1:
        frame.control.loop.feeds_device = True
    if type(tensor.place) is Variable and place != CPU and not discarded:
        frame.kept(Moves).goals.setdefault(tensor.place, set()).add(place)
    if type(tensor.place) is Variable and to_host and not discarded:
        frame.kept(Moves).home.setdefault(tensor.place, set()).add(shorten(subject_node))
    evidence = tensor.evidence
    if evidence is not None:
        evidence.effects.moved = True
        evidence = Evidence(parents=(evidence,))
    note.result = Tensor(place, step, traits, evidence)
    return note.result


def _note_index_moved_before(
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
    note(
        frame,
        subject_node,
        MeetingKind.INDEX,
        pending.operation,
        table,
        subject_node.value,
        index,
        at_index,
        (assumed,),
    )


def move_of_object(
    frame: Frame,
    node: cst.Call,
    held: Tensor,
    name: str,
    arguments: Arguments,
    in_place: bool,
) -> Tensor:
    """A move of an object that holds tensors (`held` stands for them)."""
    target, target_node = target_of(frame, name, arguments)
    if isinstance(target, _Stay):
        return held
    wait_for_copies(frame, name, target, arguments)
    frame.notes.append(
        MoveNote(
            node=node,
            method=name,
            subject=held,
            subject_node=receiver_of(node),
            target=target,
            target_node=target_node,
            of_module=in_place,
            discarded=frame.statement is node,
            non_blocking=_is_non_blocking(name, arguments),
            loop=frame.control.loop,
            creation=None,
            guarded=frame.control.guarded,
            cold=frame.control.cold,
        )
    )
    if frame.control.loop is not None and on_accelerator(Tensor(target)) >= 1:
        frame.control.loop.feeds_device = True
    step = Provenance(StepKind.MOVED, node, frame.unit.source, held.origin, before=held.place)
    return held.with_place(target, step, drop=DEFAULT | LOADED | INDIRECT | KEPT)


def wait_for_copies(frame: Frame, name: str, place: Placement, arguments: Arguments) -> None:
    """A blocking copy to the host of what is perhaps on an accelerator: whatever was copied before
    it, on the same stream, has landed as well."""
    if place == CPU and not _is_non_blocking(name, arguments):
        frame.kept(HostCopies).landing.clear()


def _is_non_blocking(name: str, arguments: Arguments) -> bool:
    if name != "to":
        return _is_true(arguments.get(1, "non_blocking"))
    given = arguments.keywords.get("non_blocking")
    # `t.to(device, dtype, True)`, `t.to(other, True)`
    return _is_true(given[0] if given is not None else None) or any(
        _is_true(value) for value, _ in arguments.positional[1:3]
    )


def _computed(frame: Frame, node: cst.CSTNode, tensor: Tensor) -> Provenance:
    return Provenance(StepKind.COMPUTED, node, frame.unit.source, tensor.origin)


def _is_true(value: Value | None) -> bool:
    return type(value) is Const and value.value is True


def _itself(node: cst.BaseExpression, within: cst.CSTNode | None = None) -> cst.BaseExpression:
    """The module that `net.eval()` or `net.train(False)` gives back: `net` itself."""
    while node is not within and isinstance(node, cst.Call) and type(node.func) is cst.Attribute:
        if node.func.attr.value not in ("train", "eval"):
            break
        node = node.func.value
    return node


def _is_leaf(tensor: Tensor) -> bool:
    origin = tensor.origin
    if tensor.traits & NON_LEAF or origin is None:
        return False
    return origin.kind is StepKind.CREATED


def _changes(before: Placement, after: Placement) -> bool:
    if after is None or before is after:
        return False
    return before != after


def module_alone(frame: Frame, node: cst.Call) -> str:
    """The path of what a statement moves, and does nothing else with: `model` of
    `model.to(device)` or `model.to(device).eval()`; "" for none."""
    return dotted(_itself(receiver_of(node))) if _is_set_alone(frame, node) else ""


def _is_set_alone(frame: Frame, node: cst.Call) -> bool:
    """A statement moves something, and sets its mode at the most."""
    statement = frame.current
    return isinstance(statement, cst.Expr) and _itself(statement.value, node) is node


def _rebind_moved(
    frame: Frame, node: cst.BaseExpression, tensor: Tensor, place: Placement, call: cst.CSTNode
) -> None:
    path = dotted(node)
    if not path:
        return
    step = Provenance(StepKind.MOVED, call, frame.unit.source, tensor.origin, before=tensor.place)
    traits = tensor.traits & ~(DEFAULT | LOADED)
    frame.state.hold(path, Tensor(place, step, traits, tensor.evidence))


def _note_move(
    frame: Frame,
    node: cst.Call,
    name: str,
    tensor: Tensor,
    subject_node: cst.BaseExpression,
    place: Placement,
    target_node: cst.CSTNode | None,
    discarded: bool,
    non_blocking: bool,
) -> MoveNote:
    creation = creations.creation_of(frame, tensor, subject_node)
    if creation is not None:
        frame.emit(CreatedThenMoved(node, creation.factory, place, target_node))
    note = MoveNote(
        node=node,
        method=name,
        subject=tensor,
        subject_node=subject_node,
        target=place,
        target_node=target_node,
        of_module=False,
        discarded=discarded,
        non_blocking=non_blocking,
        loop=frame.control.loop,
        creation=creation.factory if creation is not None else None,
        guarded=frame.control.guarded,
        cold=frame.control.cold,
        apart=creation is not None and creation.apart,
        handed=_is_handed_to_model(frame),
        to_tensor=_to_tensor(frame, node, target_node),
    )
    frame.notes.append(note)
    _note_round_trip(frame, node, tensor, subject_node, place)
    return note


def _is_handed_to_model(frame: Frame) -> bool:
    """`model(features, edges.to(device))`."""
    consumers = frame.control.consumers
    return bool(consumers) and names_module(called_name(consumers[-1]))


def _to_tensor(frame: Frame, node: cst.Call, target_node: cst.CSTNode | None) -> bool:
    """`x.to(other)`, `x.type_as(other)`: what is asked for is where a tensor is. An option that is
    kept under a device's name, `self.device = options["device"]`, is none unless it is shown."""
    if isinstance(target_node, (cst.Name, cst.Attribute)):
        target = frame.eval(target_node)
        by_name = holds("device-like-name", dotted(target_node).rpartition(".")[2])
        return any(
            type(v) is Tensor and (v.is_sure or not (by_name or names_device(v)))
            for v in alternatives(target)
        )
    return not isinstance(target_node, (cst.SimpleString, cst.Integer, type(None)))


def _note_round_trip(
    frame: Frame,
    node: cst.Call,
    tensor: Tensor,
    subject_node: cst.BaseExpression,
    place: Placement,
) -> None:
    """Moved away and back, with only operations in between that run anywhere."""
    if place is None or tensor.origin is None or tensor.place is None:
        return
    if tensor.traits & INDIRECT:
        return  # whoever was called in between may need it there
    computed = 0
    for step in tensor.origin.chain():
        computed += step.kind is StepKind.COMPUTED
        if step.kind is StepKind.MOVED:
            if step.before is None or step.source is not frame.unit.source:
                return
            start, middle = step.before, tensor.place
            if (
                (_same_device(start, place) or _are_inputs_of_module(frame, start, place))
                and not _same_device(middle, place)
                and (
                    (creations.is_receiver(step.node, node) and not frame.control.guarded)
                    or _is_idle(frame, step.node, subject_node, middle, computed)
                )
            ):
                frame.notes.append(
                    RoundTripNote(step.node, node, tensor, subject_node, start, middle)
                )
            return
        if step.kind is not StepKind.COMPUTED:
            return


def _is_idle(
    frame: Frame, away: cst.CSTNode, subject: cst.BaseExpression, middle: Placement, computed: int
) -> bool:
    """Nothing between the two moves needs the tensor where it was in between."""
    noted = next((n for n in frame.notes if type(n) is MoveNote and n.node is away), None)
    around = frame.control
    if noted is None or noted.loop is not around.loop or around.guarded or around.cold:
        return False
    name, fresh = dotted(subject), frame.fresh
    if fresh is not None and frame.current is not None and name and fresh.name == name:
        bound = isinstance(frame.current, cst.Assign) and any(
            dotted(target.target) == name for target in frame.current.targets
        )
        reads = len(found("mention", code(frame.current), name)) - bound
        if fresh.value is away and reads == 1:
            return True  # the statement behind brings it back
    # else it makes room on the device
    return type(middle) is Device and not middle.is_accelerator and computed > 0


def _are_inputs_of_module(frame: Frame, a: Placement, b: Placement) -> bool:
    """All inputs of a module are where it is: `scores.cpu().argsort().to(x.device)`."""
    return frame.in_module and all(
        type(each) is Variable and each.kind is VariableKind.INPUT for each in (a, b)
    )


def _same_device(a: Placement, b: Placement) -> bool:
    if a is b:
        return True
    if type(a) is Device and type(b) is Device:
        return a.type == b.type and (a.index or 0) == (b.index or 0)
    # δ(x) and the accelerator are one in the accelerated world.
    known = a if type(a) is Device else b
    other = b if known is a else a
    return type(known) is Device and known.is_accelerator and type(other) is Variable


def type_of_tensor(frame: Frame, node: cst.Call, tensor: Tensor, arguments: Arguments) -> Value:
    """`Tensor.type`: `torch.LongTensor` moves to the CPU, `torch.cuda.LongTensor` to CUDA, a
    dtype stays (Tensor.type in torch/csrc: the type's backend is the target)."""
    value = arguments.get(0, "dtype")
    if value is None:
        return HOST  # its name
    name = (
        value.name
        if type(value) is External
        else (value.value if type(value) is Const and isinstance(value.value, str) else "")
    )
    if name in _CPU_TYPES:
        step = Provenance(
            StepKind.MOVED, node, frame.unit.source, tensor.origin, before=tensor.place
        )
        drop = DEFAULT | LOADED | KEPT | PARAMETER
        return Tensor(CPU, step, tensor.traits & ~drop, tensor.evidence)
    if name.startswith("torch.cuda."):
        step = Provenance(
            StepKind.MOVED, node, frame.unit.source, tensor.origin, before=tensor.place
        )
        drop = DEFAULT | LOADED | KEPT | PARAMETER
        return Tensor(CUDA, step, tensor.traits & ~drop, tensor.evidence)
    if name.startswith("torch."):
        return tensor.with_place(tensor.place, _computed(frame, node, tensor))
    frame.emit(PlaceSettled(tensor))  # `x.type(other.type())` moves as well
    return Tensor(None, _computed(frame, node, tensor), 0, tensor.evidence)


def type_as(frame: Frame, node: cst.Call, tensor: Tensor, arguments: Arguments) -> Value:
    """`x.type_as(y)` is `x.to(dtype and device of y)`."""
    other = arguments.get(0, "other")
    place: Placement = None
    for candidate in alternatives(other if other is not None else UNKNOWN):
        if type(candidate) is Tensor:
            candidate.show()
            place = candidate.place
    frame.emit(PlaceSettled(tensor))
    _note_move(
        frame,
        node,
        "type_as",
        tensor,
        receiver_of(node),
        place,
        arguments.node(0, "other"),
        frame.statement is node,
        False,
    )
    step = Provenance(StepKind.MOVED, node, frame.unit.source, tensor.origin, before=tensor.place)
    return Tensor(
        place,
        step,
        tensor.traits & ~(DEFAULT | LOADED | INDIRECT | KEPT | PARAMETER),
        tensor.evidence,
    )


def move_of_module(
    frame: Frame, node: cst.Call, module: Instance, name: str, arguments: Arguments
) -> Value:
    """`Module.to`: in place, and returns the module."""

    target, target_node = target_of(frame, name, arguments)
    if isinstance(target, _Stay):
        return module
    place = target
    before, origin = placed(frame, module)
    frame.notes.append(
        MoveNote(
            node=node,
            method=name,
            subject=Tensor(before, origin),
            subject_node=receiver_of(node),
            target=place,
            target_node=target_node,
            of_module=True,
            discarded=frame.statement is node,
            non_blocking=False,
            loop=frame.control.loop,
            creation=None,
            guarded=frame.control.guarded,
            cold=frame.control.cold,
        )
    )
    if frame.instance is module and frame.info is not None:
        frame.info.places_itself = True
        frame.info.stands_on = place
    wrapped = module.parent if module.library == "Parallel" else None
    if wrapped is not None:
        move_module(frame, wrapped, place, node)  # a wrapper has no parameters of its own
    elif isinstance(receiver_of(node), cst.Call):
        # A fresh module that no name holds yet.
        module.place = place
        module.origin = Provenance(StepKind.MOVED, node, frame.unit.source, origin, "moved here")
        move_what_was_handed_in(module)
    else:
        move_module(frame, module, place, node)
    return module
