"""Notes: what rules read of a move, and of round trips: away and back."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found, holds
from devlint.inference.domain.placement import Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import INDIRECT, Tensor
from devlint.inference.domain.value import alternatives
from devlint.inference.models import creations
from devlint.inference.models.devices import names_device
from devlint.inference.program import options
from devlint.inference.program.events import CreatedThenMoved, MoveNote, RoundTripNote
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import called_name, code, dotted, receiver_of
from devlint.inference.syntax.words import names_module


def note_move(
    frame: Frame,
    node: cst.Call,
    method: str,
    subject: Tensor,
    target: Placement,
    target_node: cst.CSTNode | None,
    of_module: bool = False,
    non_blocking: bool = False,
) -> MoveNote:
    """Note a move, of whatever it is."""
    note = MoveNote(
        node=node,
        method=method,
        subject=subject,
        subject_node=receiver_of(node),
        target=target,
        target_node=target_node,
        of_module=of_module,
        discarded=frame.statement is node,
        non_blocking=non_blocking,
        loop=frame.control.loop,
        creation=None,
        guarded=frame.control.guarded,
        cold=options.is_cold(frame),
        evaluates=frame.control.evaluating,
    )
    frame.notes.append(note)
    return note


def note_move_of_tensor(
    frame: Frame,
    node: cst.Call,
    method: str,
    tensor: Tensor,
    target: Placement,
    target_node: cst.CSTNode | None,
    non_blocking: bool = False,
) -> MoveNote:
    """Note the move of a tensor: what made it, who gets it, whether it was moved away before."""
    subject_node = receiver_of(node)
    creation = creations.creation_of(frame, tensor, subject_node)
    if creation is not None:
        frame.emit(CreatedThenMoved(node, creation.factory, target, target_node))
    to_tensor = _to_tensor(frame, target_node)
    note = note_move(frame, node, method, tensor, target, target_node, non_blocking=non_blocking)
    if creation is not None:
        note.creation, note.apart = creation.factory, creation.apart
    note.handed = _is_handed_to_model(frame)
    note.to_tensor = to_tensor
    note_round_trip(frame, node, tensor, subject_node, target)
    return note


def _is_handed_to_model(frame: Frame) -> bool:
    """`model(features, edges.to(device))`."""
    consumers = frame.control.consumers
    return bool(consumers) and names_module(called_name(consumers[-1]))


def _to_tensor(frame: Frame, target_node: cst.CSTNode | None) -> bool:
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


def note_round_trip(
    frame: Frame,
    node: cst.Call,
    tensor: Tensor,
    subject_node: cst.BaseExpression,
    place: Placement,
) -> None:
    """Note the move back, of what was moved away before."""
    if place is None or tensor.origin is None or tensor.place is None:
        return
    if tensor.traits & INDIRECT:
        return  # whoever was called in between may need it there
    for computed, step in enumerate(tensor.origin.chain()):
        if step.kind is StepKind.MOVED:
            if _is_round(frame, step, node, tensor, subject_node, place, computed):
                away, start, middle = step.node, step.before, tensor.place
                frame.notes.append(RoundTripNote(away, node, tensor, subject_node, start, middle))
            return
        if step.kind is not StepKind.COMPUTED:
            return


def _is_round(
    frame: Frame,
    away: Provenance,
    back: cst.Call,
    tensor: Tensor,
    subject_node: cst.BaseExpression,
    place: Placement,
    computed: int,
) -> bool:
    start, middle = away.before, tensor.place
    if start is None or away.source is not frame.unit.source or _same_device(middle, place):
        return False
    if not (_same_device(start, place) or _are_inputs_of_module(frame, start, place)):
        return False
    at_once = creations.is_receiver(away.node, back) and not frame.control.guarded
    return at_once or _is_idle(frame, away.node, subject_node, middle, computed)


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
