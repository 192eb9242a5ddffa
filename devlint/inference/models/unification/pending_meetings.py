"""Pending meetings: operands that agree if a caller, or the rest of the function, has it so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import either
from devlint.inference.domain.placement import CPU, Variable, VariableKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Union, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.module_places import stateful
from devlint.inference.models.unification.authority import Authority, authority
from devlint.inference.models.unification.rigid_devices import answers_to_callers
from devlint.inference.program.assumption_sites import at, guess
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import MeetingDraft, Meetings, Operand, Pending
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import shorten

MAX_PENDING = 24


def add_pending(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    right: Tensor,
    pointwise: bool,
    called: Evidence | None = None,
    assumptions: Assumptions = (),
) -> None:
    """Two operands that a caller may put apart: one note for each pair of places."""
    key = (left.place, right.place)
    pendings = frame.kept(Meetings).pendings
    old = pendings.get(key)
    if old is not None:
        old.when = either(old.when, frame.state.when)
    if (old is None and len(pendings) < MAX_PENDING) or (old and not may_meet(old)):
        pendings[key] = Pending(
            node, kind, operation, left, right, pointwise, frame.state.when, called, assumptions
        )


def may_meet(pending: Pending) -> bool:
    """Neither operand has been shown to be no tensor meanwhile."""
    return not any(
        t.evidence is not None and t.evidence.is_host for t in (pending.left, pending.right)
    )


def leave_to_callers(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    right: Tensor,
    pointwise: bool,
) -> None:
    """A contradiction with a parameter that may be no tensor: a call that hands one in shows it."""
    for tensor in (left, right):
        if tensor.is_sure and not answers_to_callers(frame, tensor):
            continue
        if type(tensor.place) is Variable and tensor.place.parameter:
            add_pending(frame, node, kind, operation, left, right, pointwise)
            return


def leave_index_to_callers(frame: Frame, node: cst.CSTNode, base: Tensor, index: Tensor) -> None:
    """`table[index]`, of which one is a parameter, or both: a call may put them apart."""
    place = base.place
    is_host = index.evidence is not None and index.evidence.is_host
    if place is None or place is index.place or index.place in (None, CPU) or is_host:
        return
    if Variable in (type(place), type(index.place)):
        add_pending(frame, node, MeetingKind.INDEX, "index", base, index, pointwise=False)


def leave_undecided(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    odd: Operand,
    anchor: Operand,
) -> None:
    """An input meets what is on a device, which a move in this function may say that it is not on,
    here or further down."""
    place, sets = odd[0].place, authority(anchor[0])
    if type(place) is not Variable or place.kind is not VariableKind.INPUT:
        return
    if not (sets is Authority.CHOSEN or (sets is Authority.MODULE and is_given_part(odd[0]))):
        return
    undecided = frame.kept(Meetings).undecided
    if len(undecided) < MAX_PENDING:
        caught, guessed = frame.control.caught, guess(frame, anchor[0])
        assumed = () if guessed is None else (guessed,)
        draft = MeetingDraft(node, kind, operation, *odd, *anchor, assumed, None, caught)
        undecided.append(draft)


@contextmanager
def of_one_module(frame: Frame, node: cst.Call, callee: Union) -> Iterator[None]:
    """What is left to callers while one of several modules is called, some of which hold nothing
    that its inputs could meet: it rests on which of them it is."""
    pendings = frame.kept(Meetings).pendings
    before = list(pendings.values())
    yield
    if any(
        type(v) is Instance and v.module and not stateful(frame, v) for v in alternatives(callee)
    ):
        kind = AssumptionKind.KEPT_VALUE_IS_OF_BRANCH
        message = f"`{shorten(node.func)}` is one of its modules that has parameters"
        for pending in pendings.values():
            if pending not in before:
                pending.assumptions += (at(frame, kind, node, message),)
