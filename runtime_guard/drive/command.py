"""``devlint confirm --drive``: the command, and what it says before it runs anybody's code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from runtime_guard.commands.confirm import exit_code_for, findings_of, read_report
from runtime_guard.commands.expectations import Finding
from runtime_guard.drive.verdict import NOT_DRIVEN, Limits, drive

_DECIDED = ("confirmed", "refuted")
_MARKS = {"confirmed": "✗", "refuted": "✓", NOT_DRIVEN: "·"}


def announcement(count: int, seconds: float) -> str:
    """What is about to happen."""
    what = "1 finding" if count == 1 else f"{count} findings"
    return (
        f"devlint: --drive IMPORTS AND RUNS the project's code, for {what}: each in processes of "
        f"its own, up to {seconds:g} s of calls. Only for code that you trust.\n"
    )


def told(finding: Finding) -> str:
    """A judged finding in two or three lines."""
    verdict = finding["verdict"]
    lines = [
        f"{_MARKS[verdict]} {verdict:<19} {finding['path']}:{finding['line']} "
        f"{finding['rule']} {finding.get('message', finding.get('name', ''))}",
        f"    {finding['reason']}",
    ]
    if finding.get("witness"):
        lines.append(f"    witness: python {finding['witness']}")
    return "\n".join(lines) + "\n"


def summary(findings: Sequence[Finding]) -> str:
    """``2 confirmed, 1 could not be driven``"""
    counts = {verdict: sum(f["verdict"] == verdict for f in findings) for verdict in _MARKS}
    named = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return (", ".join(named) or "no findings") + "\n"


def run_drive(
    findings_file: str,
    *,
    witnesses: str = "devlint-witnesses",
    seconds: float = 60.0,
    root: str = ".",
    output_format: Literal["text", "json"] = "text",
    write: Callable[[str], Any] | None = None,
) -> int:
    """Drive the findings of a report that no run has confirmed or refuted; return the exit code.

    The report is one of ``devlint check --format json``, or of ``devlint confirm --format json``
    with verdicts in it.  Raises ``ValueError`` and ``OSError`` for what the user has to correct.
    """
    report = read_report(findings_file)
    findings = findings_of(report)
    Path(witnesses).mkdir(parents=True, exist_ok=True)
    write = sys.stdout.write if write is None else write
    open_ones = [finding for finding in findings if finding.get("verdict") not in _DECIDED]
    sys.stderr.write(announcement(len(open_ones), seconds))
    sys.stderr.flush()

    def one(finding: Finding) -> Finding:
        if finding.get("verdict") not in _DECIDED:
            finding = drive(finding, root, Path(witnesses), Limits(seconds))
        if output_format == "text":
            write(told(finding))
        return finding

    judged = [one(finding) for finding in findings]
    if output_format == "text":
        write(summary(judged))
    else:
        write(json.dumps({**report, "findings": judged}, indent=2, ensure_ascii=False) + "\n")
    return exit_code_for(judged)
