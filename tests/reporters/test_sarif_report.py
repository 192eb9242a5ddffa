"""SARIF 2.1.0: valid by the official schema, with flows, rules, fixes and fingerprints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fakes import Tree
from sample_reports import hostile, ordinary

from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.sarif import render
from devlint.rules import load_rules

SCHEMA = json.loads((Path(__file__).parent / "schemas/sarif-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(
    SCHEMA, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
)


def run_of(report: Report, **options: Any) -> dict[str, Any]:
    """The one run of the log, which must be valid."""
    log = json.loads(render(report, Options(rules=load_rules(), **options)))
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    return dict(run)


def test_the_validator_would_notice() -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({"version": "2.1.0", "runs": [{"tool": {}}]})


def test_a_finding_becomes_a_result_with_its_trace_as_a_flow(tree: Tree) -> None:
    report = ordinary(tree)
    run = run_of(report, repository=report.root.parent)
    mixed, sync = run["results"]
    uri = f"{report.root.name}/pkg/a.py"
    assert (mixed["ruleId"], mixed["level"], sync["level"]) == ("DEV101", "error", "note")
    assert mixed["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 10},
            }
        }
    ]
    steps = mixed["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == [
        "`a` is on cpu: made here",
        "`a` is on cpu, `b` is on cuda",
    ]
    assert mixed["relatedLocations"][0]["message"]["text"] == "`a` is on cpu: made here"
    assert mixed["partialFingerprints"] == {"devlintFingerprint/v1": report.findings[0].fingerprint}
    assert "codeFlows" not in sync


def test_a_rule_carries_its_page(tree: Tree) -> None:
    run = run_of(ordinary(tree))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["DEV101", "DEV303"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert "## Why is this bad?" in rules[0]["help"]["markdown"]
    assert rules[0]["helpUri"].startswith("https://")


def test_a_fix_is_a_replacement(tree: Tree) -> None:
    (fix,) = run_of(ordinary(tree))["results"][0]["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 6},
            "insertedContent": {"text": "a.to(b.device)"},
        }
    ]


def test_what_was_not_checked_is_a_notification(tree: Tree) -> None:
    (invocation,) = run_of(ordinary(tree))["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "syntax error: '(' was never closed"


def test_suppressed_findings_are_marked_and_only_there_when_asked_for(tree: Tree) -> None:
    report = ordinary(tree)
    report.suppressed = report.findings
    assert len(run_of(report)["results"]) == 2
    results = run_of(report, show_suppressed=True)["results"]
    assert ["suppressions" in result for result in results] == [False, False, True, True]


def test_hostile_paths_are_escaped_uris() -> None:
    run = run_of(hostile(), show_suppressed=True)
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("odd%1B%5D0%3Bowned%07")
