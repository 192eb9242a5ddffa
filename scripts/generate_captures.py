#!/usr/bin/env python3
"""Write the pictures of `docs/images/` and the output that pages show, each from a real run.

Needs rich, and torch for the run under the guard. `--check` writes nothing and exits with 1 if a
picture or a page is not what its commands print today.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import generated_pages
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PAGES = tuple(ROOT / "docs" / name for name in ("first-five-minutes.md", "how-it-works.md"))
FILE = re.compile(r"```python\n# (\w+\.py)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"```console\n\$ (devlint .*?)\n.*?```", re.DOTALL)
FRAMES = re.compile(
    r'  File "(?!train\.py).*\n(?:    .*\n)*'
)  # of torch: they move with its releases


@dataclass(frozen=True)
class Capture:
    """One picture: what is typed, and at most how many lines of what comes are shown."""

    name: str
    command: str
    width: int = 104
    lines: int = 40


CAPTURES = (
    Capture("check", "devlint check train.py", width=112, lines=16),
    Capture("fix", "devlint check train.py --diff"),
    Capture("guard", "devlint run --virtual cuda:1 train.py", width=112, lines=12),
)


def program() -> str:
    """The program of the first page."""
    found = FILE.search(PAGES[0].read_text(encoding="utf-8"))
    assert found is not None
    return found[2]


def output(command: str, folder: Path, *, colour: bool) -> str:
    """What a command prints."""
    paths = os.pathsep.join((str(ROOT), str(ROOT / "rules")))
    ours = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS")
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        env={
            **environment,
            "PYTHONPATH": paths,
            "PYTHON_COLORS": "0",
            "FORCE_COLOR" if colour else "NO_COLOR": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    text = done.stdout.replace(f"{folder}{os.sep}", "")
    return FRAMES.sub("", text)


def picture(capture: Capture, printed: str) -> str:
    """A terminal with the command and what it printed, as SVG that fetches nothing."""
    console = Console(
        record=True, width=capture.width, file=io.StringIO(), color_system="truecolor",
        force_terminal=True, legacy_windows=False,
    )  # fmt: skip
    shown = printed.splitlines()
    rest = shown[capture.lines :]
    console.print(Text.assemble(("$ ", "green"), (capture.command, "bold")))
    console.print(Text.from_ansi("\n".join(shown[: capture.lines])))
    if rest:
        console.print(Text("…", "dim"))
    svg = console.export_svg(title="", unique_id=f"devlint-{capture.name}")
    return re.sub(r"    @font-face \{.*?\n    \}\n", "", svg, flags=re.DOTALL)


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        (here / "train.py").write_text(program(), encoding="utf-8")
        for capture in CAPTURES:
            found[f"{capture.name}.svg"] = picture(
                capture, output(capture.command, here, colour=True)
            )
    return found


def filled(page: str) -> str:
    """A page with what its commands print, in a folder with its files."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        for name, text in FILE.findall(page):
            (here / name).write_text(text, encoding="utf-8")

        def run(match: re.Match[str]) -> str:
            return f"```console\n$ {match[1]}\n{output(match[1], here, colour=False)}```"

        return COMMAND.sub(run, page)


def main(arguments: list[str]) -> int:
    IMAGES.mkdir(exist_ok=True)
    wanted = {IMAGES / name: svg for name, svg in pictures().items()}
    wanted |= {page: filled(page.read_text(encoding="utf-8")) for page in PAGES}
    return generated_pages.update(wanted, "generate_captures.py", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
