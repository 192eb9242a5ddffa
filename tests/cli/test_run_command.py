"""`devlint run`: a program under the guard."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from faking import Tree

PROGRAM = """\
import sys
import torch

x = torch.ones(3).cuda()
print(x.device, sys.argv[1:])
sys.exit(len(sys.argv) - 1)
"""


def devlint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "devlint", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_it_runs_the_program_and_exits_as_it_does(tree: Tree) -> None:
    root = tree({"x.py": PROGRAM})
    result = devlint(root, "run", "--virtual", "cuda:2", "x.py", "--virtual", "mine", "-h")
    assert result.stdout == "cuda:0 ['--virtual', 'mine', '-h']\n"
    assert result.returncode == 3
    assert "x.py:4" in result.stderr


def test_a_report_in_a_file(tree: Tree) -> None:
    root = tree({"x.py": PROGRAM})
    result = devlint(root, "run", "--virtual", "cuda:2", "--report", "out.json", "x.py")
    assert result.returncode == 0
    json.loads((root / "out.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["ls"], "'ls' is not a Python program"),
        (["--virtual", "qpu", "x.py"], "virtual devices 'qpu'"),
        (["--report", "out.xyz", "x.py"], "out.xyz"),
        (["--report", "no/such/folder.html", "x.py"], "folder.html: cannot be written"),
    ],
)
def test_what_the_user_has_to_correct_exits_with_2(
    tree: Tree, arguments: list[str], words: str
) -> None:
    result = devlint(tree({"x.py": PROGRAM}), "run", *arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
