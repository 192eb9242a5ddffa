"""Notebooks and scripts of cells on the command line: found, reported by cell, fixed in place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import Tree

from devlint.cli import main

Run = Callable[..., Result]
MAKE = ["%matplotlib inline\n", "import torch\n", 'device = torch.device("cuda")\n']
MEET = [
    "a = torch.ones(3, device=device)\n",
    'b = torch.ones(3, device="cpu")\n',
    "%time c = a + b",
]
MEETING = {"rule": "DEV101", "path": "x.ipynb", "cell": 3, "line": 3, "column": 11}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(main, ["check", *arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def notebook(*cells: list[str], **metadata: Any) -> str:
    whole = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# A notebook"]},
            *(
                {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [],
                 "source": cell}
                for cell in cells
            ),
        ],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }  # fmt: skip
    return json.dumps(whole, indent=1) + "\n"


def meetings(result: Result) -> list[dict[str, Any]]:
    found = json.loads(result.stdout)["findings"]
    return [
        {key: finding[key] for key in MEETING} for finding in found if finding["rule"] == "DEV101"
    ]


def test_a_bug_across_cells_is_found_at_its_cell_and_line(run: Run, tree: Tree) -> None:
    tree({"x.ipynb": notebook(MAKE, MEET)})
    for arguments in (["x.ipynb"], ["."], []):
        result = run("--format", "json", *arguments)
        assert meetings(result) == [MEETING]
        assert result.exit_code == 1
    text = run("x.ipynb").stdout
    assert "--> x.ipynb:cell 3:3:11\n" in text
    assert "3 | %time c = a + b\n  |           ^^^^^\n" in text


def test_a_fix_is_written_into_the_cell_and_nowhere_else(run: Run, tree: Tree) -> None:
    before = notebook(MAKE, MEET)
    root = tree({"x.ipynb": before})
    run("--select", "DEV101,DEV001", "--fix", "--unsafe-fixes", "x.ipynb")
    assert (root / "x.ipynb").read_text() == before.replace("c = a + b", "c = a + b.to(a.device)")
    assert meetings(run("--format", "json", "x.ipynb")) == []


def test_suppressions_are_added_and_removed_beside_magics(run: Run, tree: Tree) -> None:
    meet = [*MEET[:2], "%time c = a + b\n", "c?\n", "!ls"]
    script = "# %%\n" + "".join(MAKE) + "# %%\n" + "".join(meet)
    root = tree({"x.ipynb": notebook(MAKE, meet), "y.py": script})
    comment = "  # devlint: ignore[DEV101] -- to be mended"
    run("--select", "DEV101", "--add-ignores", "to be mended", "x.ipynb", "y.py")
    assert (root / "y.py").read_text() == script.replace("a + b", f"a + b{comment}")
    assert f'"%time c = a + b{comment}\\n"' in (root / "x.ipynb").read_text()
    assert run("--select", "DEV101,DEV001", "x.ipynb", "y.py").exit_code == 0
    for name in ("x.ipynb", "y.py"):
        text = (root / name).read_text()
        (root / name).write_text(text.replace("a + b", "a + a"))
    run("--remove-unused-ignores", "--select", "DEV101", "x.ipynb", "y.py")
    assert (root / "y.py").read_text() == script.replace("a + b", "a + a")
    assert '"%time c = a + a\\n"' in (root / "x.ipynb").read_text()


def test_standard_input_may_be_a_notebook(run: Run) -> None:
    before = notebook(MAKE, MEET)
    result = run(
        "--select",
        "DEV101,DEV001",
        "--fix",
        "--unsafe-fixes",
        "--stdin-filename",
        "x.ipynb",
        "-",
        stdin=before,
    )
    assert result.stdout == before.replace("c = a + b", "c = a + b.to(a.device)")


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ([*MEET[:2], "%time c = a + b  # devlint: ignore[DEV101] -- shown to fail"], 3),
        (["# devlint: ignore-file[DEV101]\n", *MEET], 4),
    ],
)
def test_suppressions_hold_in_cells(run: Run, tree: Tree, cell: list[str], line: int) -> None:
    tree({"x.ipynb": notebook(MAKE, cell)})
    report = json.loads(run("--format", "json", "--show-suppressed", "x.ipynb").stdout)
    suppressed = [(f["cell"], f["line"]) for f in report["suppressed"] if f["rule"] == "DEV101"]
    assert suppressed == [(3, line)]
    assert [f for f in report["findings"] if f["rule"] in ("DEV001", "DEV101")] == []


def test_a_useless_suppression_is_taken_out_of_its_cell(run: Run, tree: Tree) -> None:
    before = notebook(["x = 1  # devlint: ignore[DEV101] -- gone"], ["y = 2\n"])
    root = tree({"x.ipynb": before})
    run("--select", "DEV101,DEV001", "--fix", "--unsafe-fixes", "x.ipynb")
    after = (root / "x.ipynb").read_text()
    assert after == before.replace("x = 1  # devlint: ignore[DEV101] -- gone", "x = 1")


def test_a_broken_cell_is_an_error_and_the_others_are_checked(run: Run, tree: Tree) -> None:
    tree({"x.ipynb": notebook(MAKE, ["x = (\n"], MEET)})
    result = run("--format", "json", "x.ipynb")
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert report["errors"] == [
        {"path": "x.ipynb", "cell": 3, "line": 1, "column": 5,
         "message": "syntax error: '(' was never closed"}
    ]  # fmt: skip
    assert meetings(result) == [{**MEETING, "cell": 4}]


def test_what_is_no_notebook_is_an_error_and_other_files_are_checked(run: Run, tree: Tree) -> None:
    tree({"a.ipynb": "{", "b.ipynb": '{"nbformat": 3}', "x.ipynb": notebook(MAKE, MEET)})
    result = run("--format", "json", ".")
    errors = json.loads(result.stdout)["errors"]
    assert [(error["path"], error["line"], error["column"]) for error in errors] == [
        ("a.ipynb", 1, 2),
        ("b.ipynb", 1, 1),
    ]
    assert meetings(result) == [MEETING] and result.exit_code == 3


def test_a_notebook_of_another_language_is_noted_and_passed_over(run: Run, tree: Tree) -> None:
    tree({"x.ipynb": notebook(["x <- 1"], kernelspec={"language": "R", "name": "ir"})})
    result = run("--verbose", "x.ipynb")
    assert (result.exit_code, result.stdout) == (0, "Checked no files.\n")
    assert "x.ipynb: its kernel runs r, not Python: nothing to check" in result.stderr


SCRIPT = """\
# %% [markdown]
# A script of cells
# %%
!pip install torch
import torch
# %%
%%bash
ls -l
# %%
a = torch.ones(3, device="cuda")
b = torch.ones(3, device="cpu")
%time c = a + b
"""


def test_a_script_of_cells_is_read_across_them_and_fixed(run: Run, tree: Tree) -> None:
    root = tree({"x.py": SCRIPT})
    report = json.loads(run("--format", "json", "x.py").stdout)
    assert report["errors"] == []
    places = [(f["line"], f["column"]) for f in report["findings"] if f["rule"] == "DEV101"]
    assert places == [(12, 11)]
    run("--select", "DEV101,DEV001", "--fix", "--unsafe-fixes", "x.py")
    assert (root / "x.py").read_text() == SCRIPT.replace("c = a + b", "c = a + b.to(a.device)")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("github", "title=DEV101 mixed-device-operation in cell 3"),
        ("gitlab", "DEV101 mixed-device-operation in cell 3: "),
        ("junit", 'name="DEV101 mixed-device-operation at 3:11 in cell 3"'),
        ("sarif", '"name": "cell 3"'),
    ],
)
def test_formats_that_know_no_cells_say_which_one(
    run: Run, tree: Tree, form: str, said: str
) -> None:
    tree({"x.ipynb": notebook(MAKE, MEET)})
    assert said in run("--format", form, "--select", "DEV101", "x.ipynb").stdout


def test_suppressions_are_added_in_the_cell(run: Run, tree: Tree) -> None:
    meet = [*MEET[:2], "c = a + b"]
    before = notebook(MAKE, meet)
    root = tree({"x.ipynb": before})
    run("--select", "DEV101,DEV001", "--add-ignores", "to be mended", "x.ipynb")
    comment = "  # devlint: ignore[DEV101] -- to be mended"
    assert (root / "x.ipynb").read_text() == before.replace("c = a + b", f"c = a + b{comment}")
    assert meetings(run("--format", "json", "x.ipynb")) == []
