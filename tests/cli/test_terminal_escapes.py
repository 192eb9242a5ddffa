"""What a project says to the terminal is shown, not sent: in paths, source, configuration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devlint.reporters.formats import FORMATS

ROOT = Path(__file__).resolve().parent.parent.parent
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m"
FOLDER = f"a{EVIL}b"
BUG = f"""\
import torch

a = torch.ones(3, device="cuda")  # {EVIL}
b = torch.ones(3, device="cpu")  # devlint: ignore[{EVIL}]
print(a + b, "{EVIL}")
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="such names are none on Windows")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.devlint]\n")
    (folder / "x.py").write_text(BUG)
    (folder / f"{EVIL}.py").write_text(f"def f(:  # {EVIL}\n")
    (folder / f"{EVIL}.ipynb").write_text("{")
    return tmp_path


def said(project: Path, *arguments: str) -> bytes:
    result = subprocess.run(
        [sys.executable, "-m", "devlint", *arguments],
        cwd=project,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules"))),
            "NO_COLOR": "1",
        },
        capture_output=True,
    )
    return result.stdout + result.stderr


def sends(output: bytes) -> bool:
    """Whether there is a control character in it beside tabs and line ends."""
    text = output.decode("utf-8", "surrogateescape")
    return any((ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 for c in text)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_no_report_sends_them(project: Path, form: str) -> None:
    output = said(project, "check", "--format", form, "--show-suppressed", "--verbose", ".")
    assert b"DEV101" in output
    assert not sends(output)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", f"{FOLDER}/missing.py"),
        ("check", f"{FOLDER}/{EVIL}.py"),
        ("check", "--fix", "--unsafe-fixes", "--verbose", "."),
        ("stats", "."),
    ],
)
def test_no_message_sends_them(project: Path, arguments: tuple[str, ...]) -> None:
    assert not sends(said(project, *arguments))


def test_no_complaint_about_a_configuration_sends_them(project: Path) -> None:
    (project / FOLDER / "devlint.toml").write_text("no-such-option = 1\n")
    output = said(project, "check", FOLDER)
    assert b"no-such-option" in output and not sends(output)


def test_a_patch_is_exact_in_a_file_and_shown_on_a_terminal(project: Path) -> None:
    pty = pytest.importorskip("pty")
    patch = said(project, "check", "--diff", "--unsafe-fixes", f"{FOLDER}/x.py")
    assert EVIL.encode() in patch
    terminal, child_side = pty.openpty()
    command = [sys.executable, "-m", "devlint", "check", "--diff", "--unsafe-fixes", FOLDER]
    path = os.pathsep.join((str(ROOT), str(ROOT / "rules")))
    environment = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=child_side, stderr=subprocess.DEVNULL
    ):
        os.close(child_side)
        shown = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # as Linux says that the other side is closed
                break
            if not part:
                break
            shown += part
    os.close(terminal)
    assert b"torch.ones" in shown
    assert not sends(shown.replace(b"\r\n", b"\n"))
