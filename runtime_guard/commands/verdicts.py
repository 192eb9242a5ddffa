"""Findings of ``devlint check`` against what a run showed: pure functions.

Findings (the JSON objects of ``devlint check --format json``), evidence and the lines that ran go
in, findings with a verdict come out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from runtime_guard.commands.attribution import (
    Span,
    comes_from,
    each_with_its_own,
    evidence_for,
    meetings_of,
    ran,
    span_of,
)
from runtime_guard.commands.expectations import EXPECTATIONS, Expectation, Finding
from runtime_guard.commands.line_tracer import Lines, TracedLines
from runtime_guard.recording.events import PROBLEMS, Event
from runtime_guard.recording.evidence import Evidence, event_to_json

Verdict = Literal["confirmed", "refuted", "not executed", "undecided"]


def judge(
    findings: Sequence[Finding],
    evidence: Evidence,
    executed_lines: Lines | TracedLines,
    root: str = ".",
    *,
    harm: bool = False,
) -> list[Finding]:
    """Copies of ``findings`` with ``verdict``, ``reason`` and ``evidence`` (matching events).

    ``executed_lines`` has absolute files; ``root`` is what the findings' paths are relative to.
    *Confirmed*: what the rule claims was seen at its lines.  *Refuted*: the lines ran to their end,
    with something on an accelerator, and it was not.  *Not executed*: they did not run there.
    *Undecided*: the rule claims nothing that such a run could show, or nothing on such a machine.
    ``harm``: what may be well meant confirms nothing, and refutes nothing.
    """
    traced = _traced(executed_lines)
    shown = [evidence_for(finding, evidence, traced.executed, root, harm) for finding in findings]
    shown = each_with_its_own(findings, shown, root)
    return [
        _judge_one(finding, events, evidence, traced, root)
        for finding, events in zip(findings, shown, strict=True)
    ]


def _traced(lines: Lines | TracedLines) -> TracedLines:
    """Where only the executed lines are known, none was left, and all had what it takes."""
    return lines if isinstance(lines, TracedLines) else TracedLines(lines, {}, lines)


HARMLESS = ", and did no harm there"
"""How the reason ends where what was seen may be well meant."""


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
    seen = evidence_for(finding, evidence, traced.executed, root)
    if any(event.kind in expectation.well_meant for event in seen):
        return _with_verdict(finding, "undecided", f"{expectation.says}{HARMLESS}")
    verdict, reason = _not_shown(finding, expectation, evidence, traced, root)
    return _with_verdict(finding, verdict, reason)


def _not_shown(
    finding: Finding,
    expectation: Expectation,
    evidence: Evidence,
    traced: TracedLines,
    root: str,
) -> tuple[Verdict, str]:
    """What it means that the run did not show it, and why."""
    span = span_of(finding, root)
    inside: list[Span] = [span_of(place, root) for place in meetings_of(finding)]
    unseen = expectation.unseen(finding)
    if unseen:
        return "undecided", unseen
    if not ran(span, traced.executed):
        return "not executed", "no line of it ran"
    if inside and not any(ran(place, traced.executed) for place in inside):
        return "not executed", "it ran, but not the line inside where devices would meet"
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
    if ran(span, traced.interrupted):
        return "undecided", "an exception left its line, and may have come first"
    if expectation.meets and not any(ran(place, traced.with_it) for place in (span, *inside)):
        return "not executed", "it ran, but with nothing on an accelerator"
    where = evidence.devices or "a machine without accelerators"
    return "refuted", f"it ran on {where}, and nothing of the kind happened"


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
        shown = evidence_for(finding, evidence, executed_lines, root)
        explained.update(map(id, shown))
        if shown and EXPECTATIONS[finding["rule"]].kinds & PROBLEMS:
            causes.append(span_of(finding, root))
    return [
        event
        for event in evidence.events
        if event.kind in PROBLEMS
        and id(event) not in explained
        and not any(comes_from(event, span) for span in causes)
    ]
