"""`devlint run`: a program under the guard."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import warm_python
from click.testing import CliRunner
from fakes import Tree

from devlint.cli import main

PROGRAM = """\
import sys
import torch

x = torch.ones(3).cuda()
print(x.device, sys.argv[1:])
sys.exit(len(sys.argv) - 1)
"""


def devlint(folder: Path, *arguments: str) -> CompletedProcess[str]:
    command = [sys.executable, "-m", "devlint", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # the code under test
    return warm_python.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_it_runs_the_program_and_exits_as_it_does(tree: Tree) -> None:
    root = tree({"x.py": PROGRAM})
    result = devlint(root, "run", "--virtual", "cuda:2", "x.py", "--virtual", "mine", "-h")
    assert result.stdout == "cuda:0 ['--virtual', 'mine', '-h']\n"
    assert result.returncode == 3
    assert "x.py:4" in result.stderr


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["-m", "x", "-h", "--virtual"], "cuda:0 ['-h', '--virtual']\n"),
        (["-c", PROGRAM, "a", "-m"], "cuda:0 ['a', '-m']\n"),
        (["python", "-m", "x", "a", "b"], "cuda:0 ['a', 'b']\n"),
    ],
)
def test_modules_and_code_as_the_interpreter_has_them(
    tree: Tree, command: list[str], shown: str
) -> None:
    result = devlint(tree({"x.py": PROGRAM}), "run", "--virtual", "cuda:1", *command)
    assert (result.stdout, result.returncode) == (shown, 2), result.stderr


def test_the_traceback_of_a_refusal_has_no_frames_of_the_guard(tree: Tree) -> None:
    root = tree({"x.py": "import torch\ntorch.ones(2).cuda() + torch.ones(2)\n"})
    result = devlint(root, "run", "--virtual", "cuda:1", "x.py")
    assert result.returncode == 1
    traceback = result.stderr.partition("RuntimeError: Expected all tensors")[0]
    assert 'x.py", line 2' in traceback
    assert "runtime_guard" not in traceback


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
        (["nowhere.py"], "nowhere.py: no such file"),
        (["-m", "no_such_module"], "no module named 'no_such_module'"),
        (["--virtul", "cuda:2", "x.py"], "no such option: --virtul"),
        (["-m"], "-m needs an argument"),
        (["--virtual", "qpu", "x.py"], "virtual devices 'qpu'"),
        (["--report", "out.xyz", "x.py"], "out.xyz"),
        (["--report", "no/such/folder.html", "x.py"], "folder.html: cannot be written"),
    ],
)
def test_what_the_user_has_to_correct_exits_with_2(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tree({"x.py": PROGRAM}))
    result = CliRunner().invoke(main, ["run", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a folder that is in use")
def test_a_program_that_deletes_its_folder_is_reported(tree: Tree) -> None:
    leaving = "import os\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')\n"
    result = devlint(tree({"x.py": leaving + PROGRAM}), "run", "--virtual", "cuda:1", "x.py")
    assert result.returncode == 0, result.stderr
    assert "x.py:8" in result.stderr and "Traceback" not in result.stderr
