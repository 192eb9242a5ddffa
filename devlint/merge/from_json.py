"""Findings and errors as a JSON result has them.

A claim and its advice are one sentence there, which stays the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devlint.findings import (
    Applicability,
    Assumption,
    Confidence,
    Edit,
    FileError,
    Finding,
    Fix,
    Location,
    Related,
    Severity,
)
from devlint.report import Report

Object = Mapping[str, Any]


def report_of(whole: Object, root: Path) -> Report:
    """The report of a result. Raises KeyError, TypeError and ValueError where it is none."""
    findings = [_finding(each) for each in whole["findings"]]
    return Report(
        root,
        files=int(whole["files"]),
        checked={finding.location.path for finding in findings},
        findings=findings,
        suppressed=[_finding(each) for each in whole.get("suppressed", ())],
        errors=[_error(each) for each in whole["errors"]],
    )


def _finding(found: Object) -> Finding:
    return Finding(
        _text(found["rule"]),
        _text(found["name"]),
        Severity(found["severity"]),
        Confidence(found["confidence"]),
        _place(found),
        _text(found["message"]),
        related=tuple(Related(_place(e), _text(e["message"])) for e in found["related"]),
        fix=_fix(found["fix"]),
        assumptions=tuple(_assumption(each) for each in found["assumptions"]),
        fingerprint=_text(found["fingerprint"]),
    )


def _fix(fix: Object | None) -> Fix | None:
    if fix is None:
        return None
    edits = tuple(Edit(_place(edit), _text(edit["text"])) for edit in fix["edits"])
    return Fix(Applicability(fix["applicability"]), edits)


def _assumption(found: Object) -> Assumption:
    line, column = int(found["line"]), int(found["column"])
    cell = int(found.get("cell", 0))
    place = Location(_text(found["path"]), line, column, line, column, cell=cell)
    return Assumption(_text(found["kind"]), place, _text(found["message"]))


def _place(found: Object) -> Location:
    return Location(
        _text(found["path"]),
        int(found["line"]),
        int(found["column"]),
        int(found["end_line"]),
        int(found["end_column"]),
        cell=int(found.get("cell", 0)),
    )


def _error(found: Object) -> FileError:
    return FileError(
        _text(found["path"]),
        int(found["line"]),
        int(found["column"]),
        _text(found["message"]),
        cell=int(found.get("cell", 0)),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
