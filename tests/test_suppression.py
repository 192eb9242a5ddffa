"""Suppressions: which findings they take, and what is said of those that take none."""

from __future__ import annotations

from pathlib import Path

import fakes
import pytest

from devlint.config import Override
from devlint.findings import Confidence, Severity
from devlint.fixes import fix_bytes
from devlint.report import Report


def shown(report: Report) -> list[tuple[str, int]]:
    return [(finding.rule, finding.location.line) for finding in report.findings]


def hidden(report: Report) -> list[tuple[str, int]]:
    return [(finding.rule, finding.location.line) for finding in report.suppressed]


@pytest.mark.parametrize(
    "comment",
    [
        "# devlint: ignore[DEV101]",
        "# devlint: ignore[DEV101] -- `b` is 0-dim",
        "# devlint: ignore[DEV101, DEV102]",
        "# devlint: ignore[DEV1]",
        "# devlint: ignore[mixed-device-operation]",
        "# devlint: ignore[dev101]",
        "#devlint:ignore[DEV101]",
        "# DEVLINT: Ignore [ DEV101 ]",
        "# devlint: ignore",
        "# devlint: ignore -- everything here",
        "# type: ignore  # devlint: ignore[DEV101]",
        "# devlint: ignore[DEV101]  # and another remark",
        "# noqa: DEV101",
        "# noqa: E501, DEV101",
        "# noqa:DEV101,E501",
        "# NOQA: dev101",
        "# noqa: DEV1",
        "# noqa",
        "# noqa  # and a remark",
    ],
)
def test_comments_that_suppress(tmp_path: Path, comment: str) -> None:
    report = fakes.check_text(
        tmp_path, f"x = a + b  {comment}\n", min_confidence=Confidence.POSSIBLE, ignore=("DEV102",)
    )
    assert ("DEV101", 1) in hidden(report)
    assert ("DEV101", 1) not in shown(report)
    assert ("DEV001", 1) not in shown(report)


@pytest.mark.parametrize(
    ("comment", "remarks"),
    [
        ("# devlint: ignore[DEV303]", ["no DEV303 is found here: this suppresses nothing"]),
        ("# devlint: ignore[DEV101, DEV303]", ["no DEV303 is found here: this suppresses nothing"]),
        ("# devlint: ignore[DEV9]", ["there is no rule DEV9"]),
        ("# devlint: ignore[DEV1O1]", ["there is no rule DEV1O1: did you mean DEV101?"]),
        ("# devlint: ignore[sync-in-loop]", ["no SYNC-IN-LOOP is found here"]),
        ("# devlint: ignore[E501]", ["there is no rule E501"]),
        ("# noqa: DEV303", ["no DEV303 is found here: this suppresses nothing"]),
        ("# noqa: DEV999", ["there is no rule DEV999"]),
        ("# noqa: E501", []),
        ("# noqa: E501, W291", []),
        ("# noqa: ABC123", []),
        ("# noqa: see below", []),
        ("# noqaDEV101", []),
        ("# mentions devlint, ignore", []),
        ("# devlint: ignored", ["`# devlint: ignored` is not understood"]),
        ("# devlint: ignore DEV101", ["`# devlint: ignore DEV101` is not understood"]),
        ("# devlint: ignore[]", ["`# devlint: ignore[]` is not understood"]),
        ("# devlint: ignore[DEV101", ["`# devlint: ignore[DEV101` is not understood"]),
        ("# devlint: disable=DEV101", ["`# devlint: disable=DEV101` is not understood"]),
        ("# devlint: ignore-next-line", ["`# devlint: ignore-next-line` is not understood"]),
    ],
)
def test_comments_that_suppress_nothing_of_this_line(
    tmp_path: Path, comment: str, remarks: list[str]
) -> None:
    report = fakes.check_text(tmp_path, f"x = a + b  {comment}\n")
    found = [f for f in report.findings if f.rule == "DEV001"]
    assert [f.message[: len(text)] for f, text in zip(found, remarks, strict=True)] == remarks
    assert all(f.severity is Severity.WARNING and f.advice for f in found)
    if "DEV101" not in comment or "not understood" in str(remarks):
        assert ("DEV101", 1) in shown(report)


