"""A check's work grows in proportion to the file, whatever the file has much of.

Work is a number of calls, which is the same in every run. `python benchmarks/growth.py` prints it
for all kinds of construct, `--store` stores it where a check is meant to do more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import growth
import pytest
from rule_check import RULES

from devlint.inference.facts import Facts, Meeting
from devlint.rule import Claim

KINDS = growth.kinds()
MARGIN = 1.15  # over what is stored: versions of Python and LibCST make more calls or fewer


@pytest.fixture(scope="module", autouse=True)
def _with_tables_read() -> None:
    """What is read once for all checks is no part of one."""
    growth.check(growth.FIRST, tuple(RULES.values()))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_four_times_as_much_takes_at_most_five_times_the_calls(kind: growth.Kind) -> None:
    found = growth.growth(kind, tuple(RULES.values()), growth.calls)
    assert found.factor <= growth.LIMIT
    assert found.many <= MARGIN * growth.stored()[kind.name], (
        "a check makes more calls than before; if it must: python benchmarks/growth.py --store"
    )


def test_each_kind_has_its_figure_stored() -> None:
    assert list(growth.stored()) == list(KINDS)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_is_a_file_that_parses(kind: growth.Kind) -> None:
    compile(kind.text(3), kind.name, "exec")


def test_a_rule_that_compares_all_with_all_is_noticed() -> None:
    def check(facts: Facts) -> Iterator[Claim]:
        for meeting in facts.meetings:
            if sum(is_like(meeting, other) for other in facts.meetings) < 1:
                raise AssertionError(meeting)
        return iter(())

    def is_like(meeting: Meeting, other: Meeting) -> bool:
        return repr(meeting.left.name) == repr(other.left.name)

    kind, rule = KINDS["findings-at-module-level"], RULES["DEV301"]
    assert growth.growth(kind, (rule,), growth.calls, 40).factor <= growth.LIMIT
    comparing = replace(rule, check=check)
    assert growth.growth(kind, (comparing,), growth.calls, 40).factor > growth.LIMIT


def test_the_same_file_makes_as_many_calls_again() -> None:
    rules, text = tuple(RULES.values()), KINDS["methods"].text(5)
    growth.calls(text, rules)
    assert growth.calls(text, rules) == growth.calls(text, rules)
