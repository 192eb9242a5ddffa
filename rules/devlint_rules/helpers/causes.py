"""One finding for each cause: what one change mends is said once, with all its places.

A tensor made once and met in three places, a plain attribute and the operations that refuse it, one
`.numpy()` of a value that two branches may have left: facts tell each of them, rules the cause. So
is what a function does by habit: five tensors that it makes on the CPU and moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import libcst as cst

from devlint.inference.domain.placement import Device, Placement, Variable, VariableKind
from devlint.inference.facts import (
    Facts,
    HostRead,
    Meeting,
    MeetingKind,
    Move,
    Operand,
    PlainAttribute,
    Site,
    StepKind,
)
from devlint.inference.syntax.text import names_in, owner_of
from devlint.rule import Claim, Note, Replacement
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.lost_moves import lost_moves
from devlint_rules.helpers.ownership import rule_of_meeting, strays
from devlint_rules.helpers.rewrites import is_path, text_of
from devlint_rules.helpers.scopes import function_around
from devlint_rules.helpers.wording import MAX_TWINS, and_more, is_host

_Arrival = tuple[str, tuple[cst.CSTNode, ...], Placement]
_BEGINNINGS = (StepKind.CREATED, StepKind.LOADED)


@dataclass(frozen=True, slots=True)
class Cause:
    """A meeting, and where else the same value meets what is elsewhere."""

    meeting: Meeting
    twins: tuple[Site, ...]


def causes(facts: Facts) -> list[Cause]:
    """The meetings of a file but for those of plain attributes and of what a lost move was to mend,
    one for each value out of place."""
    kept: dict[object, Meeting] = {}
    twins: dict[object, list[Site]] = {}
    for meeting in _one_of_each_operation(facts.meetings):
        if _owner(facts, meeting) is not None or _lost_move(facts, meeting) is not None:
            continue
        value = _value(meeting)
        if value in kept:
            twins.setdefault(value, []).append(meeting.site)
        else:
            kept[value] = meeting
    found = [Cause(meeting, tuple(twins.get(value, ()))) for value, meeting in kept.items()]
    order = {id(meeting): index for index, meeting in enumerate(facts.meetings)}
    return sorted(found, key=lambda cause: order[id(cause.meeting)])


def habits(facts: Facts, claims: Iterable[Claim]) -> Iterator[Claim]:
    """The claims of one rule, joined where they say the same of several places of a function.

    The first place stands for all: the others are in its trace, each with what to write there, and
    its fix mends them all. Claims that rest on different assumptions stay apart, and so do safe
    fixes, unsafe ones and places without.
    """
    yield from _joined(facts, claims, lambda claim: _habit(facts, claim))


def repeats(facts: Facts, claims: Iterable[Claim]) -> Iterator[Claim]:
    """The claims of one rule, joined where they say the same, word for word, in one function: three
    calls of `grid(n)` beside a `device` that none of them is given."""
    yield from _joined(facts, claims, lambda c: (c.message, c.advice, _habit(facts, c)))


def _joined(
    facts: Facts, claims: Iterable[Claim], cause: Callable[[Claim], object]
) -> Iterator[Claim]:
    """One claim of each cause, with the places of the others."""
    joined: dict[object, dict[cst.CSTNode, Claim]] = {}
    for claim in claims:
        joined.setdefault(cause(claim), {}).setdefault(claim.site.node, claim)
    for places in joined.values():
        first, *others = places.values()
        yield _with_places(facts, first, others) if others else first


def _habit(facts: Facts, claim: Claim) -> object:
    assumed = frozenset(each.kind for each in claim.assumptions)
    fix = (claim.applicability, bool(claim.fix))
    how = (claim.severity, claim.confidence, assumed, fix)
    return id(function_around(facts, claim.site.node)), how, claim.given


def _with_places(facts: Facts, first: Claim, others: list[Claim]) -> Claim:
    notes = (
        Note(each.site, f"here, too: {each.advice}" if _says_more(each, first) else "here, too")
        for each in others[:MAX_TWINS]
    )
    return replace(
        first,
        message=f"{first.message}{and_more(len(others))}",
        trace=(*first.trace, *notes),
        fix=apart(facts, [part for each in (first, *others) for part in each.fix]),
    )


def _says_more(claim: Claim, first: Claim) -> bool:
    return bool(claim.advice) and claim.advice != first.advice


def apart(facts: Facts, parts: list[Replacement]) -> tuple[Replacement, ...]:
    """Replacements but for those inside of what another one replaces."""
    tree, replaced = facts.source.tree, {part.site.node for part in parts}
    return tuple(part for part in parts if replaced.isdisjoint(path_to(tree, part.site.node)))


def uses_of(facts: Facts, attribute: PlainAttribute) -> list[Meeting]:
    """The meetings that registering an attribute mends, the surest first."""
    return [
        meeting
        for meeting in _one_of_each_operation(facts.meetings)
        if _owner(facts, meeting) is attribute
    ]


def uses_of_lost(facts: Facts, move: Move) -> list[Meeting]:
    """The meetings that keeping the result of a move mends."""
    return _mended(facts).get(move.site.node, [])


@lru_cache(maxsize=1)  # the file under check
def _mended(facts: Facts) -> Mapping[cst.CSTNode, list[Meeting]]:
    """The meetings that keeping the result of each discarded move mends."""
    found: dict[cst.CSTNode, list[Meeting]] = {}
    for meeting in _one_of_each_operation(facts.meetings):
        move = _lost_move(facts, meeting)
        if move is not None:
            found.setdefault(move.site.node, []).append(meeting)
    return found


def reads(facts: Facts) -> list[list[HostRead]]:
    """The reads of each value by the host, the first one first: one copy to the host mends them.

    A call reads once: its object may be one of several values.
    """
    kept: dict[cst.CSTNode, HostRead] = {}
    for read in sorted(facts.host_reads, key=lambda read: -read.confidence.rank):
        kept.setdefault(read.site.node, read)
    found: dict[object, list[HostRead]] = {}
    for read in facts.host_reads:
        if kept[read.site.node] is read:
            found.setdefault(_value_read(read), []).append(read)
    return list(found.values())


def _value_read(read: HostRead) -> object:
    """The name under which a value is read, or parts of it are, and how it came to be; or the
    input of which alone it is computed, `mask > 0` and `mask <= 0`."""
    operand = read.operand
    begun = operand.steps[0] if operand.steps else None
    if begun is not None and begun.kind is StepKind.PARAMETER and input_read(operand):
        return begun.site.node, read.given, read.confidence, read.caught
    whole = owner_of(operand.site.node)
    steps = tuple(s.site.node for s in operand.steps if s.site.node is not operand.site.node)
    if not is_path(text_of(whole)) or not steps or operand.element or read.given is not None:
        return id(read)
    return text_of(whole), steps, read.confidence, read.caught


def input_read(operand: Operand) -> str:
    """The one name in what is read, if that is the input whose place it has: `mask > 0`."""
    place, names = operand.placement, set(names_in(operand.site.node))
    if type(place) is not Variable or place.kind is not VariableKind.INPUT or operand.element:
        return ""
    return place.name if names == {place.name} else ""


def _one_of_each_operation(meetings: Iterable[Meeting]) -> list[Meeting]:
    """One meeting for each operation and odd operand, whatever that may meet there.

    Of two operands, of which now the one may be out of place and now the other, it is one: `a @ b`,
    each made on the host if it was no tensor.
    """
    kept: dict[object, Meeting] = {}
    pairs: set[object] = set()
    for meeting in sorted(meetings, key=_doubt):
        operation, odd, anchor = (
            s.node for s in (meeting.site, meeting.left.site, meeting.right.site)
        )
        rule = rule_of_meeting(meeting)  # each has doubts of its own
        if odd is anchor or (rule, operation, anchor, odd) not in pairs:
            kept.setdefault(_odd_operand(meeting), meeting)
            pairs.add((rule, operation, odd, anchor))
    return list(kept.values())


def _doubt(meeting: Meeting) -> tuple[int, bool]:
    """The surest first; an operation that refuses says more than a shape that hints at it."""
    return -meeting.confidence.rank, meeting.kind is MeetingKind.SHAPE


def _odd_operand(meeting: Meeting) -> object:
    place, inside = meeting.left.site.node, None
    if place is meeting.site.node and meeting.inside is not None:
        inside = meeting.inside.node  # what a callee makes itself has no place of its own
    return meeting.site.node, place, inside, meeting.kind is MeetingKind.CONTRACT


def _owner(facts: Facts, meeting: Meeting) -> PlainAttribute | None:
    """The plain attribute under which a module keeps the odd operand, and that DEV205 reports."""
    odd = _fixed_operand(meeting)
    if meeting.kind is MeetingKind.CONTRACT or odd is None:
        return None
    steps = {step.site.node for step in odd.steps}
    for attribute in facts.plain_attributes:
        if attribute.site.node in steps and is_unregistered(attribute) and attribute.used_at:
            return attribute
    return None


def _fixed_operand(meeting: Meeting) -> Operand | None:
    """The operand that is on the host, or on the current card where the other is on a chosen
    one."""
    left, right = meeting.left, meeting.right
    if is_host(left.placement):
        return left
    if not strays(meeting):
        return None
    return left if isinstance(left.placement, Device) else right


def _lost_move(facts: Facts, meeting: Meeting) -> Move | None:
    """The discarded move that was to bring the odd operand to where it meets the other one."""
    if meeting.kind is MeetingKind.CONTRACT:
        return None
    return _lost(facts).get(_arrival(meeting.left, meeting.right.placement))


@lru_cache(maxsize=1)  # the file under check
def _lost(facts: Facts) -> Mapping[_Arrival, Move]:
    """The first discarded move of each value to each place."""
    found: dict[_Arrival, Move] = {}
    for move in lost_moves(facts):
        found.setdefault(_arrival(move.subject, move.target), move)
    return found


def _arrival(operand: Operand, target: Placement) -> _Arrival:
    """A value, by its name and how it came to be, and where it is to be."""
    return operand.name, tuple(step.site.node for step in operand.steps), target


def is_unregistered(attribute: PlainAttribute) -> bool:
    """A tensor that is kept beside the registered ones, and that nothing moves."""
    return not (attribute.of_modules or attribute.overwrites or attribute.excused)


def _value(meeting: Meeting) -> object:
    """The odd operand's beginning, and its name where several values begin there."""
    begun = meeting.left.steps[0] if meeting.left.steps else None
    if begun is None or begun.kind not in _BEGINNINGS or meeting.kind is MeetingKind.CONTRACT:
        return id(meeting)
    is_made = begun.kind is StepKind.CREATED and isinstance(begun.site.node, cst.Call)
    return begun.site.node, "" if is_made else meeting.left.name
