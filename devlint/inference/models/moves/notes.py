"""Notes: what rules read of a move."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import alternatives
from devlint.inference.models import creations
from devlint.inference.models.devices import names_device
from devlint.inference.models.moves.round_trips import note_round_trip
from devlint.inference.program.events import CreatedThenMoved, MoveNote
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import called_name, dotted, receiver_of
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
        cold=frame.control.cold,
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
