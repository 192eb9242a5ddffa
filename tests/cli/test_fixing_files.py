"""`devlint check --fix` and `--diff` on the files that there are: encodings, modes, exit codes."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from devlint.cli import main

MOVED = "x = torch.ones(3)\nx.cuda()\nprint(x)\n"
MENDED = "x = torch.ones(3)\nx = x.cuda()\nprint(x)\n"
SELECT = ("--select", "DEV201", "--min-confidence", "possible")
Run = Callable[..., Result]


def text_of(body: str = MOVED) -> str:
    return f"import torch\n\n{body}"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `devlint check …` in the folder of the test, with one rule."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(main, ["check", *arguments, *SELECT], input=stdin)

    return invoke


WRITTEN = {
    "plain": (text_of().encode(), text_of(MENDED).encode()),
    "byte order mark": (
        codecs.BOM_UTF8 + text_of().encode(),
        codecs.BOM_UTF8 + text_of(MENDED).encode(),
    ),
    "line ends of Windows": (
        text_of().replace("\n", "\r\n").encode(),
        text_of(MENDED).replace("\n", "\r\n").encode(),
    ),
    "latin-1": (
        ("# -*- coding: latin-1 -*-\n# déjà vu\n" + text_of()).encode("latin-1"),
        ("# -*- coding: latin-1 -*-\n# déjà vu\n" + text_of(MENDED)).encode("latin-1"),
    ),
    "no line end": (text_of().rstrip("\n").encode(), text_of(MENDED).rstrip("\n").encode()),
    "tabs and blanks": (
        text_of("if True:\n\t" + MOVED.replace("\n", "\n\t").rstrip("\t") + "\t \n").encode(),
        text_of("if True:\n\t" + MENDED.replace("\n", "\n\t").rstrip("\t") + "\t \n").encode(),
    ),
}


@pytest.mark.parametrize(("before", "after"), WRITTEN.values(), ids=WRITTEN)
def test_all_but_the_fix_stays_byte_for_byte(
    tmp_path: Path, run: Run, before: bytes, after: bytes
) -> None:
    file = tmp_path / "moved.py"
    file.write_bytes(before)
    file.chmod(0o755)
    result = run("moved.py", "--fix")
    assert (result.exit_code, file.read_bytes()) == (0, after)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["moved.py"]


@pytest.mark.parametrize(("before", "after"), WRITTEN.values(), ids=WRITTEN)
def test_standard_input_comes_back_in_its_own_encoding(
    run: Run, before: bytes, after: bytes
) -> None:
    result = run("-", "--fix", stdin=before)
    assert (result.exit_code, result.stdout_bytes) == (0, after)


def test_what_is_found_in_a_file_that_cannot_be_written_is_reported(
    tmp_path: Path, run: Run
) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(text_of())
    (tmp_path / "b.py").chmod(0o444)
    result = run("--fix", "--format", "concise")
    assert result.exit_code == 3
    assert "b.py:4:1: DEV201" in result.stdout and "a.py:" not in result.stdout
    assert "b.py:1:1: error: is read-only: not fixed" in result.stdout
    assert "Fixed 1 finding. Found 1 warning in 1 of 2 files" in result.stdout
    assert [(tmp_path / name).read_text() for name in ("a.py", "b.py")] == [
        text_of(MENDED),
        text_of(),
    ]


def test_a_diff_of_standard_input_names_it_and_writes_nothing(tmp_path: Path, run: Run) -> None:
    result = run("-", "--diff", "--stdin-filename", "lib/moved.py", stdin=text_of().encode())
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:2] == ["--- lib/moved.py", "+++ lib/moved.py"]
    assert "-x.cuda()\n+x = x.cuda()\n" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_diff_of_several_files_is_one_patch_in_their_order(tmp_path: Path, run: Run) -> None:
    for name in ("b.py", "a.py", "clean.py"):
        (tmp_path / name).write_text(text_of() if name != "clean.py" else "x = 1\n")
    result = run(".", "--diff")
    heads = [line for line in result.stdout.splitlines() if line.startswith("--- ")]
    assert (result.exit_code, heads) == (1, ["--- a.py", "--- b.py"])
    assert all(path.read_text() != text_of(MENDED) for path in tmp_path.iterdir())


UNFIXABLE = "y = torch.ones(3)\n(y + 1).cuda()\n"  # what is thrown away has no name


@pytest.mark.parametrize(
    ("body", "code", "left"),
    [(MOVED, 0, MENDED), (UNFIXABLE, 1, UNFIXABLE), (MOVED + UNFIXABLE, 1, MENDED + UNFIXABLE)],
)
def test_what_is_left_decides_on_the_exit_code(
    tmp_path: Path, run: Run, body: str, code: int, left: str
) -> None:
    file = tmp_path / "moved.py"
    file.write_text(text_of(body))
    result = run("moved.py", "--fix")
    assert (result.exit_code, file.read_text()) == (code, text_of(left))
    assert ("Fixed 1 finding." in result.stdout) == (left != body)


def test_an_unsafe_fix_is_left_to_those_who_ask_for_it(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "mixed.py"
    file.write_text("import torch\n\na = torch.ones(3).cuda()\nb = torch.ones(3)\nc = a + b\n")
    select = ("--select", "DEV101")
    assert run("mixed.py", "--fix", *select).exit_code == 1
    assert "c = a + b\n" in file.read_text()
    assert run("mixed.py", "--fix", "--unsafe-fixes", *select).exit_code == 0
    assert "c = a + b.to(a.device)\n" in file.read_text()
