"""Which events of a run a finding speaks of: pure functions over lines.

    def shift(x):
        return x + torch.ones(4)        # where it happened

    total = torch.zeros(1)
    total += shift(x).sum()             # a finding about `total`

Both lines are in the stack of the mixture.  It is none of ``total``'s, though, which the finding's
trace names as the cause: another bug, that came first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from runtime_guard.commands.expectations import EXPECTATIONS, Finding
from runtime_guard.commands.line_tracer import Lines
from runtime_guard.core.sites import Expression, Site
from runtime_guard.recording.events import Event, Kind
from runtime_guard.recording.evidence import Evidence

Span = tuple[str, int, int]
"""File, first line and last line."""

_CAUSE = "made here on the default device"
_MEETING = "they meet here"
"""How steps of a trace read: the cause, which the advice is about, and where it comes to meet."""
_MEETINGS = frozenset({Kind.MIXED, Kind.GENERATOR})


def span_of(place: Mapping[str, Any], root: str) -> Span:
    """The lines of a finding or related location, with an absolute file name."""
    path = os.path.realpath(os.path.join(root, place["path"]))
    return path, place["line"], place.get("end_line") or place["line"]


def causes_of(finding: Finding, root: str) -> list[Span]:
    """The lines that made on the default device what ``finding`` traces."""
    return [span_of(place, root) for place in _steps(finding) if _is_cause(place)]


def _is_cause(place: Mapping[str, Any]) -> bool:
    return str(place.get("message", "")).endswith(_CAUSE)


def meetings_of(finding: Finding) -> list[Mapping[str, Any]]:
    """Where it is that devices meet, for a finding that is told at a call of that code."""
    return [p for p in _steps(finding) if p.get("message", "").startswith(_MEETING)]


def _steps(finding: Finding) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = finding.get("related", ())
    return found


def evidence_for(
    finding: Finding, evidence: Evidence, executed: Lines, root: str, harm: bool = False
) -> list[Event]:
    """The events that show what ``finding`` claims; none where that takes more of them.

    They happened on the way through its own lines, or to something that comes from there.  At a
    related place they count where the rule says so, and not for a finding that was never reached.
    ``harm``: what may be well meant does not count.
    """
    expectation = EXPECTATIONS.get(finding["rule"])
    if expectation is None:
        return []
    kinds = expectation.kinds - expectation.well_meant if harm else expectation.kinds
    own = span_of(finding, root)
    events = [
        event for event in evidence.events if event.kind in kinds and expectation.holds(event)
    ]
    matching = [e for e in events if _touches(e, own) and _is_its_own(e, finding, root)]
    if expectation.related and (matching or ran(own, executed)):
        related = [span_of(place, root) for place in _steps(finding)]
        elsewhere = [e for e in events if any(_touches(e, span) for span in related)]
        matching += [e for e in elsewhere if e not in matching]
    matching += [e for e in evidence.events if e.kind in expectation.of_own and made_at(e, own)]
    return matching if sum(event.count for event in matching) >= expectation.times else []


def _is_its_own(event: Event, finding: Finding, root: str) -> bool:
    """May it be the meeting that ``finding`` claims, and not one further inside, or later?

    It is where it happened at the finding's own line, or where its trace goes; elsewhere it takes
    what the trace names as the cause, if it names one.  A part of the finding's expression without
    the cause, which is in the expression, too, is another operation: ``x + noise`` in
    ``(x + noise) * torch.arange(4)``.
    """
    causes = causes_of(finding, root)
    if event.kind not in _MEETINGS or not causes:
        return True
    if event.at is not None and _around(event, finding, root) == _expression_of(finding):
        made = [_expression_of(place) for place in _steps(finding) if _is_cause(place)]
        own = _expression_of(finding)
        inside = [at for at in made if at is not None and _encloses(own, at)]
        if inside and event.at != own:
            return any(_encloses(event.at, at) for at in inside)
    told = [span_of(place, root) for place in (finding, *_steps(finding))]
    innermost = (*event.stack[:1], event.site)
    if any(_overlaps(site, span) for site in innermost for span in told):
        return True
    return any(made_at(event, cause) for cause in causes)


def each_with_its_own(
    findings: Sequence[Finding], shown: Sequence[list[Event]], root: str
) -> list[list[Event]]:
    """Of several findings at one line a mixture confirms those that speak of it.

    ``self.layer(x + noise) * mask`` is a finding about ``noise``, in ``x + noise``, and one about
    ``mask``.  Where the expression is known, it is those of the smallest one around it; of the
    rest those that tell a line that an operand is from.  Where none of them does, all.
    """
    sizes: dict[int, Expression] = {}
    around: list[dict[int, Expression]] = []
    for one, events in zip(findings, shown, strict=True):
        found = {id(e): at for e in events if (at := _around(e, one, root)) is not None}
        around.append(found)
        for key, at in found.items():
            sizes[key] = min(sizes.get(key, at), at, key=_size)
    nearest = [
        [e for e in events if id(e) not in sizes or found.get(id(e)) == sizes[id(e)]]
        for events, found in zip(shown, around, strict=True)
    ]
    told = [
        {id(event) for event in events if event.kind is Kind.MIXED and _is_told(event, one, root)}
        for one, events in zip(findings, nearest, strict=True)
    ]
    by_one = set().union(*told)
    return [
        [event for event in events if id(event) in own or id(event) not in by_one]
        for events, own in zip(nearest, told, strict=True)
    ]


def _around(event: Event, finding: Finding, root: str) -> Expression | None:
    """The expression of ``finding`` that the event's is in, or is; None for none."""
    if event.at is None or event.kind is not Kind.MIXED:
        return None
    file = os.path.realpath(event.stack[0].file) if event.stack else ""
    for place in (finding, *meetings_of(finding)):
        at = _expression_of(place)
        if at is None or span_of(place, root)[0] != file:
            continue
        if _encloses(at, event.at):
            return at
    return None


def _expression_of(place: Mapping[str, Any]) -> Expression | None:
    if not place.get("end_column"):
        return None
    return place["line"], place["column"], place["end_line"], place["end_column"]


def _encloses(outer: Expression | None, inner: Expression) -> bool:
    return outer is not None and outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _size(at: Expression) -> tuple[int, int]:
    return at[2] - at[0], at[3] - at[1]


def _is_told(event: Event, finding: Finding, root: str) -> bool:
    """Is an operand from a line that the finding's trace tells, other than its own?"""
    own = span_of(finding, root)
    places = [span_of(place, root) for place in _steps(finding)]
    return any(made_at(event, place) for place in places if not _is_in(place, own))


def _is_in(place: Span, other: Span) -> bool:
    return place[0] == other[0] and other[1] <= place[1] and place[2] <= other[2]


def ran(span: Span, executed: Lines) -> bool:
    """Was any of these lines executed?"""
    file, first, last = span
    return any(first <= line <= last for line in executed.get(file, ()))


def _touches(event: Event, span: Span) -> bool:
    return any(_overlaps(site, span) for site in (*event.stack, *event.origins))


def made_at(event: Event, span: Span) -> bool:
    """Was a tensor that it is about made, moved or computed there?"""
    return any(_overlaps(site, span) for site in event.origins)


def comes_from(event: Event, span: Span) -> bool:
    """Did it happen at the lines of ``span`` itself, or to a tensor that was made there?"""
    return any(_overlaps(site, span) for site in (*event.stack[:1], *event.origins))


def _overlaps(site: Site, span: Span) -> bool:
    file, first, last = span
    return site.line <= last and site.end_line >= first and os.path.realpath(site.file) == file
