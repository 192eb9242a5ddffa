"""The JSON report, format version 1: one object, stable for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from devlint.findings import Assumption, FileError, Finding, Fix, Location
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.wording import sentence

VERSION = 1


def render(report: Report, options: Options | None = None) -> str:
    """The report as JSON text, with a line end; suppressed findings under a key of their own."""
    whole = as_object(report)
    if options and options.show_suppressed:
        whole["suppressed"] = [finding_object(finding) for finding in report.suppressed]
    if report.shard is not None:
        whole["shard"] = dict(report.shard)
    return json.dumps(whole, indent=2) + "\n"


def as_object(report: Report) -> dict[str, Any]:
    return {
        "version": VERSION,
        "files": report.files,
        "findings": [finding_object(finding) for finding in report.findings],
        "errors": [_place(error) for error in report.errors],
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding; its message says the claim and then what to write instead."""
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        **_place(finding.location),
        "message": sentence(finding),
        "related": [
            {**_place(related.location), "message": related.message} for related in finding.related
        ],
        "assumptions": [_assumption(assumption) for assumption in finding.assumptions],
        "fix": _fix(finding.fix),
        "fingerprint": finding.fingerprint,
    }


def _assumption(assumption: Assumption) -> dict[str, Any]:
    place = assumption.location
    return {
        "kind": assumption.kind,
        "path": place.path,
        **({"cell": place.cell} if place.cell else {}),
        "line": place.line,
        "column": place.column,
        "message": assumption.message,
    }


def _place(place: Location | FileError) -> dict[str, Any]:
    """A place, with the key `cell` in a notebook only."""
    return {key: value for key, value in asdict(place).items() if key != "cell" or value}


def _fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {
        "applicability": fix.applicability.value,
        "edits": [{**_place(edit.location), "text": edit.text} for edit in fix.edits],
    }
