"""Fixes: applied whole or not at all, never overlapping, atomically, and only once."""

from __future__ import annotations

import codecs
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import fakes
import pytest
from fakes import Tree

from devlint import engine, fixes
from devlint.config import Config
from devlint.findings import Applicability, Confidence, Edit, Fix, Location, Severity
from devlint.fixes import Change, Fixed, FixingError, chosen, fix_bytes, unified_diff, write
from devlint.inference.facts import Facts
from devlint.project.python_text import python_text
from devlint.report import Report
from devlint.rule import Claim, Replacement

FILE = Path("x.py")


def edit(line: int, column: int, end_column: int, text: str, end_line: int | None = None) -> Edit:
    return Edit(Location("x.py", line, column, end_line or line, end_column), text)


def one(*edits: Edit) -> Fix:
    return Fix(Applicability.SAFE, edits)


def apply(text: str, fixes: list[Fix]) -> tuple[str, int]:
    source = python_text(FILE, text.encode())
    edits, applied = chosen(source, fixes)
    return source.edited(edits).written, len(applied)


@pytest.mark.parametrize(
    ("fixes", "text", "count"),
    [
        ([one(edit(1, 1, 2, "x"))], "x b\nc d\n", 1),
        ([one(edit(1, 1, 2, "x"), edit(2, 3, 4, "y"))], "x b\nc y\n", 1),
        ([one(edit(1, 1, 1, "x "))], "x a b\nc d\n", 1),
        ([one(edit(1, 1, 4, "x")), one(edit(1, 3, 4, "y"))], "x\nc d\n", 1),
        ([one(edit(1, 1, 2, "x")), one(edit(1, 1, 2, "x"), edit(1, 3, 4, "y"))], "x y\nc d\n", 2),
        ([one(edit(1, 1, 2, "x")), one(edit(1, 1, 2, "z"), edit(1, 3, 4, "y"))], "x b\nc d\n", 1),
        ([one(edit(1, 1, 2, "x")), one(edit(1, 2, 3, "-"))], "x-b\nc d\n", 2),
        ([one(edit(1, 3, 2, ";", end_line=2))], "a ; d\n", 1),
        ([one(edit(1, 1, 4, "x"), edit(1, 3, 4, "y"))], "a b\nc d\n", 0),
        ([], "a b\nc d\n", 0),
    ],
)
def test_edits_are_applied_unless_they_overlap(fixes: list[Fix], text: str, count: int) -> None:
    assert apply("a b\nc d\n", fixes) == (text, count)


def test_encoding_mark_and_line_ends_stay() -> None:
    fix = one(edit(2, 1, 2, "if b:\n    c"))
    assert fix_bytes(FILE, codecs.BOM_UTF8 + "'é'\r\na\r\n".encode(), [fix]) == (
        codecs.BOM_UTF8 + "'é'\r\nif b:\r\n    c\r\n".encode(),
        [0],
    )
    latin = b"# coding: latin-1\na; '\xe9'\n"
    fixed = latin.replace(b"a;", b"b;"), [0]
    assert fix_bytes(FILE, latin, [one(edit(2, 1, 2, "b"))]) == fixed


def test_a_fix_that_the_encoding_cannot_write_is_left_out() -> None:
    data = b"# coding: ascii\na\n"
    assert fix_bytes(FILE, data, [one(edit(2, 1, 2, "δ"))]) == (data, [])


def test_a_fix_that_would_not_parse_is_left_out_and_the_others_are_applied() -> None:
    broken, sound = one(edit(1, 1, 2, "(")), one(edit(2, 1, 2, "d"))
    assert fix_bytes(FILE, b"a\nc\n", [broken, sound]) == (b"a\nd\n", [1])
    assert fix_bytes(FILE, b"a\nc\n", [broken]) == (b"a\nc\n", [])


# --- with a check ------------------------------------------------------------------------------


