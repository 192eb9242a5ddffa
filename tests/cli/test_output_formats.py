"""`devlint check --format` and `--output`: which report goes where."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fakes import Tree

from devlint.cli import main

MIXED = """\
import torch

a = torch.ones(3).cuda()
b = torch.ones(3, device="cpu")
print(a + b)
"""
Run = Callable[..., Result]


@pytest.fixture
def run(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `devlint check …` on one bad file."""
    monkeypatch.chdir(tree({"x.py": MIXED}))

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(main, ["check", "x.py", "--select", "DEV101", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def test_several_formats_in_one_run(run: Run, tmp_path: Path) -> None:
    result = run("--output", "sarif=out.sarif", "--output", "json=out.json", "--format", "concise")
    assert result.exit_code == 1
    assert result.stdout.startswith("x.py:5:7: DEV101 error: ")
    assert json.loads((tmp_path / "out.sarif").read_text())["version"] == "2.1.0"
    assert json.loads((tmp_path / "out.json").read_text())["findings"][0]["rule"] == "DEV101"
    written = [name for name in os.listdir(tmp_path) if not name.startswith(".")]
    assert sorted(written) == ["out.json", "out.sarif", "x.py"]


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("out.sarif", "is not FORMAT=FILE, such as sarif=devlint.sarif"),
        ("sarif=", "is not FORMAT=FILE"),
        ("srif=x", "'srif' is no format: text, concise, "),
        ("srif=x", "did you mean 'sarif'?"),
    ],
)
def test_an_output_that_is_not_understood(run: Run, argument: str, said: str) -> None:
    result = run("--output", argument)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_two_formats_cannot_have_one_file(run: Run) -> None:
    result = run("--output", "json=x", "--output", "sarif=x")
    assert (result.exit_code, "x is given twice" in result.stderr) == (2, True)


def test_a_file_that_cannot_be_written(run: Run) -> None:
    result = run("--output", "json=no/such/folder.json")
    assert result.exit_code == 2
    assert "no/such/folder.json: cannot be written: No such file or directory" in result.stderr


def test_github_actions_gets_annotations_unless_told_otherwise(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert run().stdout.startswith("::error file=x.py,line=5,")
    assert run("--format", "text").stdout.startswith("error[DEV101]")
    run("--output-file", "report.txt")
    assert Path("report.txt").read_text().startswith("error[DEV101]")


def test_a_report_keeps_the_mode_of_the_file_that_it_replaces(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    report.chmod(0o600)
    (tmp_path / "link.json").symlink_to("report.json")
    run("--output", "json=link.json")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert json.loads(report.read_text())["version"] == 1
    assert (tmp_path / "link.json").is_symlink()


def test_a_new_report_is_readable_as_other_files_are(run: Run, tmp_path: Path) -> None:
    run("--output", "json=report.json")
    assert (tmp_path / "report.json").stat().st_mode == (tmp_path / "x.py").stat().st_mode


def test_a_pipe_is_written_to(tree: Tree) -> None:
    root = tree({"x.py": MIXED})
    command = [sys.executable, "-m", "devlint", "check", "--output", "json=/dev/stderr"]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert json.loads(found.stderr)["version"] == 1
    assert "DEV101" in found.stdout
