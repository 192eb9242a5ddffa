"""A check from end to end, with a stand-in for inference and rules: see `faking`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import fakes
import libcst as cst
import pytest
from fakes import Tree

from devlint import engine
from devlint.config import Config, Override
from devlint.findings import Confidence, Location, Severity
from devlint.inference.facts import Facts, Site
from devlint.knowledge import Knowledge
from devlint.project import imports
from devlint.project.imports import Importer
from devlint.project.source import ParsedFile
from devlint.report import Report
from devlint.rule import Claim, Note


def places(report: Report) -> list[tuple[str, str, int, int]]:
    return [(f.rule, f.location.path, f.location.line, f.location.column) for f in report.findings]


def messages(report: Report) -> list[tuple[str, int, str]]:
    return [(error.path, error.line, error.message) for error in report.errors]


def test_a_claim_becomes_a_finding_with_places(tree: Tree) -> None:
    root = tree({"pkg/x.py": "\nc = (a +\n     b)\n"})
    (finding,) = fakes.check(root).findings
    assert (finding.rule, finding.name) == ("DEV101", "mixed-device-operation")
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.CERTAIN)
    assert finding.location == Location("pkg/x.py", 2, 6, 3, 7)
    assert [(r.location, r.message) for r in finding.related] == [
        (Location("pkg/x.py", 2, 6, 2, 7), "`a` is on cpu: made here")
    ]
    assert finding.fix is not None
    assert [(e.location.column, e.text) for e in finding.fix.edits] == [(6, "a.to(b.device)")]


def test_findings_are_sorted_by_path_line_column_and_rule(tree: Tree) -> None:
    root = tree({"b.py": "x = a + b\n", "a.py": "sync(); x = a + b\ny = a + b\n"})
    report = fakes.check(root, "b.py", "a.py", min_confidence=Confidence.POSSIBLE)
    assert places(report) == sorted(places(report), key=lambda place: (*place[1:], place[0]))
    assert len(places(report)) == 7


def test_the_same_claim_twice_is_one_finding(tree: Tree) -> None:
    root = tree({"x.py": "a + b\n"})

    def twice(facts: Facts) -> Iterator[Claim]:
        yield from fakes.mixed(facts)
        yield from fakes.mixed(facts)

    rule = fakes.rule("DEV101", "mixed-device-operation", Severity.ERROR, twice)
    report = engine.check([root], Config(root), (rule,), infer=fakes.infer)
    assert len(report.findings) == 1


def test_confidence_below_the_minimum_is_counted_and_not_shown(tree: Tree) -> None:
    root = tree({"x.py": "a + b\n"})
    report = fakes.check(root)
    assert [f.rule for f in report.findings] == ["DEV101"]
    assert report.below_confidence == 1
    report = fakes.check(root, min_confidence=Confidence.POSSIBLE)
    assert [f.rule for f in report.findings] == ["DEV101", "DEV102"]


def test_severity_and_rules_follow_the_configuration_and_its_overrides(tree: Tree) -> None:
    root = tree({"x.py": "sync()\n", "tests/x.py": "sync()\n", "tests/slow/x.py": "sync()\n"})
    report = fakes.check(
        root,
        severity={"DEV3": Severity.WARNING, "DEV303": Severity.ERROR},
        overrides=(
            Override(("tests",), severity={"sync-in-loop": Severity.PERFORMANCE}),
            Override(("tests/slow/**",), ignore=("DEV3",)),
        ),
    )
    assert [(f.location.path, f.severity.value) for f in report.findings] == [
        ("tests/x.py", "performance"),
        ("x.py", "error"),
    ]


def test_the_fingerprint_stays_when_lines_move(tree: Tree) -> None:
    text = "x = a + b\ny = a  +  b\nx = a + b\n"
    root = tree({"x.py": text})
    before = fakes.check(root).findings
    assert len({finding.fingerprint for finding in before}) == 3
    tree({"x.py": "import torch\n\n\nif 1:\n    " + text.replace("\n", "\n    ").rstrip()})
    after = fakes.check(root).findings
    assert [f.fingerprint for f in after] == [f.fingerprint for f in before]


def test_the_fingerprint_does_not_depend_on_what_is_shown(tree: Tree) -> None:
    root = tree({"x.py": "a + b\na + b  # devlint: ignore\na + b\n"})
    shown = {f.location.line: f.fingerprint for f in fakes.check(root).findings}
    tree({"x.py": "a + b\na + b\na + b\n"})
    plain = {f.location.line: f.fingerprint for f in fakes.check(root).findings}
    assert shown[1] == plain[1]


def test_a_trace_may_lead_into_another_file(tree: Tree) -> None:
    root = tree({"main.py": "import other\nmeet(other)\n", "other.py": "\nmade = 1\n"})

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        facts = Facts(parsed)
        facts.budgets_hit.append("gave up")
        parsed.memo["other"] = importer.load("other")
        return facts

    def check(facts: Facts) -> Iterator[Claim]:
        source = facts.source
        assert isinstance(source, ParsedFile)
        other = source.memo["other"]
        if isinstance(other, ParsedFile) and other is not source:
            yield Claim(
                Site(source, source.tree.body[1]),
                Severity.ERROR,
                Confidence.CERTAIN,
                "met",
                trace=(Note(Site(other, other.tree.body[0]), "made here"),),
            )

    rule = fakes.rule("DEV101", "mixed-device-operation", Severity.ERROR, check)
    report = engine.check([root / "main.py"], Config(root), (rule,), infer=infer)
    (finding,) = report.findings
    assert finding.related[0].location == Location("other.py", 2, 1, 2, 9)
    assert report.excerpts == {"main.py": {2: "meet(other)"}, "other.py": {2: "made = 1"}}
    assert report.notes == [("main.py", "gave up")]


def test_files_of_one_package_share_an_importer_and_scripts_elsewhere_do_not(tree: Tree) -> None:
    root = tree({"p/__init__.py": "", "p/a.py": "", "p/q/__init__.py": "", "s/one.py": ""})
    importers: list[tuple[str, ...]] = []

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        importers.append(tuple(root_.name for root_ in importer.roots))
        return Facts(parsed)

    engine.check([root], Config(root), (fakes.MIXED,), infer=infer)
    here = (root.name, "src")
    assert importers == [here, here, here, ("s", *here)]


def test_the_imports_that_were_too_much_are_noted_in_short(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "IMPORT_ALLOWANCE", 0)
    monkeypatch.setattr(imports, "IMPORT_SHARE", 0)
    names = [f"part{number}" for number in range(8)]
    root = tree({"main.py": "", **{f"{name}.py": "import torch\n" for name in names}})

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        assert not any(importer.load(name) for name in names)
        return Facts(parsed)

    report = engine.check([root / "main.py"], Config(root), (fakes.MIXED,), infer=infer)
    said = "imports that were not followed: part0, part1, part2, part3, part4 and 3 more"
    assert report.notes == [("main.py", said)]


# --- what goes wrong ---------------------------------------------------------------------------


def test_each_broken_file_is_an_error_and_the_others_are_checked(tree: Tree) -> None:
    root = tree(
        {
            "good.py": "a + b\n",
            "syntax.py": "x = 1\ndef f(:\n",
            "latin.py": b"x = '\xe9'\n",
            "declared.py": b"# coding: latin-1\nx = '\xe9' ; a + b\n",
            "nul.py": b"x = 1\0",
            "empty.py": "",
            "folder.py/inner.py": "a + b\n",
            "deep.py": "(" * 500 + "a" + ")" * 500,
        }
    )
    (root / "loop.py").symlink_to("loop.py")
    report = fakes.check(root)
    assert report.files == 9
    assert [path for _, path, _, _ in places(report)] == [
        "declared.py", "folder.py/inner.py", "good.py"
    ]  # fmt: skip
    assert messages(report) == [
        ("deep.py", 1, "syntax error: too many nested parentheses"),
        ("latin.py", 1, "is not valid utf-8: byte 0xe9 (invalid continuation byte); a coding line"
         " may name another encoding"),
        ("loop.py", 1, "cannot be read: Too many levels of symbolic links"),
        ("nul.py", 1, "contains a NUL character"),
        ("syntax.py", 2, "syntax error: invalid syntax"),
    ]  # fmt: skip
    assert report.excerpts["syntax.py"] == {2: "def f(:"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("x"), "was not analysed: KeyError: 'x' (test_engine.py:"),
        (RecursionError(), "is too deeply nested to be analysed"),
        (AssertionError("two\nlines"), "AssertionError: two lines"),
        (MemoryError(), "was not analysed: MemoryError"),
    ],
)
def test_a_defect_of_the_inference_is_the_error_of_one_file(
    tree: Tree, error: Exception, words: str
) -> None:
    root = tree({"bad.py": "", "good.py": "a + b\n"})

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        if parsed.path == "bad.py":
            raise error
        return fakes.infer(parsed, importer, knowledge)

    report = engine.check([root], Config(root), fakes.all_rules(), infer=infer)
    ((path, line, message),) = messages(report)
    assert (path, line) == ("bad.py", 1)
    assert words in message
    assert "\n" not in message
    assert len(report.findings) == 1


def test_a_defect_of_a_rule_is_an_error_and_the_other_rules_speak(tree: Tree) -> None:
    root = tree({"x.py": "a + b  # devlint: ignore[DEV102] -- no finding is missed\n"})

    def defective(facts: Facts) -> Iterator[Claim]:
        raise ZeroDivisionError("by zero")
        yield

    rule = fakes.rule("DEV102", "defective", Severity.ERROR, defective)
    rules = (*fakes.all_rules()[:3], rule)
    report = engine.check([root], Config(root), rules, infer=fakes.infer)
    assert [f.rule for f in report.findings] == ["DEV101"], "and the suppression is not judged"
    ((_, _, message),) = messages(report)
    assert message.startswith("rule DEV102 failed: ZeroDivisionError: by zero (test_engine.py:")


def test_a_claim_about_no_place_of_the_file_is_a_defect(tree: Tree) -> None:
    root = tree({"x.py": "x\n"})

    def lost(facts: Facts) -> Iterator[Claim]:
        yield Claim(
            Site(facts.source, cst.Name("x")), Severity.ERROR, Confidence.CERTAIN, "message"
        )

    rule = fakes.rule("DEV101", "lost", Severity.ERROR, lost)
    report = engine.check([root], Config(root), (rule,), infer=fakes.infer)
    assert report.findings == []
    assert messages(report) == [
        ("x.py", 1, "rule DEV101 failed: it claims something of a place not in the file")
    ]


def recursive(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
    """An inference that recurses as deeply as the tree does."""

    def walk(node: cst.CSTNode) -> int:
        return 1 + max((walk(child) for child in node.children), default=0)

    facts = fakes.infer(parsed, importer, knowledge)
    facts.budgets_hit.append(str(walk(parsed.tree)))
    return facts


@pytest.mark.parametrize(
    "text",
    [
        "x = a + b" + " or c" * 1100,
        "x = y" + ".z" * 1100,
        "if x:\n    pass\n" + "elif x:\n    pass\n" * 1100,
        "".join(" " * n + "if x:\n" for n in range(90)) + " " * 90 + "x\n",
        "x = " + "-" * 1000 + "y",
        "f(" * 199 + "a + b" + ")" * 199,
    ],
    ids=["sum", "attributes", "elif", "blocks", "signs", "calls"],
)
def test_deep_code_is_analysed(tree: Tree, text: str) -> None:
    root = tree({"deep.py": text})
    report = engine.check([root], Config(root), fakes.all_rules(), infer=recursive)
    assert messages(report) == []
    assert int(report.notes[0][1]) > 80
    assert len(report.findings) == text.count(" + ")


def test_endless_recursion_is_an_error(tree: Tree) -> None:
    root = tree({"x.py": "", "y.py": "a + b\n"})

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        if parsed.path == "x.py":
            return infer(parsed, importer, knowledge)
        return fakes.infer(parsed, importer, knowledge)

    report = engine.check([root], Config(root), fakes.all_rules(), infer=infer)
    assert messages(report) == [("x.py", 1, "is too deeply nested to be analysed")]
    assert len(report.findings) == 1


def test_the_interpreter_is_left_as_it_was(tree: Tree) -> None:
    root = tree({"x.py": "a + b\n"})
    before, frozen = (sys.getrecursionlimit(), gc.isenabled(), 0), gc.get_freeze_count()
    gc.unfreeze()
    try:
        fakes.check(root)
        assert (sys.getrecursionlimit(), gc.isenabled(), gc.get_freeze_count()) == before
    finally:
        if frozen:
            gc.freeze()


def test_what_somebody_else_keeps_from_being_collected_is_kept(tree: Tree) -> None:
    root = tree({"x.py": "a + b\n"})
    frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        fakes.check(root)
        assert gc.get_freeze_count() > 0
    finally:
        if not frozen:
            gc.unfreeze()


def test_an_interrupt_gets_through(tree: Tree) -> None:
    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        raise KeyboardInterrupt

    root = tree({"x.py": ""})
    with pytest.raises(KeyboardInterrupt):
        engine.check([root], Config(root), (), infer=infer)


def test_progress_is_told_before_each_file_and_at_the_end(tree: Tree) -> None:
    root = tree({"a.py": "", "b.py": ""})
    calls: list[tuple[int, int, str]] = []
    engine.check(
        [root], Config(root), (), infer=fakes.infer, progress=lambda *call: calls.append(call)
    )
    assert calls == [(0, 2, "a.py"), (1, 2, "b.py"), (2, 2, "")]


def test_given_contents_are_checked_in_place_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "unsaved.py"
    report = engine.check(
        [file], Config(tmp_path), fakes.all_rules(), contents={file: b"a + b"}, infer=fakes.infer
    )
    assert places(report) == [("DEV101", "unsaved.py", 1, 1)]


def test_names_longer_than_a_file_name_may_be_are_ordinary_names(tree: Tree) -> None:
    name = "a" * 300
    uses = f"import {name}\nfrom .{name} import x\nfrom {name}.{name} import y\n{name}.f(x, y)\n"
    root = tree({"pkg/__init__.py": "", "pkg/m.py": uses})
    assert engine.check([root], Config(root), ()).errors == []