def test_the_remark_points_at_its_comment(tmp_path: Path) -> None:
    report = fakes.check_text(tmp_path, "x = 1  # why # devlint: ignore[DEV101] -- because # z\n")
    (finding,) = report.findings
    assert (finding.location.column, finding.location.end_column) == (14, 50)


@pytest.mark.parametrize(
    "text",
    [
        "x = f(  # devlint: ignore[DEV101]\n    a + b,\n)\n",
        "x = f(\n    a + b,\n)  # devlint: ignore[DEV101]\n",
        "x = f(\n    # devlint: ignore[DEV101]\n    a + b,\n)\n",
        "x = f(\n    a  # devlint: ignore[DEV101]\n    + b,\n)\n",
        'x = a + """\n""" + b  # devlint: ignore[DEV101]\n',
        "x = a \\\n  + b  # devlint: ignore[DEV101]\n",
        "if (  # devlint: ignore[DEV101]\n    a + b\n):\n    pass\n",
        "if (\n    a + b\n):  # devlint: ignore[DEV101]\n    pass\n",
        "def f(\n    x=a + b,\n):  # devlint: ignore[DEV101]\n    y = 1\n",
        "with f(\n    a + b\n) as x, y:  # devlint: ignore[DEV101]\n    pass\n",
        "try:\n    pass\nexcept E:\n    x = f(\n        a + b)  # devlint: ignore[DEV101]\n",
        "match x:\n    case 1:\n        y = f(\n            a + b)  # devlint: ignore[DEV101]\n",
        "if 1:\n    pass\nelse:\n    x = f(  # devlint: ignore[DEV101]\n        a + b)\n",
        "class A:\n    def f(self):\n        return (  # devlint: ignore[DEV101]\n      a + b)\n",
        "if x: y = a + b  # devlint: ignore[DEV101]\n",
        "# devlint: ignore-file[DEV101]\nx = a + b\n",
        "x = a + b\n\n\n# devlint: ignore-file[DEV1] -- all of it\n",
        '"""Doc."""  # devlint: ignore-file\nx = a + b\n',
    ],
)
def test_a_suppression_is_for_the_whole_statement_or_file(tmp_path: Path, text: str) -> None:
    report = fakes.check_text(tmp_path, text)
    assert shown(report) == []
    assert {rule for rule, _ in hidden(report)} >= {"DEV101"}


@pytest.mark.parametrize(
    "text",
    [
        "# devlint: ignore[DEV101]\nx = a + b\n",
        "x = 1  # devlint: ignore[DEV101]\nx = a + b\n",
        "if x:  # devlint: ignore[DEV101]\n    x = a + b\n",
        "def f():  # devlint: ignore[DEV101]\n    x = a + b\n",
        "if x:\n    x = a + b\nelse:  # devlint: ignore[DEV101]\n    pass\n",
        "x = a + b\n'''\n# devlint: ignore-file\n'''  # devlint: ignore\n",
    ],
)
def test_a_suppression_is_for_no_other_statement(tmp_path: Path, text: str) -> None:
    report = fakes.check_text(tmp_path, text)
    assert [rule for rule, _ in shown(report)].count("DEV101") == 1
    assert [rule for rule, _ in shown(report)].count("DEV001") == 1


def test_a_comment_on_its_own_line_is_told_where_it_belongs(tmp_path: Path) -> None:
    report = fakes.check_text(tmp_path, "# devlint: ignore[DEV101]\nx = a + b\n")
    assert report.findings[0].advice == (
        "put it at the end of the line that it is for, or remove it"
    )


def test_strings_are_not_comments(tmp_path: Path) -> None:
    text = 'x = "# devlint: ignore" + b\ny = f"# noqa" + a\nz = """\n# devlint: ignore-file\n"""\n'
    report = fakes.check_text(tmp_path, text)
    assert shown(report) == [("DEV101", 1), ("DEV101", 2)]


