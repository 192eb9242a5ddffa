"""A report on its way out: the usual format, files, and the exit code."""

from __future__ import annotations

import os
from pathlib import Path

from devlint.atomic_files import write_whole
from devlint.commands.options import FINDINGS, UNCHECKED, Refusal
from devlint.findings import Severity
from devlint.report import Report


def usual_format() -> str:
    """The format for standard output when none is asked for."""
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"


def save(file: Path, text: str) -> None:
    """Write a report to a file, at once."""
    try:
        write_whole(file, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Refusal(f"{file}: cannot be written: {error.strerror}") from None


def exit_code(report: Report, fail_on: Severity | None) -> int:
    """The exit code of a check whose findings count from this severity on."""
    if report.errors:
        return UNCHECKED
    if fail_on and any(found.severity.rank >= fail_on.rank for found in report.findings):
        return FINDINGS
    return 0
