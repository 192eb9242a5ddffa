"""The report for people: frames, underlines, traces, advice, a summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import fakes
import pytest
from fakes import Tree

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence, Severity
from devlint.inference.facts import Facts, Site
from devlint.knowledge import Knowledge
from devlint.project.imports import Importer
from devlint.project.source import ParsedFile
from devlint.report import Report
from devlint.reporters.text import Options, render, summary
from devlint.rule import Claim, Note


def shown(report: Report) -> str:
    return render(report, Options(summary=False))


def test_a_finding_with_its_trace_and_advice(tree: Tree) -> None:
    root = tree({"net/model.py": "\n" * 9 + "def f(a, b):\n    return g(a + b)\n"})
    assert (
        render(fakes.check(root))
        == """\
error[DEV101] mixed-device-operation: `a` is on cpu, `b` is on cuda
  --> net/model.py:11:14
   |
11 |     return g(a + b)
   |              ^^^^^
   |
   = note 1: `a` is on cpu: made here
11 |     return g(a + b)
   |              -
   |
   = help: move `a` first

Found 1 error in 1 of 1 file (1 below --min-confidence). 1 can be fixed with --fix.
"""
    )


def test_a_trace_through_another_file_and_line_numbers_of_other_widths(tree: Tree) -> None:
    root = tree({"main.py": "import other\nuse\n", "other.py": "\n" * 99 + "made = 1\n"})
    loaded: dict[str, ParsedFile] = {}

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        other = importer.load("other")
        assert other is not None
        loaded["other"] = other
        return Facts(parsed)

    def check(facts: Facts) -> Iterator[Claim]:
        source = facts.source
        assert isinstance(source, ParsedFile)
        made = Note(Site(loaded["other"], loaded["other"].tree.body[0]), "made here")
        here = Note(Site(source, source.tree.body[0]), "imported here")
        site = Site(source, source.tree.body[1])
        yield Claim(site, Severity.WARNING, Confidence.POSSIBLE, "met", trace=(made, here))

    rule = fakes.rule("DEV501", "far-away", Severity.WARNING, check)
    config = Config(root, min_confidence=Confidence.POSSIBLE)
    report = engine.check([root / "main.py"], config, (rule,), infer=infer)
    assert (
        shown(report)
        == """\
warning[DEV501] far-away: met
   --> main.py:2:1
    |
  2 | use
    | ^^^
    |
    = note 1: made here (other.py:100:1)
100 | made = 1
    | --------
    = note 2: imported here
  1 | import other
    | ------------
    = confidence: possible: it depends on the caller
"""
    )


def frame(root: Path, text: str) -> list[str]:
    """The code frame of the one finding, without its gutter."""
    (root / "x.py").write_text(text, encoding="utf-8")
    lines = shown(fakes.check(root, "x.py")).split("\n")
    end = next(number for number, line in enumerate(lines) if "note 1" in line)
    return [line.split("|", 1)[1][1:] if "|" in line else line for line in lines[3 : end - 1]]


def underlined(root: Path, text: str) -> str:
    code, marks = frame(root, text)
    return code + "\n" + marks


@pytest.mark.parametrize(
    ("line", "picture"),
    [
        ("x = a + b # c", "x = a + b # c\n    ^^^^^"),
        ("if x:\n\ty = a + b", "    y = a + b\n        ^^^^^"),
        ('x = "日本", a + b', 'x = "日本", a + b\n            ^^^^^'),
        ('x = "e\u0301", a + b', 'x = "e\u0301", a + b\n         ^^^^^'),
        ('x = a + "日本"', 'x = a + "日本"\n    ^^^^^^^^^^'),
        ('x = "\x1b[31m", a + b', 'x = "␛[31m", a + b\n             ^^^^^'),
        ("\fx = a + b", "␌x = a + b\n     ^^^^^"),
        ('x = "\u202e", a + b', 'x = "\ufffd", a + b\n         ^^^^^'),
    ],
    ids=["plain", "tab", "wide", "combining", "wide-inside", "escape", "form-feed", "bidi"],
)
def test_the_operation_is_underlined_as_a_terminal_shows_it(
    tmp_path: Path, line: str, picture: str
) -> None:
    assert underlined(tmp_path, line + "\n") == picture


def test_a_span_of_several_lines_is_underlined_line_by_line(tmp_path: Path) -> None:
    assert frame(tmp_path, "x = (a\n        +\n\n     b)\n") == [
        "x = (a", "     ^", "        +", "        ^", "     b)", "     ^"
    ]  # fmt: skip


def test_a_long_span_is_cut(tmp_path: Path) -> None:
    lines = frame(tmp_path, "x = (a\n" + "\n" * 3 + "+\n" * 1 + "b\n" * 1 + ")\n")
    assert lines[:2] == ["x = (a", "     ^"]
    assert lines[-1] == "..."


def test_of_a_long_line_the_part_around_the_span_is_shown(tmp_path: Path) -> None:
    picture = underlined(tmp_path, "x = [" + "1, " * 200 + "a + b" + ", 1" * 200 + "]\n")
    code, marks = picture.split("\n")
    assert code[0] == code[-1] == "…"
    assert len(code) < 150
    assert code[marks.index("^") : marks.rindex("^") + 1] == "a + b"


def test_errors_show_their_line(tree: Tree) -> None:
    root = tree({"x.py": "x = 1\ny = (2\n", "z.py": b"\xff"})
    assert (
        shown(fakes.check(root))
        == """\
