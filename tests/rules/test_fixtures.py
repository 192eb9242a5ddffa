"""Fixtures are user code: a bad one gives its rule's findings on the marked lines and nowhere else,
a good one gives nothing of the families DEV1 to DEV4."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from rule_check import (
    FIXTURES,
    check_files,
    expected_codes,
    expected_lines,
    lines_of,
    of_another_confidence,
    report_of,
)

from devlint.findings import Finding
from devlint.report import Report

RULE_FIXTURES = FIXTURES / "rules"
TEACHING = FIXTURES / "teaching"
PROJECTS = FIXTURES / "projects"


def named(path: Path) -> str:
    return path.relative_to(FIXTURES).as_posix()


@functools.cache
def report(path: Path) -> Report:
    """What is said of a file, which more than one law is about."""
    return report_of(path.parent, path)


def check(path: Path) -> list[Finding]:
    return report(path).findings


def serious(findings: list[Finding]) -> list[str]:
    """Findings of DEV1 to DEV4, as lines to read when a test fails."""
    return [
        f"{found.location.line}: {found.rule} {found.message}"
        for found in findings
        if found.rule < "DEV5"
    ]


@pytest.mark.parametrize("path", sorted(RULE_FIXTURES.glob("*/bad_*.py")), ids=named)
def test_a_bad_fixture_gives_its_rule_on_the_marked_lines(path: Path):
    code = path.parent.name
    expected = expected_lines(path.read_text(), code)
    assert expected
    assert lines_of(check(path), code) == expected


@pytest.mark.parametrize("path", sorted(RULE_FIXTURES.glob("DEV[1-4]*/good_*.py")), ids=named)
def test_a_good_fixture_gives_nothing(path: Path):
    assert serious(check(path)) == []


@pytest.mark.parametrize("path", sorted(RULE_FIXTURES.glob("DEV5*/good_*.py")), ids=named)
def test_a_good_fixture_of_portability_gives_nothing_of_its_rule(path: Path):
    findings = check(path)
    assert serious(findings) == []
    assert lines_of(findings, path.parent.name) == []


@pytest.mark.parametrize("path", sorted(TEACHING.glob("bad_*.py")), ids=named)
def test_a_teaching_example_is_found(path: Path):
    text, findings = path.read_text(), check(path)
    assert expected_codes(text)
    for code in expected_codes(text):
        assert lines_of(findings, code) == expected_lines(text, code)


@pytest.mark.parametrize("path", sorted(TEACHING.glob("good_*.py")), ids=named)
def test_the_right_form_gives_nothing(path: Path):
    assert serious(check(path)) == []


@pytest.mark.parametrize("folder", [RULE_FIXTURES, TEACHING], ids=named)
def test_what_is_less_than_certain_says_what_it_rests_on(folder: Path):
    reports = [report(path) for path in sorted(folder.rglob("*.py"))]
    found = [finding for each in reports for finding in (*each.findings, *each.suppressed)]
    assert len(found) >= 20
    assert of_another_confidence(found) == []


def test_the_planted_bugs_of_the_classifier_are_found():
    root = PROJECTS / "classifier"
    files = sorted(root.glob("*.py"))
    findings = check_files(root, *files)
    found = {(f.location.path, f.location.line, f.rule) for f in findings if f.rule < "DEV5"}
    planted = {
        (file.name, line, code)
        for file in files
        for code in expected_codes(file.read_text())
        for line in expected_lines(file.read_text(), code)
    }
    assert planted and found == planted
