"""The baseline's file: what it says of findings, and how it reads and merges."""

from __future__ import annotations

from pathlib import Path

import fakes
import pytest
from fakes import Tree
from hypothesis import given, settings
from hypothesis import strategies as st

from devlint.baseline import (
    BaselineError,
    Entry,
    entry_of,
    read_baseline,
    stale_entries,
    write_baseline,
)
from devlint.findings import Confidence
from devlint.report import Report

TEXT = "x = a + b\ny = a + c\n"


def entries(report: Report) -> list[Entry]:
    return [entry_of(finding) for finding in report.findings]


def known_in(root: Path, known: list[Entry], **options: object) -> Report:
    return fakes.check(root, known=frozenset(each.fingerprint for each in known), **options)


def test_known_findings_are_not_reported_wherever_they_move(tree: Tree) -> None:
    known = entries(fakes.check(tree({"x.py": TEXT})))
    assert len(known) == 2
    moved = "import os\n\nif 1:\n\t" + TEXT.replace("\n", "\n\n\t").rstrip() + "\n"
    report = known_in(tree({"x.py": moved + "z = a + d\n"}), known)
    assert [finding.location.line for finding in report.findings] == [7]
    assert [finding.location.line for finding in report.known] == [4, 6]


def test_one_more_of_the_same_is_new(tree: Tree) -> None:
    known = entries(fakes.check(tree({"x.py": "f(a + b)\n"})))
    report = known_in(tree({"x.py": "f(a + b)\nf(a + b)\n"}), known)
    assert (len(report.known), len(report.findings)) == (1, 1)


def test_an_edited_line_is_new_and_its_entry_is_stale(tree: Tree) -> None:
    known = entries(fakes.check(tree({"x.py": TEXT})))
    report = known_in(tree({"x.py": TEXT.replace("a + c", "a + d")}), known)
    assert [finding.location.line for finding in report.findings] == [2]
    (gone,) = stale_entries(report, known, lambda rule, path: True)
    assert gone == known[1] or gone == known[0]
    assert gone.fingerprint not in {finding.fingerprint for finding in report.known}


def test_entries_of_what_was_not_looked_at_are_not_stale(tree: Tree) -> None:
    root = tree({"x.py": "a + b\n", "y.py": "a + b\n", "z.py": "a + b\n"})
    known = entries(fakes.check(root))
    tree({"x.py": "1\n", "y.py": "1\n"})
    (root / "z.py").unlink()
    report = fakes.check(root, "x.py", known=frozenset(e.fingerprint for e in known))
    stale = stale_entries(report, known, lambda rule, path: True)
    assert [each.path for each in stale] == ["x.py", "z.py"], "y.py was not checked, z.py is gone"
    assert stale_entries(report, known, lambda rule, path: False) == []


def test_entries_of_findings_that_are_only_less_sure_are_not_stale(tree: Tree) -> None:
    root = tree({"x.py": "a + b\n"})
    known = entries(fakes.check(root, min_confidence=Confidence.POSSIBLE))
    assert {each.rule for each in known} == {"DEV101", "DEV102"}
    report = known_in(root, known)
    assert stale_entries(report, known, lambda rule, path: True) == []


# --- the file ----------------------------------------------------------------------------------


def test_the_file_is_sorted_with_an_entry_a_line(tmp_path: Path) -> None:
    file = tmp_path / "baseline"
    one, two = Entry("b.py", "DEV101", "0" * 16), Entry("a b.py", "DEV303", "f" * 16)
    write_baseline(file, [one, two])
    lines = file.read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "a%20b.py DEV303 ffffffffffffffff",
        "b.py DEV101 0000000000000000",
    ]
    assert read_baseline(file) == {one, two}


characters = st.characters(codec="utf-8", exclude_characters="\0")
paths = st.text(characters, min_size=1) | st.just("no-utf-8-\udc80")


@settings(max_examples=40)  # each writes a file, and a law of one line falls early
@given(st.sets(st.builds(Entry, paths, st.just("DEV101"), st.just("0123456789abcdef"))))
def test_whatever_a_path_is_it_comes_back(
    tmp_path_factory: pytest.TempPathFactory, found: set[Entry]
) -> None:
    file = tmp_path_factory.getbasetemp() / "baseline"
    write_baseline(file, found)
    assert read_baseline(file) == found


def test_the_lines_of_both_sides_of_a_merge_are_a_baseline(tmp_path: Path) -> None:
    file = tmp_path / "baseline"
    file.write_text("b.py DEV101 0000000000000000\na.py DEV101 0000000000000000\n\n# a remark\n")
    assert {entry.path for entry in read_baseline(file)} == {"a.py", "b.py"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x.py DEV101\n", ":1: is no entry `PATH RULE FINGERPRINT`"),
        (b"# fine\n<<<<<<< HEAD\n", ":2: is no entry `PATH RULE FINGERPRINT`; a merge conflict: "),
        (b"\xff", ": is not valid UTF-8"),
    ],
)
def test_what_is_no_baseline_is_said_with_its_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "baseline"
    file.write_bytes(content)
    with pytest.raises(BaselineError) as error:
        read_baseline(file)
    assert str(error.value).startswith(f"{file}{said}")


def test_a_baseline_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="cannot be read: No such file"):
        read_baseline(tmp_path / "none")
