"""`devlint test`: its options, and how it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import warm_python
from click.testing import CliRunner
from fakes import Tree

from devlint.cli import main

pytest.importorskip("torch")

from runtime_guard.commands import suite

CODE = "import torch\n\ndef shifted(x):\n    return x + torch.ones(2)\n"
TEST = """\
import torch
from code_of_mine import shifted

def test_shifted():
    assert shifted(torch.ones(2)).sum() == 4
"""


def devlint(folder: Path, *arguments: str) -> CompletedProcess[str]:
    command = [sys.executable, "-m", "devlint", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # the code under test
    return warm_python.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_what_follows_the_dashes_is_pytests(tree: Tree) -> None:
    root = tree({"code_of_mine.py": CODE, "test_code.py": TEST})
    result = devlint(root, "test", "--virtual", "2xcuda", "--", "-k", "shifted")
    assert result.returncode == 1, result.stderr
    heading, _, line, *_ = result.stdout.splitlines()
    assert (heading, line) == ("in the code", "code_of_mine.py:4  mixed-device")
    assert "(devlint explain DEV102)" in result.stdout
    assert result.stdout.endswith("1 test fails on virtual 2xcuda alone, by 1 cause\n")
    assert result.stderr.splitlines()[0] == "devlint test: on the CPU: 1 passed"


def test_a_refusal_shows_what_pytest_said(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree({}))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(suite, "subprocess", warm_python)
    result = CliRunner().invoke(main, ["test", "nothing_here.py"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "file or directory not found: nothing_here.py" in result.stderr
    assert result.stderr.endswith("Error: pytest refuses its arguments\n")
