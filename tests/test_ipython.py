"""`%load_ext devlint` in a real IPython shell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

MAKE = "a = torch.ones(3, device='cuda')"
MEET = "b = torch.ones(3, device='cpu')\nc = a + b"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.setenv("NO_COLOR", "1")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    run(shell, "%load_ext devlint", "import torch")
    yield shell
    run(shell, "%unload_ext devlint")
    InteractiveShell.clear_instance()


def run(shell: Any, *cells: str, **identity: str) -> None:
    for cell in cells:
        shell.run_cell(cell, store_history=True, **identity)


def test_it_says_what_is_wrong_with_the_cell_that_ran(
    shell: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    run(shell, MAKE)
    assert "DEV101" not in capfd.readouterr().err
    run(shell, MEET)
    said = capfd.readouterr().err
    assert "error[DEV101]" in said
    assert "--> session.ipynb:cell 4:2:5" in said, "the numbers are those of In [4]"
    run(shell, "x = 1")
    assert "DEV101" not in capfd.readouterr().err, "of a cell it is said once"


def test_a_cell_that_runs_again_stands_for_its_newer_text(
    shell: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    run(shell, MAKE, cell_id="first")
    run(shell, MAKE.replace("cuda", "cpu"), cell_id="first")
    capfd.readouterr()
    run(shell, MEET)
    assert "DEV101" not in capfd.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a folder that is in use")
def test_in_a_folder_that_was_deleted_it_says_so(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    run(shell, MAKE)
    said = capfd.readouterr().err
    assert "devlint: the current folder was deleted" in said
    assert "Traceback" not in said


def test_a_cell_that_fails_or_is_no_python_ends_nothing(
    shell: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    run(shell, "1 / 0", "x = (", "%%bash\nfalse", MAKE)
    capfd.readouterr()
    run(shell, MEET)
    said = capfd.readouterr().err
    assert "DEV101" in said and "Traceback (most recent call last)" not in said.split("DEV101")[0]


def test_a_configuration_that_cannot_be_read_is_one_line(
    shell: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "devlint.toml").write_text("no-such-option = 1\n")
    run(shell, "x = 1")
    said = capfd.readouterr().err
    assert said.startswith("devlint: ") and said.count("\n") == 1


def test_it_can_be_ended(shell: Any, capfd: pytest.CaptureFixture[str]) -> None:
    run(shell, "%unload_ext devlint", MAKE)
    capfd.readouterr()
    run(shell, MEET)
    assert "DEV101" not in capfd.readouterr().err
    run(shell, "%load_ext devlint")
