"""Meetings: the operands of an operation, their contradictions, and the result.

A callee out of sight may compute with what it is given, as a model or a loss does.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.path_conditions import is_of_state
from devlint.inference.domain.placement import Variable
from devlint.inference.domain.tensors import INDIRECT, KEPT
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.facts import MeetingKind
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.places import was_moved
from devlint.inference.models.unification.authority import by_authority
from devlint.inference.models.unification.batches import belongs_with, with_its_batch
from devlint.inference.models.unification.branches import (
    come_of_one_choice,
    is_moved_by_another_branch,
    stands_in,
)
from devlint.inference.models.unification.constraints import solve
from devlint.inference.models.unification.contradictions import contradiction
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.exemptions import is_bound, is_exempt, is_made_up
from devlint.inference.models.unification.observations import note_factories, show_inputs, tell
from devlint.inference.models.unification.operands import (
    MIXED,
    Candidate,
    Operation,
    alternatives_of,
    candidates_of,
    come_together,
    is_any_unknown,
)
from devlint.inference.models.unification.pending_meetings import (
    add_pending,
    leave_to_callers,
    leave_undecided,
)
from devlint.inference.models.unification.results import contradicted, result
from devlint.inference.program.assumption_sites import at, branch_taken, of_receiver
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted, shorten


def meet(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    operands: list[tuple[Value, cst.CSTNode]],
    pointwise: bool = True,
    kind: MeetingKind = MeetingKind.OPERATION,
    indirect: bool = False,
    indices: tuple[cst.CSTNode, ...] = (),
) -> Value:
    """Unify the devices of an operation's tensor operands.

    Returns the result as a tensor where the operands live, or the unknown value when no operand is
    a tensor. `indirect`: through an unknown callee, so that nothing is certain. `indices`: the
    operands that are an index, a mask or `out=`.
    """
    candidates = candidates_of(operands, frame.state.when)
    if not candidates:
        return UNKNOWN
    tell(frame, node, operands, candidates)
    bringing = Operation(node, operation, kind, pointwise, indirect, indices)
    if _contradict(frame, bringing, candidates):
        # It is said here, and whatever the result meets would say it again.
        return contradicted(frame, bringing, candidates)
    if frame.is_forward:
        show_inputs(candidates)
    return result(frame, bringing, candidates, is_any_unknown(operands))


def _contradict(frame: Frame, operation: Operation, candidates: list[Candidate]) -> bool:
    """Note which operands can't be in one place, and leave to others which need not be; whether
    there is a contradiction certainly or likely."""
    places = {each.tensor.place for each in candidates}
    if len(candidates) == 1 or places == {None}:
        return False
    note_factories(frame, operation, candidates)
    if len(places) == 1:
        return False
    bound = [each for each in candidates if is_bound(operation, each.tensor)]
    if len({each.tensor.place for each in bound}) < 2:
        return False

    def conflict(a: Candidate, b: Candidate) -> Assumptions | None:
        return contradiction(frame, a.tensor, b.tensor, operation.pointwise)

    terms = [(each.tensor.place, each) for each in by_authority(bound)]
    clashes, ties = solve(terms, come_together, conflict)
    for tie in ties:
        _leave_open(frame, operation, tie.term, tie.other, candidates)
    clashed = False
    told: list[Candidate] = []
    for clash in clashes:
        odd, other = clash.odd, clash.other
        if odd in told:
            # It is out of place beside the strongest. Of the other alternatives of that one, each
            # is told as out of place beside it.
            odd, other = other, odd
        told.append(clash.odd)
        assumed = _assumed(frame, operation, odd, other, clash.reason, candidates)
        _note(frame, operation, odd, other, assumed, candidates)
        sure = odd.tensor.is_sure and other.tensor.is_sure
        clashed = clashed or (strength(assumed) > 0 and sure)
    return clashed


def _assumed(
    frame: Frame,
    operation: Operation,
    odd: Candidate,
    anchor: Candidate,
    found: Assumptions,
    candidates: list[Candidate],
) -> Assumptions:
    """What a contradiction of two operands rests on: on what shows that they are apart, and on
    what brings them together."""
    node, tensor, said = operation.node, odd.tensor, shorten(odd.node)
    assumed: list[Assumption] = [*found]
    own = alternatives_of(odd.number, candidates)
    started = len(own) > 1 and is_exempt(tensor)  # a sum before its first term
    if started or come_of_one_choice(frame, odd, anchor, candidates):
        message = f"`{said}` and `{shorten(anchor.node)}` may come together from their branches"
        assumed.append(at(frame, AssumptionKind.BRANCHES_COMBINE, odd.node, message))
    if operation.kind is MeetingKind.CALLEE:
        assumed += of_callee(frame, operation, odd, candidates)
    elif assumed and belongs_with(frame, tensor, candidates):
        assumed.append(with_its_batch(frame, odd.node))
    if operation.indirect:  # a callee out of sight
        message = f"`{operation.name}` computes with its arguments together"
        assumed.append(at(frame, AssumptionKind.CALLEE_BRINGS_TOGETHER, node, message))
    if len(own) == 1:
        own = of_receiver(frame, tensor) or own
    several = odd.number != MIXED and len(own) > 1 and not stands_in(frame, tensor, own)
    if several or (odd.number == MIXED and is_of_state(tensor.when)):  # one branch only
        assumed.append(branch_taken(frame, odd.node, tensor))
    if operation.indirect and (several or tensor.traits & anchor.tensor.traits & INDIRECT):
        message = "these guesses hold together"
        assumed.append(at(frame, AssumptionKind.GUESSES_HOLD_TOGETHER, node, message))
    return tuple(assumed)


def _note(
    frame: Frame,
    operation: Operation,
    odd: Candidate,
    other: Candidate,
    assumed: Assumptions,
    candidates: list[Candidate],
) -> None:
    """Note a contradiction, and leave it to callers as well if they decide over it."""
    node, kind, name = operation.node, operation.kind, operation.name
    by_index = odd.node in operation.indices or other.node in operation.indices
    spoken = MeetingKind.INDEX if by_index else kind
    sides = (odd.tensor, odd.node), (other.tensor, other.node)
    note(frame, node, spoken, name, *sides, assumed)
    counts = [len(alternatives_of(each.number, candidates)) for each in (odd, other)]
    alone = odd.number == MIXED or counts == [1, 1]
    if alone and not operation.indirect:
        leave_to_callers(frame, node, kind, name, odd.tensor, other.tensor, operation.pointwise)


def _leave_open(
    frame: Frame,
    operation: Operation,
    each: Candidate,
    other: Candidate,
    candidates: list[Candidate],
) -> None:
    """Leave two operands to callers, and to the rest of the function, that may be in one place."""
    tensor, met = each.tensor, other.tensor
    if operation.indirect or Variable not in (type(tensor.place), type(met.place)):
        return
    node, kind, name = operation.node, operation.kind, operation.name
    add_pending(frame, node, kind, name, tensor, met, operation.pointwise)
    own = alternatives_of(each.number, candidates) if each.number != MIXED else []
    if is_given_part(tensor) or is_moved_by_another_branch(own, met):
        leave_undecided(frame, node, kind, name, (tensor, each.node), (met, other.node))


def of_callee(
    frame: Frame, operation: Operation, odd: Candidate, candidates: list[Candidate]
) -> Assumptions:
    """The assumptions under which a callee, known by its name only, computes with both."""
    node, name = operation.node, operation.name
    in_batch = belongs_with(frame, odd.tensor, candidates)
    if _are_inputs(name, odd, candidates):
        message = f"`{name}` is a model, by its name"
        named = at(frame, AssumptionKind.NAME_SUGGESTS_MODEL, node, message)
        return (named, with_its_batch(frame, odd.node)) if in_batch else (named,)
    if in_batch and _is_criterion(frame, node, name):
        odd.tensor.show()
        return (with_its_batch(frame, odd.node),)
    if is_made_up(odd.tensor) and holds("criterion-callee", name.rpartition(".")[2]):
        message = f"`{name}` is a loss, by its name"
        return (at(frame, AssumptionKind.NAME_SUGGESTS_MODEL, node, message),)
    message = f"`{name}` computes with its arguments as a model does"
    return (at(frame, AssumptionKind.CALLEE_IS_MODEL, node, message),)


def _are_inputs(name: str, odd: Candidate, candidates: list[Candidate]) -> bool:
    """A model or a criterion gets what its caller moved, beside something of the kind that stayed
    behind: it computes with both. Any other callee may have them for different ends."""
    tensor = odd.tensor
    if tensor.traits & KEPT or not any(holds("module-name", n) for n in name.split(".")[-2:]):
        return False  # `model(x)`, and a method of it: `model.decode(x)`
    made = is_made_up(tensor)  # here, for the model
    if not made and not holds("input-expression", shorten(odd.node)):
        return False
    return any(
        other.place is not tensor.place
        and was_moved(other)
        and (made or holds("input-expression", shorten(node)))
        for other, node, _ in candidates
    )


def _is_criterion(frame: Frame, node: cst.CSTNode, operation: str) -> bool:
    """A callee out of sight that computes a loss: by its name, or since its result is gone back
    through: `loss = crit(out, y)`, `loss.backward()`."""
    if holds("criterion-callee", operation.rpartition(".")[2]):
        return True
    statement, function = frame.current, frame.function
    if not isinstance(statement, cst.Assign) or statement.value is not node or function is None:
        return False
    names = [dotted(target.target) for target in statement.targets]
    return any(name and f"{name}.backward(" in function.text for name in names)
