"""`devlint init`: what it writes for a project, and that it asks and keeps what is there."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from fakes import Tree

from devlint.cli import main
from devlint.config import find_config

ROOT = Path(__file__).resolve().parents[2]
MIXED = """\
import torch

print(torch.ones(3, device="cuda") + torch.ones(3, device="cpu"))
"""
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(main, [*arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def test_configuration_hook_and_baseline_that_fit_the_project(tree: Tree, run: Run) -> None:
    root = tree(
        {
            "pyproject.toml": '[project]\nname = "x"',
            ".git/HEAD": "",
            "net/model.py": MIXED,
            "tests/test_model.py": "import torch\n",
            "third_party/other.py": MIXED,
            "setup.py": "",
        }
    )
    result = run("init", "--yes")
    assert result.exit_code == 0, result.output
    assert "4 Python files, 2 of them with PyTorch." in result.stdout
    assert (
        (root / "pyproject.toml").read_text().startswith('[project]\nname = "x"\n\n[tool.devlint]')
    )
    config = find_config(root)
    assert config.paths == ("net", "tests")
    assert config.extend_exclude == ("third_party",)
    (hook,) = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"]
    assert hook["hooks"][0]["entry"] == "devlint check --force-exclude"
    published = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    assert hook["hooks"][0]["types_or"] == published["types_or"], "notebooks, too"
    assert run("check").exit_code == 0, "all is in the baseline"
    assert "net/model.py DEV101 " in (root / ".devlint-baseline").read_text()


def test_what_is_there_is_kept(tree: Tree, run: Run) -> None:
    files = {
        "devlint.toml": 'ignore = ["DEV501"]\n',
        ".git/HEAD": "",
        ".pre-commit-config.yaml": "repos: []  # devlint comes later\n",
        ".devlint-baseline": "",
        "x.py": MIXED,
    }
    root = tree(files)
    assert run("init", "--yes").exit_code == 0
    assert {name: (root / name).read_text() for name in files} == files


@pytest.mark.parametrize("indent", ["", "  "])
def test_a_hook_is_added_to_those_there_are(tree: Tree, run: Run, indent: str) -> None:
    entry = "- repo: local\n  hooks:\n  - id: a\n    name: a\n    entry: a\n    language: system\n"
    text = "repos:\n" + "".join(f"{indent}{line}\n" for line in entry.splitlines())
    root = tree({".git/HEAD": "", ".pre-commit-config.yaml": f"# ours\n{text}"})
    run("init", "--yes")
    after = (root / ".pre-commit-config.yaml").read_text()
    assert after.startswith(f"# ours\n{text}")
    first, second = yaml.safe_load(after)["repos"]
    assert [repo["hooks"][0]["id"] for repo in (first, second)] == ["a", "devlint"]


def test_a_hook_that_fits_nowhere_is_only_shown(tree: Tree, run: Run) -> None:
    text = "repos:\n- repo: local\n  hooks: []\nfail_fast: true\n"
    root = tree({".git/HEAD": "", ".pre-commit-config.yaml": text})
    result = run("init", "--yes")
    assert "yourself, under `repos:`" in result.stdout
    assert (root / ".pre-commit-config.yaml").read_text() == text


def test_without_a_terminal_nothing_is_asked_and_nothing_is_done(tree: Tree, run: Run) -> None:
    root = tree({"x.py": MIXED})
    result = run("init")
    assert (result.exit_code, "`devlint init --yes`" in result.stderr) == (2, True)
    assert os.listdir(root) == ["x.py"]


def test_a_pyproject_that_is_broken_is_said(tree: Tree, run: Run) -> None:
    tree({"pyproject.toml": "[project\n"})
    result = run("init", "--yes")
    assert (result.exit_code, "is not valid TOML" in result.stderr) == (2, True)


def test_in_a_terminal_each_file_is_asked_for(tree: Tree) -> None:
    root = tree({"x.py": MIXED, ".git/HEAD": ""})
    ours, theirs = pty.openpty()
    os.write(ours, b"y\nn\ny\n")
    done = subprocess.run(
        [sys.executable, "-m", "devlint", "init"],
        cwd=root, stdin=theirs, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    assert sorted(set(os.listdir(root)) - {".git"}) == [".devlint-baseline", "devlint.toml", "x.py"]
