"""The flake8 plugin, with the real flake8."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from fakes import Tree

pytest.importorskip("flake8")

MIXED = """\
import torch

a = torch.ones(3).cuda()
b = torch.ones(3, device="cpu")
print(a + b)
"""
SETTINGS = "[flake8]\nselect = DEV\n"
INSTALLED = any(found.name == "DEV" for found in entry_points(group="flake8.extension"))
LOCAL = (
    ""  # an installed devlint is there already; a second entry would say everything twice
    if INSTALLED
    else "[flake8:local-plugins]\nextension =\n    DEV = devlint.flake8_plugin:Plugin\n"
)
ENABLED = f"{SETTINGS}enable-extensions = DEV\n{LOCAL}"


def flake8(tree: Tree, files: dict[str, str], *arguments: str, stdin: str = "") -> list[str]:
    """The lines that flake8 prints in a folder with these files."""
    root = tree(files)
    command = [sys.executable, "-m", "flake8", "--config", "flake8.ini", *arguments]
    done = subprocess.run(command, cwd=root, input=stdin, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_findings_are_among_those_of_flake8(tree: Tree) -> None:
    found = flake8(tree, {"flake8.ini": ENABLED, "x.py": MIXED}, "x.py")
    assert [line.split(" ")[:2] for line in found] == [["x.py:5:7:", "DEV101"]]
    assert "`b` is on cpu, `a` on cuda: `+` needs one device; move it" in found[0]


def test_it_is_off_until_it_is_asked_for(tree: Tree) -> None:
    assert flake8(tree, {"flake8.ini": SETTINGS + LOCAL, "x.py": MIXED}, "x.py") == []


def test_standard_input(tree: Tree) -> None:
    found = flake8(tree, {"flake8.ini": ENABLED}, "-", stdin=MIXED)
    assert any("DEV101" in line for line in found)


def test_the_configuration_of_devlint_holds(tree: Tree) -> None:
    files = {"flake8.ini": ENABLED, "x.py": MIXED, "devlint.toml": 'ignore = ["DEV5"]\n'}
    assert [line.split(" ")[1] for line in flake8(tree, files, "x.py")] == ["DEV101"]


def test_a_configuration_that_is_wrong_is_a_finding(tree: Tree) -> None:
    files = {"flake8.ini": ENABLED, "x.py": MIXED, "devlint.toml": "no-such = 1\n"}
    (line,) = flake8(tree, files, "x.py")
    assert line.startswith("x.py:1:1: DEV000 ") and "has no option 'no-such'" in line


def test_a_file_that_does_not_parse_is_flake8s_to_tell(tree: Tree) -> None:
    assert flake8(tree, {"flake8.ini": ENABLED, "x.py": "x = (\n"}, "x.py") == []
