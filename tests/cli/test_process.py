"""`devlint check` as a process: it ends at once, and nothing that it has to say is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from devlint.cli import COMMANDS, main

BUG = "import torch\n\nx = torch.ones(3).cuda() + torch.ones(3)\n"
MANY = 300


def check(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "devlint", "check", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_all_of_a_long_report_arrives(tmp_path):
    for number in range(MANY):
        (tmp_path / f"module_{number}.py").write_text(BUG)
    found = check(tmp_path, "--format", "json")
    assert found.returncode == 1
    assert {f["path"] for f in json.loads(found.stdout)["findings"]} == {
        f"module_{number}.py" for number in range(MANY)
    }


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["."], 1, "DEV101"),
        (["--fail-on", "never", "."], 0, "DEV101"),
        (["--no-such-option"], 2, "No such option"),
        (["missing.py"], 3, "missing.py"),
    ],
)
def test_exit_codes(tmp_path, options, code, said):
    (tmp_path / "module.py").write_text(BUG)
    found = check(tmp_path, *options)
    assert found.returncode == code
    assert said in found.stdout + found.stderr


def test_a_reader_that_stops_reading_is_no_crash(tmp_path):
    for number in range(MANY):
        (tmp_path / f"module_{number}.py").write_text(BUG)
    command = [sys.executable, "-m", "devlint", "check", "."]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
    assert "Traceback" not in said
    assert process.returncode != 0


without_folder = pytest.mark.skipif(os.name == "nt", reason="Windows keeps a folder that is in use")


@without_folder
@pytest.mark.parametrize("command", COMMANDS)
def test_in_a_folder_that_was_deleted_every_command_says_so(tmp_path, monkeypatch, command):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    found = CliRunner().invoke(main, [command])
    assert found.exit_code == 2
    assert "perhaps it was deleted" in found.output and "Traceback" not in found.output


@without_folder
def test_there_the_module_says_so_too_and_its_version_yet(tmp_path):
    (tmp_path / "gone").mkdir()
    program = (
        "import os, runpy, sys\n"
        "os.chdir('gone'); os.rmdir('../gone'); sys.path.insert(0, '')\n"  # as `python -m` has it
        "runpy.run_module('devlint', run_name='__main__')\n"
    )

    def said(*arguments):
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    checked = said("check")
    assert checked.returncode == 2
    assert checked.stderr.startswith("Error: the current folder") and not checked.stdout
    (tmp_path / "gone").mkdir()
    version = said("--version")
    assert version.returncode == 0 and version.stdout.startswith("devlint ")
