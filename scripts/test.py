#!/usr/bin/env python3
"""Set up the test environment in `.venv-test`, then run every check: ruff, mypy, pytest.

Needs nothing but Python and git. Arguments go to pytest: `python3 scripts/test.py -k pre_commit`.
The tests run on all cores; `-n0` runs them one after the other, in one process. `--set-up` alone
makes the environment and checks nothing.
Exits with 1 if a check fails, after all of them have run.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv-test"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
CPU_TORCH = "https://download.pytorch.org/whl/cpu"
CONSTRAINED = ("--constraint", "constraints.txt")
UV_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}

# Tests start some hundred programs. What one of them compiles the next is to read: importing torch
# takes two seconds, and three more where nothing may be written.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> bool:
    """Run a module of the test environment from the repository root; whether it succeeded."""
    print("$ python -m", *arguments, flush=True)
    command = [str(PYTHON), "-m", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


class Beside:
    """A module of the test environment that runs beside others; told when it has ended."""

    def __init__(self, *arguments: str) -> None:
        self.arguments = arguments
        command = [str(PYTHON), "-m", *arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def ended_well(self) -> bool:
        said, _ = self.process.communicate()
        print("$ python -m", *self.arguments, f"\n{said}", end="", flush=True)
        return self.process.returncode == 0


def indexes_of_pip() -> dict[str, str]:
    """Where pip is set to look for packages, as uv's variables: uv does not read pip's settings."""
    listed = subprocess.run(
        [str(PYTHON), "-m", "pip", "config", "list"], capture_output=True, text=True
    ).stdout
    found: dict[str, str] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        variable = UV_VARIABLES.get(key.rpartition(".")[2])
        if variable is not None:
            separator = "," if variable == "UV_FIND_LINKS" else " "
            found[variable] = separator.join(ast.literal_eval(value).split())
    return found


def install_with_uv(cpu_torch: bool) -> bool:
    """uv takes ten seconds for what pip takes ninety for. The tests find its settings, too."""
    if not run("pip", "install", "--quiet", "--no-compile", "uv"):
        return False
    # like pip, take the best release of all indexes, not the first index that has one
    os.environ.update({**indexes_of_pip(), "UV_INDEX_STRATEGY": "unsafe-best-match", **os.environ})
    uv = ("uv", "pip", "install", "--quiet", "--python", str(PYTHON), *CONSTRAINED)
    if cpu_torch:  # where that index is out of reach, the next line brings torch
        without_trying_again = {**os.environ, "UV_HTTP_RETRIES": "0"}
        run(*uv, "--no-deps", "--torch-backend=cpu", "torch", environment=without_trying_again)
    return run(*uv, "--editable", ".[test]")


def install_with_pip(cpu_torch: bool) -> bool:
    # ten thousand modules come, of which few are imported: those are compiled then
    pip = ("pip", "install", "--quiet", "--no-compile", *CONSTRAINED)
    if cpu_torch:  # if that index is out of reach, pip falls back to PyPI
        index = f"--extra-index-url={CPU_TORCH}"
        if not run(*pip, "--no-deps", "--retries=1", index, "torch"):
            return False
    return run(*pip, "--editable", ".[test]")


def set_up() -> bool:
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    # PyPI's Linux build of torch brings gigabytes of CUDA libraries. Where there is no GPU, prefer
    # the CPU build.
    cpu_torch = sys.platform == "linux" and shutil.which("nvidia-smi") is None
    return install_with_uv(cpu_torch) or install_with_pip(cpu_torch)


def main() -> int:
    if not set_up():
        print("the test environment could not be set up", file=sys.stderr)
        return 1
    given = sys.argv[1:]
    if given == ["--set-up"]:
        return 0
    types = Beside("mypy")  # it uses one core, and leaves the other to ruff and the first tests
    checks = (
        ("ruff", "check"),
        ("ruff", "format", "--check"),
        # files in the order of tests/conftest.py, the long ones first
        ("pytest", "--numprocesses=auto", "--dist=loadfile", "--no-loadscope-reorder", *given),
    )
    failed = [" ".join(check) for check in checks if not run(*check)]
    if not types.ended_well():
        failed.append("mypy")
    if failed:
        print("failed:", ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
