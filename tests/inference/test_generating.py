"""The code of nodes is what stands in the file."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from devlint.inference.syntax.code_generator import code_of
from devlint.inference.syntax.text import every

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("fixtures/**/*.py"))[:40] + sorted(ROOT.glob("devlint/inference/**/*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_code_of_a_file_is_its_text(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert code_of(cst.parse_module(text)) == text


@pytest.mark.parametrize("text", ["a", "(a)", "((a))", "( a )", "f((a), *(b), c=(d))", "(a, (b))"])
def test_parentheses_stay_around_what_they_enclose(text: str) -> None:
    tree = cst.parse_module(f"x = {text}\n")
    (value,) = (each.value for each in every(tree, cst.Assign))
    assert code_of(value) == text
