"""The checked project is untrusted: no command imports or runs any of its code."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUG = "import torch\n\nx = torch.ones(3).cuda() + torch.ones(3)\n"
TRAP = """\
import os, sys
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "RAN"), "a") as log:
    print(__name__, sys.argv, file=log)
"""
PACK = "[devlint.rules]\ntrap = trap_pack\n"


def loaded_by_python_itself() -> set[str]:
    """The modules that `python -m` has loaded before the first line of any program."""
    code = "import runpy, sys; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    return {name.partition(".")[0] for name in found.stdout.split()}


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A project with a module for every name that devlint might import, each of which tells."""
    names = {*sys.stdlib_module_names, *packages_distributions(), "devlint_rules", "trap_pack"}
    names |= {"sitecustomize", "usercustomize", "conftest", "setup", "pygls", "IPython"}
    for name in names - loaded_by_python_itself() - {"devlint"}:
        if name.isidentifier():
            (tmp_path / f"{name}.py").write_text(TRAP)
    pack = tmp_path / "trap-1.0.dist-info"
    pack.mkdir()
    (pack / "METADATA").write_text("Metadata-Version: 2.1\nName: trap\nVersion: 1.0\n")
    (pack / "entry_points.txt").write_text(PACK)
    # with a `torch.py` beside it torch is no torch: what is left is possible
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nmin-confidence = "possible"\n')
    (tmp_path / "model.py").write_text(BUG)
    return tmp_path


def run(folder: Path, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "rules")))
    return subprocess.run(
        [sys.executable, "-m", "devlint", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        input=stdin,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["check", "."], 1),
        (["check", "--fix", "model.py"], 1),
        (["check", "--diff", "model.py"], 0),
        (["check", "--stdin-filename", "model.py", "-"], 1),
        (["stats", "model.py"], 0),
        (["baseline", "create", "model.py"], 0),
        (["config"], 0),
        (["rules"], 0),
        (["explain", "DEV101"], 0),
    ],
)
def test_no_module_of_the_folder_is_imported(trapped: Path, command: list[str], code: int) -> None:
    result = run(trapped, *command, stdin=BUG)
    assert not (trapped / "RAN").exists(), (trapped / "RAN").read_text()
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr


def test_the_traps_work(trapped: Path) -> None:
    subprocess.run([sys.executable, "-c", "import click, trap_pack"], cwd=trapped)
    assert len((trapped / "RAN").read_text().splitlines()) == 2


def test_the_analyser_executes_no_text_unpickles_nothing_and_uses_no_shell() -> None:
    for package in ("devlint", "rules/devlint_rules"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                assert not set(imported(node)) & {"pickle", "marshal", "shelve", "dill"}, file
                if isinstance(node, ast.Call):
                    called = ast.unparse(node.func)
                    assert called not in {"eval", "exec", "compile", "os.system", "os.popen"}, file
                    assert not any(keyword.arg == "shell" for keyword in node.keywords), file


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield (node.module or "").partition(".")[0]