error: syntax error: '(' was never closed
 --> x.py:2:5
  |
2 | y = (2
  |     ^

error: is not valid utf-8: byte 0xff (invalid start byte); a coding line may name another encoding
 --> z.py:1:1
"""
    )


def test_suppressed_findings_are_marked(tree: Tree) -> None:
    report = fakes.check(tree({"x.py": "a + b  # devlint: ignore[DEV101]\n"}))
    assert shown(report) == ""
    text = render(report, Options(show_suppressed=True, summary=False))
    assert text.startswith("suppressed error[DEV101] mixed-device-operation: ")


def test_paths_are_shown_from_where_the_user_is(tree: Tree, tmp_path: Path) -> None:
    report = fakes.check(tree({"pkg/x.py": "a + b\n"}))
    assert " --> x.py:1:1" in render(report, Options(base=tmp_path / "pkg"))
    assert f" --> {tmp_path}/pkg/x.py:1:1" in render(report, Options(base=tmp_path / "other"))


def test_colour_is_an_addition_only(tree: Tree) -> None:
    report = fakes.check(tree({"x.py": "a + b\nx = (\n", "y.py": "sync(); a + b\n"}))
    coloured = render(report, Options(color=True))
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(report)


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({}, "Found no Python files."),
        ({"x.py": "x = (\n"}, "Checked no files. 1 file could not be checked."),
        (
            {"x.py": "sync()\n", "y.py": "x = (\n"},
            "Found 1 performance finding in 1 of 1 file. 1 file could not be checked.",
        ),
        ({"x.py": ""}, "Found no device-placement problems in 1 file."),
        ({"x.py": "sync()\n"}, "Found 1 performance finding in 1 of 1 file."),
        (
            {"x.py": "sync(); sync()\nx = 1 # devlint: ignore[DEV3]\n", "y.py": ""},
            "Found 1 warning and 2 performance findings in 1 of 2 files."
            " 1 can be fixed with --fix.",
        ),
        (
            {"x.py": "sync() # devlint: ignore\n", "y.py": "("},
            "Found no device-placement problems in 1 file (1 suppressed)."
            " 1 file could not be checked.",
        ),
    ],
)
def test_the_summary(tree: Tree, files: dict[str, str], line: str) -> None:
    assert summary(fakes.check(tree(files))) == line


def test_the_summary_says_what_was_fixed(tree: Tree) -> None:
    report = fakes.check(tree({"x.py": ""}))
    assert summary(report, fixed=2).startswith("Fixed 2 findings. Found no")


def test_a_multi_line_message_cannot_break_the_page(tree: Tree) -> None:
    def check(facts: Facts) -> Iterator[Claim]:
        assert isinstance(facts.source, ParsedFile)
        site = Site(facts.source, facts.source.tree.body[0])
        yield Claim(site, Severity.ERROR, Confidence.CERTAIN, "`f(\x1b[2J\n)` is", "a\nb")

    rule = fakes.rule("DEV101", "odd", Severity.ERROR, check)
    root = tree({"x.py": "x\n"})
    report = engine.check([root], Config(root), (rule,), infer=fakes.infer)
    assert "\x1b" not in shown(report)
    assert "error[DEV101] odd: `f(␛[2J␊)` is\n" in shown(report)
