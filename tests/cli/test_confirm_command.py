"""`devlint confirm`: findings of a check put to the test by a run."""

from __future__ import annotations

import json
import subprocess
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

a = torch.ones(3).cuda()
b = torch.ones(3, device="cpu")
if "--mixed" in sys.argv:
    print(a + b)
"""


def devlint(folder: Path, *arguments: str) -> CompletedProcess[str]:
    command = [sys.executable, "-m", "devlint", *arguments]
    return warm_python.run(command, cwd=folder, capture_output=True, text=True)


def check(code: str) -> None:
    """Write the findings of one rule in `x.py` of this folder."""
    arguments = ["check", "x.py", "--select", code, "--format", "json", "-o", "findings.json"]
    assert CliRunner().invoke(main, arguments).exit_code == 1


@pytest.fixture
def checked(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program and the findings in it, which the tests are in."""
    root = tree({"x.py": PROGRAM})
    monkeypatch.chdir(root)
    check("DEV101")
    return root


def test_a_finding_that_happens_is_confirmed_and_exits_with_1(checked: Path) -> None:
    command = ["--virtual", "cuda:2", "--", "python", "x.py", "--mixed"]
    result = devlint(checked, "confirm", "findings.json", *command)
    assert result.returncode == 1
    assert "confirmed" in result.stdout
    assert "x.py:7 DEV101" in result.stdout


def test_a_finding_whose_line_does_not_run_is_not_executed(checked: Path) -> None:
    command = ["--virtual", "cuda:2", "--format", "json", "--", "x.py"]
    result = devlint(checked, "confirm", "findings.json", *command)
    assert result.returncode == 0
    verdicts = [finding["verdict"] for finding in json.loads(result.stdout)["findings"]]
    assert verdicts == ["not executed"]


def test_paths_are_relative_to_a_root_that_can_be_given(checked: Path) -> None:
    (checked / "elsewhere").mkdir()
    result = devlint(
        checked / "elsewhere", "confirm", "../findings.json", "--root", "..",
        "--virtual", "cuda:2", "--", "../x.py", "--mixed",
    )  # fmt: skip
    assert result.returncode == 1
    assert "1 confirmed" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.json", "--", "x.py"], "missing.json: cannot be read: No such file"),
        (["x.py", "--", "x.py"], "x.py: is not JSON"),
        (["findings.json"], "COMMAND"),
        (["findings.json", "--drive", "--", "x.py"], "--drive is for findings without a COMMAND"),
        (["findings.json", "--drive", "--virtual", "cuda:2"], "no --virtual"),
        (["findings.json", "--witnesses", "w", "--", "x.py"], "are options of --drive"),
        (["missing.json", "--drive"], "missing.json: cannot be read: No such file"),
        (["findings.json", "--drive", "--witnesses", "x.py/w"], "cannot be written"),
        (["findings.json", "--", "ls"], "'ls' is not a Python program"),
        (["findings.json", "--virtual", "qpu", "--", "x.py"], "virtual devices 'qpu'"),
    ],
)
@pytest.mark.usefixtures("checked")
def test_what_the_user_has_to_correct_exits_with_2(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, ["confirm", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


DRIVEN = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 3)
        print("spoken")

    def forward(self, x):
        return self.layer(x) + torch.ones(3)
"""


def test_driven_findings_say_aloud_that_code_is_run_and_keep_a_witness(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"x.py": DRIVEN})
    monkeypatch.chdir(root)
    check("DEV102")
    result = devlint(root, "confirm", "--drive", "findings.json", "--witnesses", "kept")
    assert result.returncode == 1
    assert "--drive IMPORTS AND RUNS the project's code, for 1 finding" in result.stderr
    assert "✗ confirmed           x.py:11 DEV102" in result.stdout
    assert "witness: python kept/dev102_x_11.py" in result.stdout
    assert result.stdout.endswith("1 confirmed\n")
    assert "spoken" not in result.stdout
    assert (root / "kept" / "dev102_x_11.py").is_file()


def test_what_a_run_has_decided_is_not_driven(checked: Path) -> None:
    report = json.loads((checked / "findings.json").read_text())
    report["findings"][0].update(verdict="refuted", reason="it ran", evidence=[])
    (checked / "judged.json").write_text(json.dumps(report))
    result = devlint(checked, "confirm", "--drive", "judged.json", "--format", "json")
    assert result.returncode == 0
    assert "for 0 findings" in result.stderr
    assert json.loads(result.stdout) == report


def test_without_torch_it_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from devlint.cli import main\n"
        "main(['confirm', 'findings.json', '--', 'x.py'])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 2
    assert "pip install 'devlint[guard]'" in result.stderr
    assert "Traceback" not in result.stderr