def test_unused_is_not_said_of_rules_that_do_not_run(tmp_path: Path) -> None:
    text = "x = 1  # devlint: ignore[DEV303]\n"
    assert shown(fakes.check_text(tmp_path, text)) == [("DEV001", 1)]
    assert shown(fakes.check_text(tmp_path, text, ignore=("DEV303",))) == []
    override = Override(("x.py",), ignore=("DEV3",))
    assert shown(fakes.check_text(tmp_path, text, overrides=(override,))) == []


def test_unused_is_not_said_of_what_suppresses_a_finding_of_low_confidence(tmp_path: Path) -> None:
    report = fakes.check_text(tmp_path, "a + b  # devlint: ignore[DEV102]\n")
    assert shown(report) == [("DEV101", 1)]
    assert hidden(report) == [("DEV102", 1)]


def test_two_suppressions_that_both_apply_are_both_of_use(tmp_path: Path) -> None:
    text = "# devlint: ignore-file[DEV101]\nx = a + b  # devlint: ignore[DEV101]\n"
    assert shown(fakes.check_text(tmp_path, text)) == []


def test_the_remark_can_itself_be_suppressed_by_name_only(tmp_path: Path) -> None:
    assert shown(fakes.check_text(tmp_path, "x = 1  # devlint: ignore[DEV101,DEV001]\n")) == []
    assert shown(fakes.check_text(tmp_path, "x = 1  # devlint: ignore\n")) == [("DEV001", 1)]
    assert shown(fakes.check_text(tmp_path, "x = 1  # devlint: ignore\n", ignore=("DEV0",))) == []


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# devlint: ignore[DEV101]", [("DEV002", 1)]),
        ("# devlint: ignore", [("DEV002", 1)]),
        ("# devlint: ignore[DEV101] --", [("DEV001", 1), ("DEV101", 1)]),
        ("# devlint: ignore[DEV101] -- it is 0-dim", []),
        ("# noqa: DEV101", []),
    ],
)
def test_a_reason_can_be_required(
    tmp_path: Path, comment: str, expected: list[tuple[str, int]]
) -> None:
    report = fakes.check_text(tmp_path, f"x = a + b  {comment}\n", require_suppression_reason=True)
    assert sorted(shown(report)) == expected


def test_crlf_and_a_file_without_final_newline(tmp_path: Path) -> None:
    report = fakes.check_text(tmp_path, "x = 1\r\nx = a + b  # devlint: ignore[DEV101]")
    assert shown(report) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # devlint: ignore[DEV101]\n", "x = 1\n"),
        ("x = 1  # devlint: ignore -- why\ny = 2\n", "x = 1\ny = 2\n"),
        ("if x:\n    # devlint: ignore[DEV101]\n    pass\n", "if x:\n    pass\n"),
        ("x = 1\n# devlint: ignore-file[DEV101]", "x = 1\n"),
        ("x = 1  # why # devlint: ignore[DEV101]\n", "x = 1  # why\n"),
        ("x = 1  # devlint: ignore[DEV101]  # why\n", "x = 1  # why\n"),
        (
            "a + b  # devlint: ignore[DEV101, DEV303, DEV999] -- ok\n",
            "a + b  # devlint: ignore[DEV101] -- ok\n",
        ),
        ("x = 1  # noqa: DEV101\n", "x = 1  # noqa: DEV101\n"),
        ("x = 1\r\ny = 1  # devlint: ignore\r\n", "x = 1\r\ny = 1\r\n"),
    ],
)
def test_the_fix_removes_what_is_of_no_use(tmp_path: Path, before: str, after: str) -> None:
    (tmp_path / "x.py").write_bytes(before.encode())
    report = fakes.check(tmp_path, "x.py")
    fixes = [f.fix for f in report.findings if f.rule == "DEV001" and f.fix]
    assert fix_bytes(Path("x.py"), before.encode(), fixes)[0].decode() == after


def test_a_prefix_is_judged_only_if_all_its_rules_ran(tmp_path: Path) -> None:
    text = "x = 1  # devlint: ignore[DEV1]\n"
    assert shown(fakes.check_text(tmp_path, text)) == [("DEV001", 1)]
    assert shown(fakes.check_text(tmp_path, text, ignore=("DEV102",))) == []
