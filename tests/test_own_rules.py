"""The page about own rules, executed; and `devlint.testing`, which it teaches."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devlint.rule import Rule
from devlint.testing import check_examples, findings_in

PAGE = Path(__file__).resolve().parent.parent / "docs" / "own-rules.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the Python of the page defines."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_the_tests_of_the_page_pass(page: dict[str, Any]) -> None:
    tests = [work for name, work in page.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_examples_that_do_not_hold_are_told(page: dict[str, Any]) -> None:
    rule: Rule = page["RULE"]
    with pytest.raises(AssertionError, match="HOUSE1 finds nothing in its bad example"):
        check_examples(replace(rule, bad=rule.good))
    with pytest.raises(AssertionError, match="HOUSE1 finds something in line 4 of"):
        check_examples(replace(rule, good=rule.bad))


def test_a_text_that_does_not_parse_and_a_rule_that_fails(page: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"line 1: syntax error"):
        findings_in("x = (", [page["RULE"]])
    broken = replace(page["RULE"], check=lambda facts: 1 / 0)
    with pytest.raises(ValueError, match="rule HOUSE1 failed: ZeroDivisionError"):
        findings_in("x = 1", [broken])
