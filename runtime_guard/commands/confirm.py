"""Does it really happen?  Findings of ``devlint check`` against what a run showed.

``judge`` is the pure heart: findings (the JSON objects of ``devlint check --format json``),
evidence and executed lines in, findings with a verdict out.  ``run_confirm`` is the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from runtime_guard.commands.line_tracer import LineTracer
from runtime_guard.commands.program import Outcome, parse_command, require, run_program
from runtime_guard.core.sites import Site
from runtime_guard.recording.events import PROBLEMS, Event, Kind
from runtime_guard.recording.evidence import Evidence, Process, event_to_json
from runtime_guard.reports.text import page

Verdict = Literal["confirmed", "refuted", "not executed", "undecided"]
Finding = dict[str, Any]
Lines = Mapping[str, "set[int]"]
Span = tuple[str, int, int]
"""File, first line and last line."""


@dataclass(frozen=True)
class Expectation:
    """What a rule's finding looks like at run time."""

    kinds: frozenset[Kind]
    times: int = 1
    """How often it has to happen."""
    related: bool = False
    """May it happen at a related location of the finding, once its own lines have run?"""
    of_own: frozenset[Kind] = frozenset()
    """What shows it as well, where it happens to what comes from the finding's own lines."""
    holds: Callable[[Event], bool] = field(default=lambda event: True)
    says: str = ""
    unseen: Callable[[Finding], str] = field(default=lambda finding: "")
    """Why a run would not show what this finding claims; empty where it would."""
    without: str = ""
    """The accelerator that a machine must lack for it to happen."""
    settles: bool = True
    """Is the finding wrong when it does not happen?"""
    shows_in: Callable[[Finding, Process], bool] | None = None
    """In which processes of a launched job does it happen?"""


def _kept_in_a_name(finding: Finding) -> str:
    """The guard sees what is handed in and back, not what is kept in a name."""
    message = finding.get("message", "")
    if " parameter `" in message or " the result of `" in message:
        return ""
    return "the guard does not look at variables"


_SILENT = (
    " is never true:",
    " is always true:",
    "no device is called ",
    ", which `or` takes for none:",
    " is ignored where no accelerator is:",
)
"""What DEV110 says of mistakes at which PyTorch raises nothing."""


def _raises_nothing(finding: Finding) -> str:
    message = finding.get("message", "")
    if any(part in message for part in _SILENT):
        return "PyTorch raises nothing there: the program goes another way than it reads"
    if " is -1 on the host, " in message:
        return "it shows where the tensor is on the host"
    return ""


def _copies_many_to_host(event: Event) -> bool:
    """More than one element, on the average."""
    return event.direction == "D2H" and event.bytes > 8 * event.count


def _copies_in_vain(event: Event) -> bool:
    """A pinned source copied with a wait, or a pageable one asked not to wait."""
    return event.pinned == event.blocking


def _differs(finding: Finding, process: Process) -> bool:
    """A process for which the card that the finding is about is not its own."""
    if "the rank among all nodes" in finding.get("message", ""):
        return process.rank != process.local_rank
    return process.local_rank > 0


_MIXED = Expectation(
    frozenset({Kind.MIXED, Kind.GENERATOR}), says="a mixed-device error was raised"
)
_MIXED_ELSEWHERE = replace(_MIXED, related=True)
"""Of rules that point at a cause: what comes of it meets something at a related place."""
_LOOP_TRANSFER = Expectation(frozenset({Kind.TRANSFER}), times=2, says="transferred repeatedly")
_LOOP_SYNC = Expectation(frozenset({Kind.SYNC}), times=2, says="the host waited repeatedly")
_UNAVAILABLE = Expectation(
    frozenset({Kind.UNAVAILABLE}), without="cuda", says="the machine has no such device"
)

