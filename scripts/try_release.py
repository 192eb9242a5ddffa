#!/usr/bin/env python3
"""Build the sdist and the wheel, install the wheel with every Python there is, and try it there.

    python3 scripts/try_release.py [--require 3.12 ...] [--out FOLDER]

The wheel is built from the sdist. Each Python from 3.10 to 3.14 that is on the path, that pyenv
has, or that uv has or can fetch gets a new environment with the wheel and what it requires, and
nothing else. One that cannot be had is named at the end; it is an error if it is required.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
BUG = "import torch\n\nx = torch.zeros(3).cuda() + torch.ones(3)\n"


class Failure(Exception):
    """Something that does not work, with what was printed."""


def run(*command: str | Path, cwd: Path, expected: int = 0) -> str:
    """The output of a command, away from our own environment. Raises Failure."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True
    )
    if done.returncode != expected:
        shown = " ".join(map(str, command))
        raise Failure(f"$ {shown}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


# --- interpreters -----------------------------------------------------------------------------


def candidates(version: str) -> Iterator[str]:
    """Where a Python of this version may be, the nearest first."""
    yield sys.executable
    yield from filter(None, [shutil.which(f"python{version}")])
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(each) for each in sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True))
    if shutil.which("uv"):
        for action in ("find", "install"):
            subprocess.run(["uv", "python", action, "-q", version], capture_output=True)
            found = subprocess.run(
                ["uv", "python", "find", "-q", version], capture_output=True, text=True
            )
            if found.returncode == 0:
                yield found.stdout.strip()


def interpreter(version: str) -> str | None:
    """A Python of this version, None if there is none to be had."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in candidates(version):
        said = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True)
        if said.stdout.strip() == version:
            return python
    return None


# --- what is tried ----------------------------------------------------------------------------


def make_builder(folder: Path) -> Path:
    """The Python of a new environment that has pip, which a system's own Python may lack."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "build", cwd=folder)
    return python


def build(builder: Path, out: Path) -> Path:
    """The wheel, built from the sdist, which is built from a copy of the tree."""
    run(builder, "-m", "build", "--outdir", out, ROOT, cwd=out)
    (wheel,) = out.glob("*.whl")
    return wheel


def install(builder: Path, python: str, wheel: Path, folder: Path) -> Path:
    """A new environment with the wheel and what it requires; its folder of programs."""
    run(python, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    programs = folder / "bin"
    installing = ("-m", "pip", "--python", programs / "python", "install", "-q", wheel)
    run(builder, *installing, cwd=folder)
    return programs


def try_out(programs: Path, folder: Path) -> None:
    """Use devlint as a user would, in a folder of theirs. Raises Failure."""
    (folder / "bug.py").write_text(BUG, encoding="utf-8")
    devlint = programs / "devlint"
    run(devlint, "--version", cwd=folder)
    _must("DEV102", run(devlint, "rules", cwd=folder))
    report = json.loads(run(devlint, "check", "bug.py", "--format", "json", cwd=folder, expected=1))
    rules = {finding["rule"] for finding in report["findings"]}
    _must("DEV101", " ".join(sorted(rules)))
    module = run(programs / "python", "-m", "devlint", "check", "bug.py", cwd=folder, expected=1)
    _must("DEV101", module)
    run(devlint, "check", "bug.py", "--format", "sarif", cwd=folder, expected=1)
    project = ROOT / "fixtures" / "projects" / "classifier"
    _must("DEV102", run(devlint, "check", project, cwd=folder, expected=1))
    absent = "import importlib.util as u; raise SystemExit(u.find_spec('torch') is not None)"
    run(programs / "python", "-c", absent, cwd=folder)


def _must(word: str, text: str) -> None:
    if word not in text:
        raise Failure(f"{word} is not in:\n{text}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--require", nargs="+", default=[], choices=VERSIONS, metavar="VERSION")
    parser.add_argument("--out", type=Path, help="keep the sdist and the wheel in this folder")
    given = parser.parse_args(arguments)
    missing, failed = [], []
    with tempfile.TemporaryDirectory(prefix="release-") as temporary:
        folder = Path(temporary)
        (folder / "dist").mkdir()
        try:
            builder = make_builder(folder / "builder")
            wheel = build(builder, folder / "dist")
        except Failure as failure:
            print(f"it cannot be built:\n{failure}", file=sys.stderr)
            return 1
        print(f"built {wheel.name}", flush=True)
        if given.out is not None:
            shutil.copytree(folder / "dist", given.out, dirs_exist_ok=True)
        for version in VERSIONS:
            python = interpreter(version)
            if python is None:
                missing.append(version)
                continue
            try:
                home = folder / version
                home.mkdir()
                try_out(install(builder, python, wheel, home / "environment"), home)
                print(f"Python {version}: works ({python})", flush=True)
            except Failure as failure:
                failed.append(version)
                print(f"Python {version}: FAILS\n{failure}", file=sys.stderr)
    for version in missing:
        print(f"Python {version}: NOT TRIED, it is not to be had here", file=sys.stderr)
    return 1 if failed or set(missing) & set(given.require) else 0


if __name__ == "__main__":
    sys.exit(main())
