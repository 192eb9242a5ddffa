"""The code quality report of GitLab, which merge requests show beside the changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from devlint.findings import FileError, Finding, Severity
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.wording import in_cell, path_in, plain, sentence

# GitLab knows info, minor, major, critical and blocker.
LEVELS = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.PERFORMANCE: "minor"}
UNCHECKED = "blocker"


def render(report: Report, options: Options) -> str:
    return json.dumps(list(_issues(report, options)), indent=2) + "\n"


def _issues(report: Report, options: Options) -> Iterator[dict[str, Any]]:
    def where(path: str) -> str:
        return plain(path_in(path, report, options.repository))

    for finding in report.findings:
        yield _issue(finding, where(finding.location.path))
    for error in report.errors:
        yield _failure(error, where(error.path))


def _issue(finding: Finding, path: str) -> dict[str, Any]:
    place = finding.location
    return {
        "description": plain(
            f"{finding.rule} {finding.name}{in_cell(place.cell)}: {sentence(finding)}"
        ),
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": LEVELS[finding.severity],
        "location": {
            "path": path,
            "positions": {
                "begin": {"line": place.line, "column": place.column},
                "end": {"line": place.end_line, "column": place.end_column},
            },
        },
    }


def _failure(error: FileError, path: str) -> dict[str, Any]:
    key = f"{error.path}\0{error.message}".encode(errors="backslashreplace")
    begin = {"line": error.line, "column": error.column}
    return {
        "description": plain(f"could not be checked{in_cell(error.cell)}: {error.message}"),
        "check_name": "not-checked",
        "fingerprint": hashlib.sha256(key).hexdigest()[:16],
        "severity": UNCHECKED,
        "location": {"path": path, "positions": {"begin": begin, "end": begin}},
    }