EXPECTATIONS: dict[str, Expectation] = {
    "DEV101": _MIXED,
    "DEV102": _MIXED,
    "DEV103": _MIXED,
    "DEV104": _MIXED,
    "DEV105": _MIXED,
    "DEV106": _MIXED,
    "DEV107": _MIXED_ELSEWHERE,
    "DEV108": Expectation(
        frozenset({Kind.CONTRACT, *_MIXED.kinds}),
        related=True,
        says="the contract was broken",
        unseen=_kept_in_a_name,
    ),
    "DEV110": Expectation(
        frozenset({Kind.NOT_A_DEVICE}),
        unseen=_raises_nothing,
        says="PyTorch refused it",
    ),
    "DEV201": Expectation(frozenset({Kind.DISCARDED_MOVE}), says="the moved tensor was never used"),
    "DEV202": Expectation(
        frozenset({Kind.OPTIMIZED_MOVE}), says="an optimizer had taken the parameters"
    ),
    "DEV203": Expectation(
        frozenset({Kind.LEAF_MOVE, Kind.NON_LEAF_MOVE}), says="a leaf that requires grad was moved"
    ),
    "DEV204": Expectation(
        frozenset({Kind.DISCARDED_MOVE, Kind.UNUSED_MOVE}), says="the moved tensor was never used"
    ),
    "DEV205": Expectation(
        frozenset({Kind.PASSED_BY, Kind.LEFT_BEHIND}),
        of_own=frozenset({Kind.MIXED}),
        related=True,
        says="the attribute stayed where it was",
    ),
    "DEV206": Expectation(
        frozenset({Kind.PASSED_BY, Kind.LEFT_BEHIND}),
        related=True,
        says="the submodule stayed where it was",
    ),
    "DEV207": _MIXED_ELSEWHERE,
    "DEV301": _LOOP_TRANSFER,
    "DEV302": Expectation(
        frozenset({Kind.TRANSFER}), times=2, related=True, says="transferred there and back"
    ),
    "DEV303": _LOOP_SYNC,
    "DEV304": Expectation(frozenset({Kind.TRANSFER}), says="made on the host, then transferred"),
    "DEV305": Expectation(
        frozenset({Kind.SYNC, Kind.ELEMENT_WRITE}), times=2, says="one element at a time"
    ),
    "DEV306": Expectation(
        frozenset({Kind.TRANSFER}), holds=_copies_in_vain, says="the copy had to wait"
    ),
    "DEV307": Expectation(
        frozenset({Kind.MODULE_MOVE}), times=2, says="all of the module was gone over repeatedly"
    ),
    "DEV309": Expectation(
        frozenset({Kind.TRANSFER}), holds=_copies_many_to_host, says="all of it went to the host"
    ),
    "DEV308": Expectation(frozenset({Kind.TRANSFER}), says="a host tensor was copied in silence"),
    "DEV310": _LOOP_SYNC,
    "DEV401": Expectation(frozenset({Kind.HOST_READ}), says="PyTorch refused the conversion"),
    "DEV402": Expectation(
        frozenset({Kind.UNLANDED_READ}), related=True, says="read before any synchronisation"
    ),
    "DEV403": Expectation(
        frozenset({Kind.WORKER_ACCESS}), related=True, says="a worker touched the accelerator"
    ),
    "DEV404": Expectation(frozenset({Kind.UNDETACHED}), says="PyTorch refused the conversion"),
    "DEV501": _UNAVAILABLE,
    "DEV502": _UNAVAILABLE,
    "DEV503": Expectation(
        frozenset({Kind.UNAVAILABLE, Kind.TRANSFER}),
        settles=False,
        says="the type fixes a device: it moved the tensor, or the machine lacks it",
    ),
    "DEV504": _UNAVAILABLE,
    "DEV505": Expectation(
        frozenset({Kind.FOREIGN_CARD, Kind.UNAVAILABLE}),
        shows_in=_differs,
        says="the process used a card that is not its own, or is not there",
    ),
    "DEV508": Expectation(
        frozenset({Kind.GENERATOR, Kind.WORKER_ACCESS}),
        related=True,
        settles=False,
        says="a generator of the host met the default device, or a worker touched the accelerator",
    ),
}
"""By rule.  A rule that is missing makes no claim that a run could show."""


