"""What fixtures claim is what PyTorch does: they run here on two virtual accelerators.

A bad fixture of a family that raises does so on its marked line; no good one raises anything.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import traceback
from pathlib import Path

import pytest
from rule_checking import FIXTURES, expected_lines

pytest.importorskip("torch")

from runtime_guard import virtual_devices

RAISING = ("DEV101", "DEV102", "DEV103", "DEV104", "DEV105", "DEV106", "DEV401")
HIDDEN = {"DEV101/bad_4.py", "DEV401/bad_6.py"}  # an `except` swallows the error
RULE_FIXTURES = FIXTURES / "rules"
BAD = [path for code in RAISING for path in sorted((RULE_FIXTURES / code).glob("bad_*.py"))]
GOOD = [*sorted(RULE_FIXTURES.glob("*/good_*.py")), *sorted(FIXTURES.glob("teaching/good_*.py"))]


def named(path: Path) -> str:
    return path.relative_to(path.parent.parent).as_posix()


def run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(path)])
    with virtual_devices("cuda:2"), contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("path", [path for path in BAD if named(path) not in HIDDEN], ids=named)
def test_a_bad_fixture_raises_on_its_marked_line(path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises((RuntimeError, TypeError)) as raised:
        run(path, monkeypatch)
    frames = traceback.extract_tb(raised.tb)
    lines = {frame.lineno for frame in frames if frame.filename == str(path)}
    assert lines & set(expected_lines(path.read_text(), path.parent.name))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", GOOD, ids=named)
def test_a_good_fixture_runs(path: Path, monkeypatch: pytest.MonkeyPatch):
    run(path, monkeypatch)
