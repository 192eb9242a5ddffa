"""Findings of ``devlint check`` against what a run showed: pure functions.

Findings (the JSON objects of ``devlint check --format json``), evidence and the lines that ran go
in, findings with a verdict come out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from runtime_guard.commands.expectations import EXPECTATIONS, Expectation, Finding
from runtime_guard.commands.line_tracer import Lines, TracedLines
from runtime_guard.core.sites import Site
from runtime_guard.recording.events import PROBLEMS, Event, Kind
from runtime_guard.recording.evidence import Evidence, event_to_json

Verdict = Literal["confirmed", "refuted", "not executed", "undecided"]
Span = tuple[str, int, int]
"""File, first line and last line."""


def judge(
    findings: Sequence[Finding],
    evidence: Evidence,
    executed_lines: Lines | TracedLines,
    root: str = ".",
) -> list[Finding]:
    """Copies of ``findings`` with ``verdict``, ``reason`` and ``evidence`` (matching events).

    ``executed_lines`` has absolute files; ``root`` is what the findings' paths are relative to.
    *Confirmed*: what the rule claims was seen at its lines.  *Refuted*: the lines ran to their end,
    with something on an accelerator, and it was not.  *Not executed*: they did not run there.
    *Undecided*: the rule claims nothing that such a run could show, or nothing on such a machine.
    """
    traced = _traced(executed_lines)
    shown = [_evidence_for(finding, evidence, traced.executed, root) for finding in findings]
    shown = _each_with_its_own(findings, shown, root)
    return [
        _judge_one(finding, events, evidence, traced, root)
        for finding, events in zip(findings, shown, strict=True)
    ]


def _traced(lines: Lines | TracedLines) -> TracedLines:
    """Where only the executed lines are known, none was left, and all had what it takes."""
    return lines if isinstance(lines, TracedLines) else TracedLines(lines, {}, lines)


def _each_with_its_own(
    findings: Sequence[Finding], shown: Sequence[list[Event]], root: str
) -> list[list[Event]]:
    """Of several findings at one line a mixture confirms those that speak of its operands.

    ``self.layer(x + noise) * mask`` is a finding about ``noise`` and one about ``mask``.  Where
    none of them tells a line that an operand is from, all are confirmed.
    """
    told = [
        {id(event) for event in events if event.kind is Kind.MIXED and _is_told(event, one, root)}
        for one, events in zip(findings, shown, strict=True)
    ]
    by_one = set().union(*told)
    return [
        [event for event in events if id(event) in own or id(event) not in by_one]
        for events, own in zip(shown, told, strict=True)
    ]


def _is_told(event: Event, finding: Finding, root: str) -> bool:
    """Is an operand from a line that the finding's trace tells, other than its own?"""
    own = span_of(finding, root)
    places = [span_of(place, root) for place in finding.get("related", ())]
    return any(made_at(event, place) for place in places if not _is_in(place, own))


def _is_in(place: Span, other: Span) -> bool:
    return place[0] == other[0] and other[1] <= place[1] and place[2] <= other[2]


def _judge_one(
    finding: Finding, shown: list[Event], evidence: Evidence, traced: TracedLines, root: str
) -> Finding:
    expectation = EXPECTATIONS.get(finding["rule"])
    if expectation is None:
        return _with_verdict(
            finding, "undecided", f"{finding['rule']} claims nothing that this run could show"
        )
    if shown:
        return _with_verdict(finding, "confirmed", expectation.says, shown)
    verdict, reason = _not_shown(finding, expectation, evidence, traced, span_of(finding, root))
    return _with_verdict(finding, verdict, reason)