def judge(
    findings: Sequence[Finding], evidence: Evidence, executed_lines: Lines, root: str = "."
) -> list[Finding]:
    """Copies of ``findings`` with ``verdict``, ``reason`` and ``evidence`` (matching events).

    ``executed_lines`` maps absolute files to executed lines; ``root`` is what the findings' paths
    are relative to.  *Confirmed*: what the rule claims was seen at its lines.  *Refuted*: the lines
    ran where there was an accelerator, and it was not.  *Not executed*: they did not run there.
    *Undecided*: the rule claims nothing that such a run could show, or nothing on such a machine.
    """
    return [_judge_one(finding, evidence, executed_lines, root) for finding in findings]


def _judge_one(finding: Finding, evidence: Evidence, executed: Lines, root: str) -> Finding:
    expectation = EXPECTATIONS.get(finding["rule"])
    if expectation is None:
        return _with_verdict(
            finding, "undecided", f"{finding['rule']} claims nothing that this run could show"
        )
    matching = _evidence_for(finding, evidence, executed, root)
    if matching:
        return _with_verdict(finding, "confirmed", expectation.says, matching)
    unseen = expectation.unseen(finding)
    if unseen:
        return _with_verdict(finding, "undecided", unseen)
    if not _ran(span_of(finding, root), executed):
        return _with_verdict(finding, "not executed", "no line of it ran")
    if not expectation.settles:
        return _with_verdict(finding, "undecided", "it may be right without showing in this run")
    if expectation.without in re.findall(r"[a-z]+", evidence.devices):
        reason = f"it shows on a machine without {expectation.without} only"
        return _with_verdict(finding, "undecided", reason)
    if expectation.shows_in is not None and not any(
        expectation.shows_in(finding, process) for process in evidence.processes
    ):
        reason = "it shows in another process of a launched job, whose own card is another"
        return _with_verdict(finding, "undecided", reason)
    if not evidence.accelerated and not expectation.without:
        return _with_verdict(finding, "not executed", "it ran, but without any accelerator")
    where = evidence.devices or "a machine without accelerators"
    return _with_verdict(finding, "refuted", f"it ran on {where}, and nothing of the kind happened")


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


@dataclass(frozen=True)
class Confirmation:
    """Judged findings, what was missed, and how the program ended."""

    findings: list[Finding]
    missed: list[Event]
    outcome: Outcome
    evidence: Evidence

    @property
    def exit_code(self) -> int:
        """1 when a finding of severity ``error`` was confirmed, else 0."""
        return exit_code_for(self.findings)


def confirm(
    report: Mapping[str, Any],
    command: Sequence[str],
    *,
    virtual: str | None = None,
    root: str = ".",
    keep_going: bool = False,
) -> Confirmation:
    """Run ``command`` under the guard and judge the findings of ``report`` by it.

    ``virtual`` is a machine such as ``"cuda:2"``; None means the real devices.  ``keep_going`` only
    records a mixed-device operation on virtual devices, so that the program goes on behind it.
    Raises ``CommandError`` for commands it cannot run and ``ValueError`` for a report that is
    not of ``devlint check --format json``.
    """
    findings = findings_of(report)
    program = parse_command(command)
    require(program)
    files = {span_of(finding, root)[0] for finding in findings}
    root = os.path.abspath(root)

    from runtime_guard.commands.session import watch  # start-up: torch

    contracts = any(finding["rule"] == "DEV108" for finding in findings)
    watching = watch(virtual, keep_going=keep_going, contracts=contracts)
    with LineTracer(files) as tracer, watching as watched:
        outcome = run_program(program)
    evidence = watched.evidence(outcome.error)
    return Confirmation(
        judge(findings, evidence, tracer.executed, root),
        missed(findings, evidence, tracer.executed, root),
        outcome,
        evidence,
    )


