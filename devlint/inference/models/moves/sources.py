"""Sources: a move says where its source is not, and where what came with it belongs."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.placement import CPU, Placement, Variable
from devlint.inference.domain.tensors import LOADED, MAYBE_SCALAR, Tensor
from devlint.inference.facts import MeetingKind
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification.drafts import note
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import Meetings
from devlint.inference.program.traffic import Moves
from devlint.inference.syntax.text import shorten


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


def keep_goal(frame: Frame, node: cst.CSTNode, tensor: Tensor, place: Placement) -> None:
    """Keep where what lives where a caller chose is brought."""
    if type(tensor.place) is Variable:
        moves = frame.kept(Moves)
        if place == CPU:
            moves.home.setdefault(tensor.place, set()).add(shorten(node))
        else:
            moves.goals.setdefault(tensor.place, set()).add(place)


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