def mend(facts: Facts) -> Iterator[Claim]:
    """Claims `a + …` while the left side is `a`, and mends it; `b + …` only unsafely."""
    for meeting in facts.meetings:
        name = getattr(meeting.left.site.node, "value", "")
        if name in ("a", "b"):
            yield Claim(
                meeting.site,
                Severity.ERROR,
                Confidence.CERTAIN,
                "mixed",
                fix=(Replacement(meeting.left.site, f"{name}.cuda()"),),
                applicability=Applicability.SAFE if name == "a" else Applicability.UNSAFE,
            )


RULE = fakes.rule("DEV101", "mixed-device-operation", Severity.ERROR, mend)


def run(root: Path, unsafe: bool = False) -> Fixed:
    return fixes.fix([root], Config(root), (RULE,), unsafe=unsafe, infer=fakes.infer)


def test_safe_fixes_are_made_in_memory_and_the_rest_is_reported(tree: Tree) -> None:
    root = tree({"x.py": "x = a + c\ny = b + c\n", "y.py": "z = 1\n"})
    fixed = run(root)
    assert fixed.count == 1
    assert fixed.changes == [
        Change(root / "x.py", b"x = a + c\ny = b + c\n", b"x = a.cuda() + c\ny = b + c\n")
    ]
    assert [f.location.line for f in fixed.report.findings] == [2]
    assert fixed.report.files == 2
    assert (root / "x.py").read_text() == "x = a + c\ny = b + c\n"


def test_unsafe_fixes_only_when_asked_for(tree: Tree) -> None:
    fixed = run(tree({"x.py": "x = a + c\ny = b + c\n"}), unsafe=True)
    assert fixed.count == 2
    assert fixed.report.findings == []


def test_fixing_what_is_fixed_changes_nothing(tree: Tree) -> None:
    root = tree({"x.py": "x = a + c\n"})
    for change in run(root).changes:
        write(change)
    assert run(root).changes == []


def test_suppressed_findings_are_not_fixed(tree: Tree) -> None:
    root = tree({"x.py": "x = a + c  # devlint: ignore[DEV101]\n"})
    assert run(root).changes == []


def test_a_fix_that_calls_for_itself_is_not_made(tree: Tree) -> None:
    def grow(facts: Facts) -> Iterator[Claim]:
        for meeting in facts.meetings:
            replacement = Replacement(meeting.left.site, "(a - a)")
            yield Claim(
                meeting.site, Severity.ERROR, Confidence.CERTAIN, "grows", fix=(replacement,)
            )

    rule = fakes.rule("DEV101", "grow", Severity.ERROR, grow)
    root = tree({"x.py": "a + b\n"})
    fixed = fixes.fix([root], Config(root), (rule,), infer=fakes.infer)
    assert (fixed.changes, fixed.count) == ([], 0)
    assert [f.location.line for f in fixed.report.findings] == [1]
    assert any("not fixed" in note for _, note in fixed.report.notes)


def test_a_fix_that_leads_to_another_finding_is_not_made_and_others_are(tree: Tree) -> None:
    def claims(facts: Facts) -> Iterator[Claim]:
        for meeting in facts.meetings:
            name = getattr(meeting.left.site.node, "value", "")
            new = {"a": "worse", "b": "better"}.get(name)
            if name == "worse" or new:
                fix = (Replacement(meeting.left.site, new),) if new else ()
                yield Claim(meeting.site, Severity.ERROR, Confidence.CERTAIN, name, fix=fix)

    first = fakes.rule("DEV101", "first", Severity.ERROR, lambda f: _only(claims(f), "ab"))
    second = fakes.rule("DEV102", "second", Severity.ERROR, lambda f: _only(claims(f), ["worse"]))
    root = tree({"x.py": "a + c\nb + c\n", "y.py": "b + c\n"})
    fixed = fixes.fix([root], Config(root), (first, second), infer=fakes.infer)
    assert [change.after for change in fixed.changes] == [b"a + c\nbetter + c\n", b"better + c\n"]
    assert [(f.rule, f.location.line) for f in fixed.report.findings] == [("DEV101", 1)]
    assert ("x.py", "DEV101 in line 1 is not fixed: more would be found") in fixed.report.notes