def exit_code_for(findings: Sequence[Finding]) -> int:
    """1 when a judged finding of severity ``error`` was confirmed, else 0."""
    return int(any(f["verdict"] == "confirmed" and f.get("severity") == "error" for f in findings))


def findings_of(report: Mapping[str, Any]) -> list[Finding]:
    """The findings of a JSON report of ``devlint check``.  Raises ``ValueError`` for other data."""
    findings = report.get("findings") if isinstance(report, Mapping) else None
    if not isinstance(findings, list) or report.get("version") != 1:
        raise ValueError("not a report of `devlint check --format json` (version 1)")
    for finding in findings:
        if not isinstance(finding, dict) or not {"rule", "path", "line"} <= finding.keys():
            raise ValueError("a finding of the report has no rule, path or line")
    return findings


_MARKS = {"confirmed": "✗", "refuted": "✓", "not executed": "·", "undecided": "?"}


def render_text(confirmation: Confirmation) -> str:
    """Findings with their verdicts, then what was missed, then a count of each verdict."""
    lines = []
    for finding in confirmation.findings:
        verdict = finding["verdict"]
        lines.append(
            f"{_MARKS[verdict]} {verdict:<12} {finding['path']}:{finding['line']} "
            f"{finding['rule']} {finding.get('message', finding.get('name', ''))}"
        )
        lines.append(f"    {finding['reason']}")
        for event in finding["evidence"][:1]:
            if event["detail"]:
                lines.extend(f"    {line}" for line in event["detail"].splitlines()[:3])
    for event in confirmation.missed:
        lines.append(f"! missed       {event.site} {event.kind.value}: {event.detail}")
    counts = {
        verdict: sum(f["verdict"] == verdict for f in confirmation.findings) for verdict in _MARKS
    }
    lines.append(
        ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        or "no findings"
    )
    if confirmation.missed:
        lines[-1] += f"; {len(confirmation.missed)} happened that no finding speaks of"
    if confirmation.outcome.exit_code:
        lines.append(f"the program ended with exit code {confirmation.outcome.exit_code}")
    return page(lines)


def render_json(report: Mapping[str, Any], confirmation: Confirmation) -> str:
    """The report of ``check`` with verdicts in its findings, ``missed`` and ``run`` beside them."""
    return (
        json.dumps(
            {
                **report,
                "findings": confirmation.findings,
                "missed": [event_to_json(event) for event in confirmation.missed],
                "run": {
                    "exit_code": confirmation.outcome.exit_code,
                    "devices": confirmation.evidence.devices,
                },
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def read_report(findings_file: str) -> Any:
    """The JSON of a file, or of standard input for ``-``."""
    if findings_file == "-":
        return json.load(sys.stdin)
    with open(findings_file, encoding="utf-8") as file:
        return json.load(file)


def run_confirm(
    findings_file: str,
    command: Sequence[str],
    *,
    virtual: str | None = None,
    output_format: Literal["text", "json"] = "text",
    root: str = ".",
    keep_going: bool = False,
    write: Callable[[str], Any] | None = None,
) -> int:
    """``devlint confirm``: read the report, run the command, write the verdicts, return exit code.

    ``findings_file`` may be ``-`` for stdin.  With ``output_format="json"`` the program's standard
    output goes to stderr, so that stdout is one JSON object.  Raises ``ValueError`` (and its kind
    ``CommandError``) and ``OSError`` for what the user has to correct: usage errors, exit code 2.
    """
    report = read_report(findings_file)
    write = sys.stdout.write if write is None else write
    with contextlib.ExitStack() as stack:
        if output_format == "json":
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        result = confirm(report, command, virtual=virtual, root=root, keep_going=keep_going)
    write(render_json(report, result) if output_format == "json" else render_text(result))
    return result.exit_code
