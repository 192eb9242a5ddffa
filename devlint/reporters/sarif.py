"""SARIF 2.1.0, the OASIS format that code scanning and IDEs read.

A trace is a code flow that ends at the finding; each rule carries its page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from devlint.findings import FileError, Finding, Fix, Location, Severity
from devlint.report import Report
from devlint.reporters.catalogue import explanation
from devlint.reporters.options import Options
from devlint.reporters.wording import doubts, path_in, plain, sentence
from devlint.rule import Rule
from devlint.version import __version__

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"  # what the paths are relative to
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PERFORMANCE: "note"}
FINGERPRINT = "devlintFingerprint/v1"
SHARD = "devlintShard"

Object = dict[str, Any]


def render(report: Report, options: Options) -> str:
    run = _Run(report, options)
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run.as_object()]}
    return json.dumps(log, indent=2) + "\n"


class _Run:
    """One run, its paths relative to the repository."""

    def __init__(self, report: Report, options: Options) -> None:
        self.report = report
        self.options = options
        self.shown_suppressed = report.suppressed if options.show_suppressed else []
        findings = (*report.findings, *report.known, *self.shown_suppressed)
        used = {finding.rule for finding in findings}
        self.rules = [rule for rule in options.rules if rule.code in used]
        self.index = {rule.code: index for index, rule in enumerate(self.rules)}

    def as_object(self) -> Object:
        driver = {
            "name": "devlint",
            "version": __version__,
            "semanticVersion": __version__,
            "rules": [_rule(rule) for rule in self.rules],
        }
        return {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
            "invocations": [
                {
                    "executionSuccessful": not self.report.errors,
                    "toolExecutionNotifications": [
                        self.notification(error) for error in self.report.errors
                    ],
                }
            ],
            "results": [
                *(self.result(finding, "new") for finding in self.report.findings),
                *(self.result(finding, "unchanged") for finding in self.report.known),
                *(self.suppressed(finding) for finding in self.shown_suppressed),
            ],
            **({"properties": {SHARD: dict(self.report.shard)}} if self.report.shard else {}),
        }

    def suppressed(self, finding: Finding) -> Object:
        return {**self.result(finding, "new"), "suppressions": [{"kind": "inSource"}]}

    def result(self, finding: Finding, state: str) -> Object:
        steps = [
            {"location": self.location(related.location, related.message)}
            for related in finding.related
        ]
        last = {"location": self.location(finding.location, finding.message)}
        result: Object = {
            "ruleId": finding.rule,
            "level": LEVELS[finding.severity],
            "message": {"text": "\n".join((plain(sentence(finding)), *_doubts(finding)))},
            "locations": [self.location(finding.location)],
            "partialFingerprints": {FINGERPRINT: finding.fingerprint},
            "properties": {
                "confidence": finding.confidence.value,
                "assumptions": [assumption.kind for assumption in finding.assumptions],
            },
        }
        if finding.rule in self.index:
            result["ruleIndex"] = self.index[finding.rule]
        if steps:
            result["relatedLocations"] = [
                {"id": number, **step["location"]} for number, step in enumerate(steps)
            ]
            result["codeFlows"] = [{"threadFlows": [{"locations": [*steps, last]}]}]
        if finding.fix:
            result["fixes"] = [self.fix(finding, finding.fix)]
        if self.report.compared:
            result["baselineState"] = state
        return result

    def location(self, place: Location, message: str = "") -> Object:
        location: Object = {
            "physicalLocation": {
                "artifactLocation": self.artifact(place.path),
                "region": _region(place),
            }
        }
        if place.cell:
            location["logicalLocations"] = [{"name": f"cell {place.cell}", "kind": "cell"}]
        if message:
            location["message"] = {"text": plain(message)}
        return location

    def artifact(self, path: str) -> Object:
        shown = path_in(path, self.report, self.options.repository)
        if Path(shown).is_absolute():
            return {"uri": "file://" + quote(os.fsencode(Path(shown).as_posix()))}
        return {"uri": quote(os.fsencode(shown)), "uriBaseId": ROOT}

    def fix(self, finding: Finding, fix: Fix) -> Object:
        return {
            "description": {"text": plain(finding.advice or finding.message)},
            "artifactChanges": [
                {
                    "artifactLocation": self.artifact(path),
                    "replacements": [
                        {
                            "deletedRegion": _region(edit.location),
                            "insertedContent": {"text": edit.text},
                        }
                        for edit in fix.edits
                        if edit.location.path == path
                    ],
                }
                for path in dict.fromkeys(edit.location.path for edit in fix.edits)
            ],
            "properties": {"applicability": fix.applicability.value},
        }

    def notification(self, error: FileError) -> Object:
        line, column = error.line, error.column
        place = Location(error.path, line, column, line, column, cell=error.cell)
        return {
            "level": "error",
            "message": {"text": plain(error.message)},
            "locations": [self.location(place)],
        }


def _region(place: Location) -> Object:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _doubts(finding: Finding) -> Iterable[str]:
    return (f"{doubt.word}: {plain(doubt.text)}" for doubt in doubts(finding))


def _rule(rule: Rule) -> Object:
    page = explanation(rule)
    found: Object = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.what},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": ["pytorch", "device-placement"]},
    }
    if rule.reference:
        found["helpUri"] = rule.reference
    return found
