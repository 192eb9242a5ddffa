"""Tests of one's own rules: findings in a text, and a rule held to its own examples."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence, Finding
from devlint.rule import Rule

NAME = "example.py"


def findings_in(text: str, rules: Sequence[Rule]) -> list[Finding]:
    """The findings of these rules in a file with this text, whatever their confidence.

    Raises ValueError for a text that cannot be checked, and for a rule that fails.
    """
    with tempfile.TemporaryDirectory(prefix="devlint-") as folder:
        root = Path(folder).resolve()
        file = root / NAME
        config = Config(
            root, select=tuple(rule.code for rule in rules), min_confidence=Confidence.POSSIBLE
        )
        contents = {file: textwrap.dedent(text).encode("utf-8")}
        report = engine.check([file], config, tuple(rules), contents=contents)
    for error in report.errors:
        raise ValueError(f"line {error.line}: {error.message}")
    return report.findings


def check_examples(rule: Rule) -> None:
    """Raise AssertionError unless each bad example of the rule gives its finding and no good one
    does."""
    for text in rule.bad:
        if not findings_in(text, [rule]):
            raise AssertionError(f"{rule.code} finds nothing in its bad example:\n{text}")
    for text in rule.good:
        found = findings_in(text, [rule])
        if found:
            place = found[0].location
            raise AssertionError(f"{rule.code} finds something in line {place.line} of:\n{text}")