@pytest.mark.parametrize("unsafe", [False, True])
def test_what_a_fix_leaves_may_be_lighter_only_where_unsafe_fixes_are_asked_for(
    tree: Tree, unsafe: bool
) -> None:
    def claims(facts: Facts) -> Iterator[Claim]:
        for meeting in facts.meetings:
            if getattr(meeting.left.site.node, "value", "") == "a":
                fix = (Replacement(meeting.left.site, "slow"),)
                yield Claim(meeting.site, Severity.ERROR, Confidence.CERTAIN, "wrong", fix=fix)

    def remarks(facts: Facts) -> Iterator[Claim]:
        for meeting in facts.meetings:
            if getattr(meeting.left.site.node, "value", "") == "slow":
                yield Claim(meeting.site, Severity.PERFORMANCE, Confidence.CERTAIN, "slow")

    first = fakes.rule("DEV101", "first", Severity.ERROR, claims)
    second = fakes.rule("DEV304", "second", Severity.PERFORMANCE, remarks)
    root = tree({"x.py": "a + c\n"})
    fixed = fixes.fix([root], Config(root), (first, second), unsafe=unsafe, infer=fakes.infer)
    assert [f.rule for f in fixed.report.findings] == (["DEV304"] if unsafe else ["DEV101"])


def _only(claims: Iterator[Claim], messages: Sequence[str]) -> Iterator[Claim]:
    return (claim for claim in claims if claim.message in messages)


def test_a_file_that_changes_between_check_and_fix_is_left(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"x.py": "x = a + c\n"})

    def checked_and_changed(*arguments: Any, **options: Any) -> Report:
        report = check(*arguments, **options)
        (root / "x.py").write_text("# a line more\nx = a + c\n")
        return report

    check = engine.check
    monkeypatch.setattr(engine, "check", checked_and_changed)
    fixed = run(root)
    assert fixed.changes == []
    assert [e.message for e in fixed.report.errors] == [
        "has changed since it was checked: not fixed"
    ]


# --- writing -----------------------------------------------------------------------------------


def test_a_file_is_replaced_with_its_mode_and_leaves_nothing_behind(tree: Tree) -> None:
    root = tree({"x.py": "a"})
    (root / "x.py").chmod(0o750)
    write(Change(root / "x.py", b"a", b"b"))
    assert (root / "x.py").read_bytes() == b"b"
    assert stat.S_IMODE((root / "x.py").stat().st_mode) == 0o750
    assert os.listdir(root) == ["x.py"]


def test_a_link_stays_a_link(tree: Tree) -> None:
    root = tree({"real/x.py": "a"})
    (root / "x.py").symlink_to("real/x.py")
    write(Change(root / "x.py", b"a", b"b"))
    assert (root / "x.py").is_symlink()
    assert (root / "real" / "x.py").read_bytes() == b"b"


def test_a_file_with_other_names_or_none_to_write_to_is_left(tree: Tree) -> None:
    root = tree({"x.py": "a", "y.py": "a"})
    os.link(root / "x.py", root / "z.py")
    with pytest.raises(FixingError, match="hard links"):
        write(Change(root / "x.py", b"a", b"b"))
    (root / "y.py").chmod(0o444)
    with pytest.raises(FixingError, match="is read-only"):
        write(Change(root / "y.py", b"a", b"b"))
    assert {(root / name).read_bytes() for name in ("x.py", "y.py", "z.py")} == {b"a"}


def test_a_name_as_long_as_names_may_be_is_no_hindrance(tree: Tree) -> None:
    name = "x" * 250 + ".py"
    root = tree({name: "a"})
    write(Change(root / name, b"a", b"b"))
    assert (root / name).read_bytes() == b"b"


