"""The examples of a rule's page are its tests: each bad one gives its finding, no good one does."""

from __future__ import annotations

import pytest
from rule_check import RULES, check_text

BAD = [(rule.code, i) for rule in RULES.values() for i in range(len(rule.bad))]
GOOD = [(rule.code, i) for rule in RULES.values() for i in range(len(rule.good))]


def codes(text: str) -> set[str]:
    return {finding.rule for finding in check_text(text)}


@pytest.mark.parametrize(("code", "index"), BAD)
def test_a_bad_example_gives_the_finding(code: str, index: int):
    assert code in codes(RULES[code].bad[index])


@pytest.mark.parametrize(("code", "index"), GOOD)
def test_a_good_example_does_not(code: str, index: int):
    assert code not in codes(RULES[code].good[index])
