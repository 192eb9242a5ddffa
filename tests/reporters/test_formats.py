"""What holds for every report format: they are documented, and let nothing hostile through."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from fakes import Tree
from sample_reports import hostile, ordinary

from devlint.reporters.formats import FORMATS, render
from devlint.reporters.options import Options
from devlint.rules import load_rules

ROOT = Path(__file__).resolve().parent.parent.parent
OPTIONS = Options(rules=load_rules(), show_suppressed=True)
every_format = pytest.mark.parametrize("name", FORMATS)


def test_each_module_of_a_format_is_registered() -> None:
    shared = {
        "__init__",
        "assumptions",
        "catalogue",
        "formats",
        "options",
        "page",
        "previews",
        "wording",
    }
    modules = {path.stem for path in (ROOT / "devlint/reporters").glob("*.py")}
    assert modules - shared == set(FORMATS)


@every_format
def test_the_page_of_the_commands_says_whom_a_format_is_for(name: str) -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {FORMATS[name]} |" in page


@every_format
def test_a_format_says_what_was_found_and_what_was_not_checked(name: str, tree: Tree) -> None:
    text = render(name, ordinary(tree), OPTIONS)
    assert text.endswith("\n")
    assert "DEV101" in text and "DEV303" in text
    assert "a.py" in text and "b.py" in text
    assert "was never closed" in text


@every_format
def test_nothing_steers_the_terminal(name: str) -> None:
    """Half characters, of names that are no UTF-8, are written as escapes."""
    text = render(name, hostile(), OPTIONS)
    controls = {each for each in text if unicodedata.category(each) == "Cc"}
    assert controls <= {"\n"}
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)


@every_format
def test_a_report_is_the_same_each_time(name: str, tree: Tree) -> None:
    assert render(name, ordinary(tree), OPTIONS) == render(name, ordinary(tree), OPTIONS)
