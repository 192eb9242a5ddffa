"""Suppressions written and removed: only comments come and go, and then the check agrees."""

from __future__ import annotations

import ast
from pathlib import Path

import fakes
import pytest
from fakes import Tree

from devlint.suppression_comments import with_ignores, without_unused_ignores


def suppressed(tree: Tree, text: str | bytes) -> bytes:
    """The file after all its findings are suppressed."""
    root = tree({"x.py": text})
    done = with_ignores(fakes.check(root), "as meant")
    assert not done.left
    (change,) = done.changes
    (root / "x.py").write_bytes(change.after)
    assert ast.dump(ast.parse(change.before)) == ast.dump(ast.parse(change.after))
    assert [finding.rule for finding in fakes.check(root).findings] == []
    return change.after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a + b\n", "x = a + b  # devlint: ignore[DEV101] -- as meant\n"),
        ("x = a + b", "x = a + b  # devlint: ignore[DEV101] -- as meant"),
        ("sync(); a + b\n", "sync(); a + b  # devlint: ignore[DEV101, DEV303] -- as meant\n"),
        (
            "x = a + b  # type: ignore\n",
            "x = a + b  # type: ignore  # devlint: ignore[DEV101] -- as meant\n",
        ),
        (
            "f(\n    a + b,\n    c,\n)\n",
            "f(\n    a + b,  # devlint: ignore[DEV101] -- as meant\n    c,\n)\n",
        ),
        (
            'f(a + b, """\n# no comment\n""")\n',
            'f(a + b, """\n# no comment\n""")  # devlint: ignore[DEV101] -- as meant\n',
        ),
        (
            "x = a + b \\\n    - c\n",
            "x = a + b \\\n    - c  # devlint: ignore[DEV101] -- as meant\n",
        ),
        (
            "x = a + b \\\n# why\ny = 1\n",
            "x = a + b \\\n# why  # devlint: ignore[DEV101] -- as meant\ny = 1\n",
        ),
        (
            "for x in a + b:\n    sync()\n",
            "for x in a + b:  # devlint: ignore[DEV101] -- as meant\n"
            "    sync()  # devlint: ignore[DEV303] -- as meant\n",
        ),
    ],
)
def test_the_comment_is_where_one_can_be(tree: Tree, before: str, after: str) -> None:
    assert suppressed(tree, before).decode() == after


def test_line_ends_encoding_and_mark_stay(tree: Tree) -> None:
    comment = b"  # devlint: ignore[DEV101] -- as meant"
    text = b"\xef\xbb\xbfx = 'f\xc3\xbcr'\r\ny = a + b%s\r\n"
    assert suppressed(tree, text % b"") == text % comment
    latin = b"# coding: latin-1\nx = '\xe9' ; a + b%s\n"
    assert suppressed(tree, latin % b"") == latin % comment


def test_a_file_that_changed_into_something_else_is_left(tree: Tree) -> None:
    root = tree({"x.py": "x = a + b\n"})
    report = fakes.check(root)
    (root / "x.py").write_text("x = (\n")
    done = with_ignores(report, "as meant")
    assert (done.changes, done.left) == ([], report.findings)


def test_findings_about_suppressions_are_not_suppressed(tree: Tree) -> None:
    root = tree({"x.py": "x = 1  # devlint: ignore[DEV101]\n"})
    report = fakes.check(root)
    assert [finding.rule for finding in report.findings] == ["DEV001"]
    assert with_ignores(report, "as meant").changes == []


def test_unused_suppressions_are_removed_and_the_others_stay(tree: Tree) -> None:
    root = tree(
        {
            "x.py": "# devlint: ignore-file[DEV303]\n"
            "x = a + b  # devlint: ignore[DEV101, DEV303] -- fine\n"
            "y = 1  # devlint: ignore[DEV101]\n"
            "z = 1  # noqa: DEV101\n",
        }
    )
    done = without_unused_ignores(fakes.check(root))
    (change,) = done.changes
    assert change.after.decode() == (
        "x = a + b  # devlint: ignore[DEV101] -- fine\ny = 1\nz = 1  # noqa: DEV101\n"
    )
    Path(change.file).write_bytes(change.after)
    again = without_unused_ignores(fakes.check(root))
    assert again.changes == []
