"""Does it really happen?  ``devlint confirm``: a program is run, and each finding judged by it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runtime_guard.commands.attribution import meetings_of, span_of
from runtime_guard.commands.expectations import Finding
from runtime_guard.commands.line_tracer import LineTracer
from runtime_guard.commands.program import Outcome, parse_command, require, run_program
from runtime_guard.commands.verdicts import judge, missed
from runtime_guard.recording.events import Event
from runtime_guard.recording.evidence import Evidence, event_to_json
from runtime_guard.reports.text import page


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
    harm: bool = False,
) -> Confirmation:
    """Run ``command`` under the guard and judge the findings of ``report`` by it.

    ``virtual`` is a machine such as ``"cuda:2"``; None means the real devices.  ``keep_going`` only
    records a mixed-device operation on virtual devices, so that the program goes on behind it.
    ``harm``: what may be well meant, such as an attribute that a module's move passes by, confirms
    nothing by itself.
    Raises ``CommandError`` for commands it cannot run and ``ValueError`` for a report that is
    not of ``devlint check --format json``.
    """
    findings = findings_of(report)
    program = parse_command(command)
    require(program)
    lines: dict[str, set[int]] = {}
    places = [place for finding in findings for place in (finding, *meetings_of(finding))]
    for file, first, last in (span_of(place, root) for place in places):
        lines.setdefault(file, set()).update(range(first, last + 1))
    root = os.path.abspath(root)

    from runtime_guard.commands.at_hand import anything_accelerated  # start-up: torch
    from runtime_guard.commands.session import watch  # start-up: torch

    contracts = any(finding["rule"] == "DEV108" for finding in findings)
    watching = watch(virtual, keep_going=keep_going, contracts=contracts)
    with LineTracer(lines, lines, anything_accelerated) as tracer, watching as watched:
        outcome = run_program(program)
    evidence = watched.evidence(outcome.error)
    return Confirmation(
        judge(findings, evidence, tracer.lines, root, harm=harm),
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
