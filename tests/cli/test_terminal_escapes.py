"""What a project says to the terminal is shown, not sent: in paths, source, configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from devlint.cli import main
from devlint.reporters.formats import FORMATS
from devlint.terminal import show

ROOT = Path(__file__).resolve().parent.parent.parent
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m"
# a name can also end a line, turn the direction of writing, and be no UTF-8
FOLDER = f"a{EVIL}\nforged\u202e\udc80b"
SHOWN = show(FOLDER).encode("utf-8", "backslashreplace").decode()
BUG = f"""\
import torch

a = torch.ones(3, device="cuda")  # {EVIL}
b = torch.ones(3, device="cpu")  # devlint: ignore[{EVIL}]
print(a + b, b.device, "{EVIL}")
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="such names are none on Windows")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the tests are in, of a project with such names and such code."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / FOLDER
    folder.mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.devlint]\n")
    (folder / "x.py").write_text(BUG)
    (folder / f"{EVIL}.py").write_text(f"def f(:  # {EVIL}\n")
    (folder / f"{EVIL}.ipynb").write_text("{")
    return tmp_path


def said(*arguments: str) -> bytes:
    """What a command writes to both its outputs."""
    result = CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, prog_name="devlint")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.stdout_bytes + result.stderr_bytes


def sends(output: bytes) -> bool:
    """Whether there is a control character in it beside tabs and line ends."""
    text = output.decode("utf-8", "surrogateescape")
    return (
        any((ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 for c in text)
        or any(c == "\u202e" or 0xD800 <= ord(c) < 0xE000 for c in text)
        or any(line.startswith("forged") for line in text.splitlines())
    )


def strings(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from strings(each)


def shows(form: str, output: str) -> bool:
    """Whether a reader of the format gets to see the folder's name."""
    match form:
        case "json":  # for programs: the name itself, in JSON's escapes
            return any(each.startswith(f"{FOLDER}/") for each in strings(json.loads(output)))
        case "sarif":  # an address
            uris = [unquote(each, errors="surrogateescape") for each in strings(json.loads(output))]
            return any(each.startswith(f"{FOLDER}/") for each in uris)
        case "gitlab":
            return any(each.startswith(f"{SHOWN}/") for each in strings(json.loads(output)))
        case "junit" | "html" | "markdown":
            return SHOWN in unescape(output)
        case _:
            return SHOWN in output


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_report_shows_them_and_none_sends_them(project: Path, form: str) -> None:
    output = said("check", "--format", form, "--show-suppressed", "--quiet", ".")
    assert b"DEV101" in output
    assert not sends(output)
    assert shows(form, output.decode())


def test_no_file_of_a_report_has_them(project: Path) -> None:
    outputs = [word for form in FORMATS for word in ("--output", f"{form}={FOLDER}.{form}")]
    assert not sends(said("check", *outputs, "."))
    for form in FORMATS:
        written = (project / f"{FOLDER}.{form}").read_bytes()
        assert not sends(written), form
        assert shows(form, written.decode()), form


FILE = f"{FOLDER}/x.py"
BROKEN = f"{FOLDER}/{EVIL}.py"


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", f"{FOLDER}/missing.py"),
        ("check", BROKEN),
        ("check", "--verbose", "."),
        ("check", "--fix", "--unsafe-fixes", "--verbose", "."),
        ("check", "--add-ignores=meant", "."),
        ("check", "--remove-unused-ignores", "."),
        ("check", "--config", f"{FOLDER}.toml", "."),
        ("check", "--baseline", f"{FOLDER}.baseline", "."),
        ("check", "--output", f"sarif=none/{FOLDER}", "."),
        ("baseline", "create", "--baseline", f"{FOLDER}.baseline", "."),
        ("stats", "."),
        ("infer", f"{FILE}:99"),
        ("infer", BROKEN),
        ("merge", FILE),
        ("merge", f"{FOLDER}.json"),
    ],
    ids=" ".join,
)
def test_every_message_shows_them_and_none_sends_them(
    project: Path, arguments: tuple[str, ...]
) -> None:
    output = said(*arguments)
    assert not sends(output)
    assert SHOWN.encode() in output or "--remove-unused-ignores" in arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ("infer", FILE),
        ("infer", "--graph", "svg", FILE),
        ("infer", "--graph", "dot", FILE),
        ("stats", "--format", "json", "."),
        ("check", "--diff-base", FOLDER, "."),
        ("check", f"--{FOLDER}"),
        ("explain", FOLDER),
        ("config", FOLDER),
        ("rules", "--config", FOLDER),
        ("init", "--yes"),
        (FOLDER,),
    ],
    ids=" ".join,
)
def test_nothing_else_that_is_said_sends_them(project: Path, arguments: tuple[str, ...]) -> None:
    output = said(*arguments)
    assert output and not sends(output)


def test_a_baseline_names_them_in_one_line_and_so_does_what_is_stale(project: Path) -> None:
    assert not sends(said("baseline", "create", "."))
    assert not sends((project / ".devlint-baseline").read_bytes())
    (project / FILE).write_text("")
    output = said("check", "--error-on-stale", ".")
    assert b"stale in the baseline" in output and b"%1B" in output
    assert not sends(output)


def test_a_watch_shows_them_and_does_not_send_them(project: Path) -> None:
    command = [sys.executable, "-m", "devlint", "check", "--watch", FOLDER]
    path = os.pathsep.join((str(ROOT), str(ROOT / "rules")))
    with subprocess.Popen(
        command,
        cwd=project,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        stop = threading.Timer(300, process.kill)  # one that says nothing shall not wait for ever
        stop.start()
        lines = []
        for line in process.stdout:
            lines.append(line)
            if b"DEV101" in line:
                break
        stop.cancel()
        process.kill()
    output = b"".join(lines)
    assert b"DEV101" in output
    assert SHOWN.encode() in output
    assert not sends(output)


def test_no_complaint_about_a_configuration_sends_them(project: Path) -> None:
    (project / FOLDER / "devlint.toml").write_text("no-such-option = 1\n")
    output = said("check", FOLDER)
    assert b"no-such-option" in output and not sends(output)


def test_a_patch_is_exact_in_a_file_and_shown_on_a_terminal(project: Path) -> None:
    pty = pytest.importorskip("pty")
    patch = said("check", "--diff", "--unsafe-fixes", f"{FOLDER}/x.py")
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
