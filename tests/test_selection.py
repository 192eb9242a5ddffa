"""Which rules run: selectors, their precision, and layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fakes
import pytest

from devlint.config import Config, Override, Policy
from devlint.findings import Severity
from devlint.rule import Rule
from devlint.selection import Layer, SelectionError, select, validate


def rule(code: str, name: str, preview: bool = False) -> Rule:
    made = fakes.rule(code, name, Severity.ERROR, lambda facts: ())
    return replace(made, preview=preview)


RULES = (
    rule("DEV101", "mixed"),
    rule("DEV102", "cpu-constant"),
    rule("DEV301", "loop-transfer"),
    rule("DEV303", "sync-in-loop"),
    rule("DEV901", "new-idea", preview=True),
)


def on(*layers: Layer) -> list[str]:
    return [rule.code for rule in select(RULES, layers)]


@pytest.mark.parametrize(
    ("layer", "codes"),
    [
        (Layer(), "DEV101 DEV102 DEV301 DEV303"),
        (Layer(("DEV1",)), "DEV101 DEV102"),
        (Layer(("dev101", "DEV3")), "DEV101 DEV301 DEV303"),
        (Layer(("sync-in-loop",)), "DEV303"),
        (Layer(("ALL",)), "DEV101 DEV102 DEV301 DEV303"),
        (Layer(ignore=("DEV3",)), "DEV101 DEV102"),
        (Layer(ignore=("ALL",)), ""),
        (Layer(("DEV3",), ignore=("DEV303",)), "DEV301"),
        (Layer(("DEV303",), ignore=("DEV3",)), "DEV303"),
        (Layer(("DEV3",), ignore=("DEV3",)), ""),
        (Layer(extend_select=("DEV901",)), "DEV101 DEV102 DEV301 DEV303 DEV901"),
        (Layer(extend_select=("DEV9",)), "DEV101 DEV102 DEV301 DEV303"),
        (Layer(("DEV1",), ("new-idea",)), "DEV101 DEV102 DEV901"),
        (Layer(extend_select=("DEV303",), ignore=("DEV3",)), "DEV101 DEV102 DEV303"),
    ],
)
def test_one_layer(layer: Layer, codes: str) -> None:
    assert on(layer) == codes.split()


def test_a_later_layer_has_the_last_word() -> None:
    configured = Layer(("DEV1",), ignore=("DEV102",))
    assert on(configured, Layer(("DEV102", "DEV3"))) == ["DEV102", "DEV301", "DEV303"]
    assert on(configured, Layer(extend_select=("DEV301",))) == ["DEV101", "DEV301"]
    assert on(configured, Layer(ignore=("DEV101",))) == []


def test_an_override_takes_from_the_command_line_and_adds_nothing_to_it() -> None:
    overrides = (Override(("tests",), extend_select=("DEV3",), ignore=("DEV102",)),)
    config = Config(root=Path("/"), select=("DEV1",), overrides=overrides)
    policy = Policy(config, RULES)
    assert [r.code for r in policy.rules_for("x.py")] == ["DEV101", "DEV102"]
    assert [r.code for r in policy.rules_for("tests/x.py")] == ["DEV101", "DEV301", "DEV303"]
    config = replace(config, command_line=Layer(("DEV102", "DEV101")))
    policy = Policy(config, RULES)
    assert [r.code for r in policy.rules_for("tests/x.py")] == ["DEV101"]


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("DEV9991", "; those of DEV9 are DEV901"),
        ("DEV4", "; `devlint rules` lists them all"),
        ("sync-in-lop", "did you mean 'sync-in-loop'?"),
        ("qqq", "'qqq'"),
        ("", "''"),
    ],
)
def test_an_unknown_selector_is_an_error_that_says_the_nearest(selector: str, hint: str) -> None:
    with pytest.raises(SelectionError, match="--select: no rule has") as caught:
        validate([selector], RULES, "--select")
    assert hint in str(caught.value)


def test_known_selectors_are_accepted() -> None:
    validate(["ALL", "DEV", "DEV1", "dev303", "Sync-In-Loop", "DEV901"], RULES, "--select")
