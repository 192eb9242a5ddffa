"""Results: where that is which an operation makes of its operands."""

from __future__ import annotations

from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import PathCondition, both, either, exclude
from devlint.inference.domain.placement import Device, Variable, same_place
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    EMPTY,
    GRAD,
    INDIRECT,
    INHERITED,
    KEPT,
    MAYBE_SCALAR,
    PARAMETER,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import Value, choose
from devlint.inference.models.unification.authority import Authority, authority, setter
from devlint.inference.models.unification.batches import belongs_to_moved_batch
from devlint.inference.models.unification.branches import operands_apart, ways
from devlint.inference.models.unification.exemptions import is_exempt, is_made_up, is_on_cpu
from devlint.inference.models.unification.operands import MIXED, Candidate, Operation
from devlint.inference.program.frames import Frame

MAX_PARENTS = 4  # that the kind of a result is asked after


def result(
    frame: Frame, operation: Operation, candidates: list[Candidate], is_any_unknown: bool
) -> Value:
    """The result of an operation, where the operand that sets the place is."""
    anchor = setter(candidates).tensor
    if is_any_unknown or any(each.tensor.place is None for each in candidates):
        # If the unknown one is elsewhere, the two cannot meet: the one thing to say of it.
        kept = frame.in_module and anchor.traits & KEPT and is_on_cpu(anchor)
        if kept or _follows(anchor, operation):
            return Tensor(None, anchor.origin)  # the operand of unknown place decides
    apart = [] if is_any_unknown else operands_apart(candidates)
    if apart:
        chosen = ways(apart, candidates)
        return choose(
            (_together(frame, operation, way, setter(way).tensor), when) for way, when in chosen
        )
    found = _together(frame, operation, candidates, anchor)
    own = found.evidence
    if is_any_unknown and own is not None and own is anchor.evidence and own.hints.number:
        found.evidence = Evidence(parents=(own,))  # if it is a tensor, the unknown operand is one
    return found


def contradicted(frame: Frame, operation: Operation, candidates: list[Candidate]) -> Tensor:
    """The result of operands that contradict each other: it is nowhere, and once that is mended
    where the anchor is."""
    anchor = setter(candidates).tensor
    found = _computed(frame, operation, candidates, anchor)
    assert found.origin is not None
    found.origin.mended = anchor.place
    return found.with_place(None, found.origin)


def _follows(anchor: Tensor, operation: Operation) -> bool:
    """It sets no place: it is where the other operands are, wherever that is."""
    return is_exempt(anchor) or (operation.indirect and is_made_up(anchor))


def _together(
    frame: Frame, operation: Operation, candidates: list[Candidate], anchor: Tensor
) -> Tensor:
    """The result of operands of which nothing shows that they are apart."""
    known = anchor.evidence
    if known is None or known.is_tensor:
        return _computed(frame, operation, candidates, anchor)
    # What is no more than perhaps a tensor does not decide where the result is.
    sure = [
        each
        for each in candidates
        if each.tensor.place is not None
        and (each.tensor.evidence is None or belongs_to_moved_batch(frame, each.tensor))
    ]
    if not sure:
        if authority(anchor) is Authority.MODULE and any(
            each.tensor.place is None and each.tensor.evidence is None for each in candidates
        ):
            return Tensor(None, anchor.origin)  # `x * self.config.rate`: rather a number
        return _computed(frame, operation, candidates, anchor)
    perhaps = {each.number for each in candidates if each not in sure} - {MIXED}
    if all(each.number in perhaps for each in sure):
        return Tensor(None, anchor.origin)  # each is one of several, and another of them is open
    surest = setter(sure).tensor
    is_kept = known.hints.output and surest.traits & KEPT and is_on_cpu(surest)
    may_follow = surest.traits & MAYBE_SCALAR and is_on_cpu(surest)
    if is_kept or may_follow or _follows(surest, operation):
        return Tensor(None, surest.origin)  # as beside one of unknown place
    found = _computed(frame, operation, sure, surest)
    if found.origin is not None and anchor.place is not surest.place:
        found.origin.rival = anchor
    return found


def _computed(
    frame: Frame, operation: Operation, candidates: list[Candidate], anchor: Tensor
) -> Tensor:
    """What is computed of these operands, where the anchor is."""
    if frame.control.loops and _feeds(anchor):
        frame.control.loops[-1].feeds_device = True
    origin = Provenance(StepKind.COMPUTED, operation.node, frame.unit.source, anchor.origin)
    origin.mixes = any(_is_from_elsewhere(each.tensor, anchor) for each in candidates)
    if any(each.tensor.when for each in candidates):
        origin.when = _meanwhile(candidates, anchor)
    return Tensor(anchor.place, origin, _traits(operation, candidates, anchor), _kind(candidates))


def _traits(operation: Operation, candidates: list[Candidate], anchor: Tensor) -> int:
    scalar, empty, vector = SCALAR, EMPTY, VECTOR
    maybe = SCALAR | MAYBE_SCALAR
    shaped = SHAPED if operation.pointwise and not operation.indirect else 0
    requires = 0
    for tensor, _, _ in candidates:
        scalar &= tensor.traits
        empty &= tensor.traits
        if not tensor.traits & maybe and (tensor.is_sure or not anchor.traits & maybe):
            maybe = 0  # it is not the number `n` of `x.sum() / n`
        if not tensor.traits & SCALAR:
            vector &= tensor.traits
            shaped &= tensor.traits if tensor.place is anchor.place else 0
        requires |= tensor.traits & (GRAD | PARAMETER)
    traits = anchor.traits & INHERITED | (scalar or vector) | shaped | empty
    if maybe and not scalar:
        traits |= MAYBE_SCALAR
    if requires:
        traits |= GRAD
    return traits | INDIRECT if operation.indirect else traits


def _kind(candidates: list[Candidate]) -> Evidence | None:
    """What is computed with a tensor is one; of what may be tensors, it is one if one of them
    is."""
    known = [each.tensor.evidence for each in candidates if each.tensor.evidence is not None]
    if len(known) < len(candidates):
        return None
    return known[0] if len(known) == 1 else Evidence(parents=tuple(known[:MAX_PARENTS]))


def _is_from_elsewhere(tensor: Tensor, anchor: Tensor) -> bool:
    """An operand that was made by another call than the anchor, and has to stay beside it: were the
    anchor made on another device, the two would not meet."""
    if tensor is anchor or tensor.origin is None or anchor.origin is None or is_exempt(tensor):
        return False
    apart = tensor.origin.root.node is not anchor.origin.root.node
    return apart and same_place(tensor.place, anchor.place) and tensor.place is not None


def _meanwhile(candidates: list[Candidate], anchor: Tensor) -> PathCondition:
    """What holds of a result that is where the anchor is: what holds of that, and of each operand
    beside it."""
    operands: dict[int, PathCondition] = {}
    own = next(number for tensor, _, number in candidates if tensor is anchor)
    for tensor, _, number in candidates:
        if number != own and not exclude(tensor.when, anchor.when):
            held = operands.get(number)
            operands[number] = tensor.when if held is None else either(held, tensor.when)
    when = anchor.when
    for held in operands.values():
        when = both(held, when)
    return when


def _feeds(tensor: Tensor) -> bool:
    """An operation on it runs on an accelerator, in the accelerated world."""
    place = tensor.place
    if type(place) is Device:
        return place.is_accelerator
    return type(place) is Variable and tensor.is_sure