def _not_shown(
    finding: Finding,
    expectation: Expectation,
    evidence: Evidence,
    traced: TracedLines,
    span: Span,
) -> tuple[Verdict, str]:
    """What it means that the run did not show it, and why."""
    unseen = expectation.unseen(finding)
    if unseen:
        return "undecided", unseen
    if not _ran(span, traced.executed):
        return "not executed", "no line of it ran"
    if not expectation.settles:
        return "undecided", "it may be right without showing in this run"
    if expectation.without in re.findall(r"[a-z]+", evidence.devices):
        return "undecided", f"it shows on a machine without {expectation.without} only"
    if expectation.shows_in is not None and not any(
        expectation.shows_in(finding, process) for process in evidence.processes
    ):
        return (
            "undecided",
            "it shows in another process of a launched job, whose own card is another",
        )
    if not evidence.accelerated and not expectation.without:
        return "not executed", "it ran, but without any accelerator"
    if _ran(span, traced.interrupted):
        return "undecided", "an exception left its line, and may have come first"
    if expectation.meets and not _ran(span, traced.with_it):
        return "not executed", "it ran, but with nothing on an accelerator"
    where = evidence.devices or "a machine without accelerators"
    return "refuted", f"it ran on {where}, and nothing of the kind happened"


def _evidence_for(finding: Finding, evidence: Evidence, executed: Lines, root: str) -> list[Event]:
    """The events that show what ``finding`` claims; none where that takes more of them.

    They happened on the way through its own lines, or to something that comes from there.  At a
    related place they count where the rule says so, and not for a finding that was never reached.
    """
    expectation = EXPECTATIONS.get(finding["rule"])
    if expectation is None:
        return []
    own = span_of(finding, root)
    events = [
        event
        for event in evidence.events
        if event.kind in expectation.kinds and expectation.holds(event)
    ]
    matching = [event for event in events if _touches(event, own)]
    if expectation.related and (matching or _ran(own, executed)):
        related = [span_of(place, root) for place in finding.get("related", ())]
        elsewhere = [e for e in events if any(_touches(e, span) for span in related)]
        matching += [e for e in elsewhere if e not in matching]
    matching += [e for e in evidence.events if e.kind in expectation.of_own and made_at(e, own)]
    return matching if sum(event.count for event in matching) >= expectation.times else []


def span_of(place: Mapping[str, Any], root: str) -> Span:
    """The lines of a finding or related location, with an absolute file name."""
    path = os.path.realpath(os.path.join(root, place["path"]))
    return path, place["line"], place.get("end_line") or place["line"]


def _ran(span: Span, executed: Lines) -> bool:
    file, first, last = span
    return any(first <= line <= last for line in executed.get(file, ()))


def _touches(event: Event, span: Span) -> bool:
    return any(_overlaps(site, span) for site in (*event.stack, *event.origins))


def made_at(event: Event, span: Span) -> bool:
    """Was a tensor that it is about made, moved or computed there?"""
    return any(_overlaps(site, span) for site in event.origins)


def _overlaps(site: Site, span: Span) -> bool:
    file, first, last = span
    return site.line <= last and site.end_line >= first and os.path.realpath(site.file) == file


def _with_verdict(
    finding: Finding, verdict: Verdict, reason: str, events: Sequence[Event] = ()
) -> Finding:
    return {
        **finding,
        "verdict": verdict,
        "reason": reason,
        "evidence": [event_to_json(event) for event in events[:5]],
    }


def missed(
    findings: Sequence[Finding], evidence: Evidence, executed_lines: Lines, root: str = "."
) -> list[Event]:
    """Bugs that happened and that no finding speaks of: what ``check`` has to learn.

    A finding speaks of the events that confirm it and, where it claims a bug in itself, of those
    at its own lines and of what comes from there.
    """
    explained: set[int] = set()
    causes: list[Span] = []
    for finding in findings:
        shown = _evidence_for(finding, evidence, executed_lines, root)
        explained.update(map(id, shown))
        if shown and EXPECTATIONS[finding["rule"]].kinds & PROBLEMS:
            causes.append(span_of(finding, root))
    return [
        event
        for event in evidence.events
        if event.kind in PROBLEMS
        and id(event) not in explained
        and not any(_comes_from(event, span) for span in causes)
    ]


def _comes_from(event: Event, span: Span) -> bool:
    """Did it happen at the lines of ``span`` itself, or to a tensor that was made there?"""
    return any(_overlaps(site, span) for site in (*event.stack[:1], *event.origins))