def test_a_link_out_of_the_project_is_checked_and_not_fixed(tree: Tree) -> None:
    root = tree({"elsewhere/x.py": "x = a + c\n", "project/y.py": "x = a + c\n"})
    (root / "project" / "x.py").symlink_to(root / "elsewhere" / "x.py")
    fixed = run(root / "project")
    assert [change.file.name for change in fixed.changes] == ["y.py"]
    assert [(e.path, e.message) for e in fixed.report.errors] == [
        ("x.py", "is a link that leads out of the project: not fixed")
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_line_it_leaves_the_old_file_or_the_new_one(tree: Tree) -> None:
    """A child process dies at the first line of `write`, at the second, and so on."""
    old, new = b"old\n" * 10_000, b"new\n" * 10_000
    left = set()
    for deadline in range(1, 200):
        root = tree({"x.py": old})
        child = os.fork()
        if child == 0:
            _die_at_line(deadline)
            write(Change(root / "x.py", old, new))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        content = (root / "x.py").read_bytes()
        assert content in (old, new)
        left.add(content)
        others = [name for name in os.listdir(root) if name != "x.py"]
        assert all(name.startswith(".x.py.") and name.endswith(".tmp") for name in others)
        for name in others:
            (root / name).unlink()
        if os.waitstatus_to_exitcode(status) == 0:
            break
    assert left == {old, new} and deadline > 10


def _die_at_line(deadline: int) -> None:
    """End this process when so many lines of the module under test have run."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != fixes.__file__:
            return None
        lines += event == "line"
        if lines >= deadline:
            os._exit(9)
        return trace

    sys.settrace(trace)


@pytest.mark.parametrize(
    "text",
    [
        b"x = 1\r\ny = a + c\r\n",
        b"x = 1\ry = a + c\r",
        b"x = 1\r\n\x0cy = a + c\n",
        codecs.BOM_UTF8 + b"y = a + c",
        b"if 1:\n\ty = a + c\n\tz = 2\t\n\n\n",
        b"# coding: latin-1\ny = a + c, '\xe9'\n",
        b"# coding: cp1251\ny = a + c, '\xe9'  \\\n\n",
        "y = a + c, 'δ\u2028\u00a0'\n".encode(),
        b"y = a + c\n\x0c\n# end\x0c",
    ],
)
def test_all_but_the_fix_stays_byte_for_byte(tree: Tree, text: bytes) -> None:
    root = tree({"x.py": text})
    (change,) = run(root).changes
    assert change.after == text.replace(b"a + c", b"a.cuda() + c")


def test_a_file_that_has_changed_meanwhile_is_left(tree: Tree) -> None:
    root = tree({"x.py": "new"})
    with pytest.raises(FixingError, match="has changed since it was checked"):
        write(Change(root / "x.py", b"old", b"fixed"))
    assert (root / "x.py").read_bytes() == b"new"


def test_a_failure_while_writing_leaves_the_file(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"x.py": "a"})

    def refuse(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FixingError, match="cannot be written, not fixed: No space left"):
        write(Change(root / "x.py", b"a", b"b"))
    assert os.listdir(root) == ["x.py"]
    assert (root / "x.py").read_bytes() == b"a"


def test_a_diff_says_what_would_change() -> None:
    diff = unified_diff(Change(Path("/p/x.py"), b"a\nb", b"a\nc"), "x.py")
    assert diff == (
        "--- x.py\n+++ x.py\n@@ -1,2 +1,2 @@\n a\n"
        "-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )


ODD_NAMES = (
    "a folder/two words.py",
    "größe.py",
    "\x1b[31m\x9b.py",
    "\u202egnp.py",
    'qu"ote.py',
    "back\\slash.py",
    "x.py\n+++ ..",  # ends the line of its header, and begins another
    "x\t2026.py",
    os.fsdecode(b"latin-\xe9.py"),
)


@pytest.mark.skipif(os.name == "nt", reason="such names are none on Windows")
@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_git_applies_a_diff_whatever_the_file_is_called(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"a\nb\n")
    diff = unified_diff(Change(file, b"a\nb\n", b"a\nc\n"), name)
    head = diff.split("\n")[:2]
    assert [line[:4] for line in head] == ["--- ", "+++ "]
    assert all(line.removesuffix("\t").isprintable() for line in head)
    subprocess.run(["git", "apply", "-p0"], input=diff.encode(), cwd=tmp_path, check=True)
    assert file.read_bytes() == b"a\nc\n"


def test_a_name_with_a_space_ends_at_a_tab_as_gnu_patch_wants_it() -> None:
    diff = unified_diff(Change(Path("/p/x y.py"), b"a", b"b"), "x y.py")
    assert diff.startswith("--- x y.py\t\n+++ x y.py\t\n@@")
