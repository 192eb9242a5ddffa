"""Everyday code, at the confidence that users have: `found/` gives its marks and nothing else,
`silent/` gives nothing.  Where that is not so yet, `not_yet.toml` says why.

A mark stands where a bug shows.  A finding at a call that leads there is the marked one, too: the
place is one of its related locations.
"""

from __future__ import annotations

import functools

import pytest
from everyday_code import EVERYDAY, FOUND, SILENT, Example, Mark, findings_of, table
from rule_check import of_another_confidence

from devlint.findings import Confidence, Finding

NOT_YET = table("not_yet.toml")
EXAMPLES = [Example(path) for path in (*FOUND, *SILENT)]


all_findings = functools.cache(findings_of)


def check(example: Example) -> list[Finding]:
    """What a user sees; of the families of portability only what the example asks for."""
    seen = [f for f in all_findings(example.path) if f.confidence is not Confidence.POSSIBLE]
    found = example.path in FOUND
    return [f for f in seen if not found or f.rule < "DEV5" or f.rule in example.codes]


def shows(finding: Finding, mark: Mark) -> bool:
    """Is a finding the marked one?"""
    lines = {finding.location.line, *(related.location.line for related in finding.related)}
    return finding.rule == mark.code and mark.line in lines


def differences(example: Example) -> list[str]:
    """Marks that no finding shows, and findings that lead to no mark."""
    findings, marks = check(example), example.marks
    missed = [
        f"{mark.line}: {mark.code} is missed"
        for mark in marks
        if not any(shows(finding, mark) for finding in findings)
    ]
    marked = {mark.line for mark in marks}
    wrong = [
        f"{f.location.line}: {f.rule} {f.message}"
        for f in findings
        if not marked & {f.location.line, *(related.location.line for related in f.related)}
    ]
    return missed + wrong


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_everyday_code_gives_what_is_marked_and_nothing_else(example: Example):
    different = differences(example)
    if example.name in NOT_YET:
        assert different, f"{example.name} holds: remove the entry of not_yet.toml"
    else:
        assert different == []


def test_what_is_less_than_certain_says_what_it_rests_on():
    found = [finding for example in EXAMPLES for finding in all_findings(example.path)]
    assert len(found) >= 20
    assert of_another_confidence(found) == []


def test_marks_are_in_what_is_to_be_found_and_nowhere_else():
    assert len(FOUND) >= 56 and len(SILENT) >= 56
    assert [path for path in FOUND if not Example(path).marks] == []
    assert [path for path in SILENT if Example(path).marks] == []


def test_entries_are_of_files_that_exist_and_give_a_reason():
    for name, reason in NOT_YET.items():
        assert (EVERYDAY / name).is_file() and reason
