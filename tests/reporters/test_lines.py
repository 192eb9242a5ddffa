"""The formats of lines: concise, GitHub's annotations, and the one for language models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fakes import Tree
from sample_reports import hostile, ordinary

from devlint.findings import Location
from devlint.reporters import agent, concise, github
from devlint.reporters.options import Options


def test_concise_is_a_line_a_finding_and_a_summary(tree: Tree, tmp_path: Path) -> None:
    report = ordinary(tree)
    assert concise.render(report, Options(base=tmp_path / "pkg")) == (
        "a.py:2:5: DEV101 error: `a` is on cpu, `b` is on cuda; move `a` first [fix]\n"
        "a.py:3:1: DEV303 performance: waits for the device\n"
        f"{tmp_path}/b.py:1:5: error: syntax error: '(' was never closed\n"
        "Found 1 error and 1 performance finding in 1 of 2 files (1 below --min-confidence)."
        " 1 can be fixed with --fix. 1 file could not be checked.\n"
    )
    assert concise.render(report, Options(summary=False)).count("\n") == 3
    assert "\x1b[" in concise.render(report, Options(color=True))


def test_an_annotation_has_its_place_in_the_repository_and_the_trace(tree: Tree) -> None:
    report = ordinary(tree)
    options = Options(repository=report.root.parent, summary=False)
    folder = report.root.name
    assert github.render(report, options) == (
        f"::error file={folder}/pkg/a.py,line=2,endLine=2,col=5,endColumn=10,"
        "title=DEV101 mixed-device-operation::`a` is on cpu, `b` is on cuda; move `a` first"
        f"%0A{folder}/pkg/a.py:2: `a` is on cpu: made here\n"
        f"::notice file={folder}/pkg/a.py,line=3,endLine=3,col=1,endColumn=7,"
        "title=DEV303 sync-in-loop::waits for the device\n"
        f"::error file={folder}/b.py,line=1,title=devlint%3A not checked::"
        "syntax error: '(' was never closed\n"
    )


def test_an_annotation_over_several_lines_has_no_columns(tree: Tree) -> None:
    report = ordinary(tree)
    finding = report.findings[0]
    report.findings = [replace(finding, location=Location("pkg/a.py", 2, 5, 3, 1))]
    assert "line=2,endLine=3,title=" in github.render(report, Options())


def test_no_text_of_the_project_ends_an_annotation_or_begins_one() -> None:
    lines = github.render(hostile(), Options(summary=False)).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error"]
    for line in lines:
        properties = line.split("::")[1]
        assert properties.count(",") + 1 == properties.count("=")


def test_a_language_model_is_told_place_reason_and_edit(tree: Tree) -> None:
    assert agent.render(ordinary(tree), Options()) == (
        "pkg/a.py:2:5 DEV101 (error, certain): `a` is on cpu, `b` is on cuda\n"
        "  code: x = a + b\n"
        "  why: pkg/a.py:2:5 `a` is on cpu: made here\n"
        "  do: move `a` first\n"
        "  edit (safe) at line 2:\n"
        "  - x = a + b\n"
        "  + x = a.to(b.device) + b\n"
        "pkg/a.py:3:1 DEV303 (performance, likely): waits for the device\n"
        "  code: sync()\n"
        "b.py:1:5 not checked: syntax error: '(' was never closed\n"
        "1 error and 1 performance finding in 2 files\n"
        "1 of them: devlint check --fix\n"
        "more about a rule: devlint explain DEV101\n"
    )
