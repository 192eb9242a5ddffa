"""Findings and errors as a SARIF result of ours has them.

A claim and its advice are one sentence there, told apart by the end of the trace or by the fix.
What a finding assumes is told by kinds, and once more as sentences without repetition; each kind
gets the sentence at its place, and those that are left the last one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

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
)
from devlint.inference.domain.assumptions import GENERAL
from devlint.report import Report
from devlint.reporters.sarif import FINGERPRINT, LEVELS

Object = Mapping[str, Any]
SEVERITIES = {level: severity for severity, level in LEVELS.items()}


def report_of(run: Object, root: Path) -> Report:
    """The report of a run. Raises KeyError, TypeError and ValueError where it is none."""
    names = [rule["name"] for rule in run["tool"]["driver"]["rules"]]
    report = Report(root)
    for result in run["results"]:
        finding = _finding(result, names)
        if result.get("suppressions"):
            report.suppressed.append(finding)
        elif result.get("baselineState") == "unchanged":
            report.known.append(finding)
        else:
            report.findings.append(finding)
        report.compared |= "baselineState" in result
    for invocation in run["invocations"]:
        report.errors += map(_error, invocation["toolExecutionNotifications"])
    report.checked = {finding.location.path for finding in report.findings}
    report.files = len(report.checked | {error.path for error in report.errors})
    return report


def _finding(result: Object, names: Sequence[str]) -> Finding:
    sentence, *doubts = str(result["message"]["text"]).split("\n")
    place = _place(result["locations"][0])
    assuming = [text.partition(": ")[2] for text in doubts if text.startswith("assuming: ")]
    kinds = result["properties"]["assumptions"]
    said = iter((*assuming, *assuming[-1:] * len(kinds), *[""] * len(kinds)))
    messages = ["" if kind in GENERAL else next(said) for kind in kinds]
    return Finding(
        str(result["ruleId"]),
        str(names[result["ruleIndex"]]) if "ruleIndex" in result else str(result["ruleId"]),
        SEVERITIES[result["level"]],
        Confidence(result["properties"]["confidence"]),
        place,
        *_claim_and_advice(sentence, result),
        related=tuple(
            Related(_place(each), str(each["message"]["text"]))
            for each in result.get("relatedLocations", ())
        ),
        fix=_fix(result["fixes"][0]) if result.get("fixes") else None,
        assumptions=tuple(
            Assumption(str(kind), place, message)
            for kind, message in zip(kinds, messages, strict=False)
        ),
        fingerprint=str(result["partialFingerprints"][FINGERPRINT]),
    )


def _claim_and_advice(sentence: str, result: Object) -> tuple[str, str]:
    if result.get("codeFlows"):
        steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
        claim = str(steps[-1]["location"]["message"]["text"])
        return claim, sentence.removeprefix(claim).removeprefix("; ")
    if result.get("fixes"):
        advice = str(result["fixes"][0]["description"]["text"])
        if sentence.endswith(f"; {advice}"):
            return sentence.removesuffix(f"; {advice}"), advice
    return sentence, ""


def _fix(fix: Object) -> Fix:
    edits = tuple(
        Edit(_region(_path(change), each["deletedRegion"]), str(each["insertedContent"]["text"]))
        for change in fix["artifactChanges"]
        for each in change["replacements"]
    )
    return Fix(Applicability(fix["properties"]["applicability"]), edits)


def _error(notification: Object) -> FileError:
    place = _place(notification["locations"][0])
    message = str(notification["message"]["text"])
    return FileError(place.path, place.line, place.column, message, cell=place.cell)


def _place(location: Object) -> Location:
    physical = location["physicalLocation"]
    cells = [str(each["name"]) for each in location.get("logicalLocations", ())]
    cell = int(cells[0].removeprefix("cell ")) if cells else 0
    return _region(_path(physical), physical["region"], cell)


def _region(path: str, region: Object, cell: int = 0) -> Location:
    return Location(
        path,
        int(region["startLine"]),
        int(region["startColumn"]),
        int(region["endLine"]),
        int(region["endColumn"]),
        cell=cell,
    )


def _path(owner: Object) -> str:
    uri = str(owner["artifactLocation"]["uri"])
    return os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))
