"""Everyday code of `fixtures/everyday/`: its files, and the marks in them."""

from __future__ import annotations

import ast
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tomli
from rule_check import FIXTURES, RULES, expected_codes, expected_lines

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence, Finding

EVERYDAY = FIXTURES / "everyday"
FOUND = sorted(EVERYDAY.glob("found/*.py"))
SILENT = sorted(EVERYDAY.glob("silent/*.py"))


@dataclass(frozen=True, order=True)
class Mark:
    """A finding that a file asks for at one of its lines."""

    line: int
    code: str


@dataclass(frozen=True)
class Example:
    """One file of everyday code."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(EVERYDAY).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def codes(self) -> set[str]:
        return expected_codes(self.text)

    @cached_property
    def marks(self) -> list[Mark]:
        codes = self.codes
        return sorted(Mark(line, c) for c in codes for line in expected_lines(self.text, c))

    def last_line_of(self, line: int) -> int:
        """The line on which the simple statement ends that stands at a line."""
        ends = (
            node.end_lineno
            for node in ast.walk(ast.parse(self.text))
            if isinstance(node, ast.stmt) and not hasattr(node, "body")
            if node.end_lineno is not None and node.lineno <= line <= node.end_lineno
        )
        return next(ends, line)

    def function_around(self, line: int) -> range:
        """The lines of the innermost function around a line; the line itself outside of all."""
        functions = [
            range(node.lineno, node.end_lineno + 1)
            for node in ast.walk(ast.parse(self.text))
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None
            if node.lineno <= line <= node.end_lineno
        ]
        return min(functions, key=len, default=range(line, line + 1))


def findings_of(path: Path) -> list[Finding]:
    """Those of a file by itself, of every confidence: its neighbours are no project of its."""
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(shutil.copy(path, folder))
        config = Config(alone.parent, respect_gitignore=False, min_confidence=Confidence.POSSIBLE)
        report = engine.check([alone], config, tuple(RULES.values()))
    assert not report.errors and not report.suppressed
    return report.findings


def table(name: str) -> dict[str, str]:
    """A data file of the folder: a text for some of the examples."""
    return tomli.loads((EVERYDAY / name).read_text(encoding="utf-8"))
