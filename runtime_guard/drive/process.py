"""A process of its own for the project's code: with a time limit, and gone when that is over.

The job goes in as JSON and the answer comes out as JSON, each in a file of a temporary folder, in
which it also runs: what the code writes to relative paths is thrown away.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = 16 << 30
FILE_SIZE = 256 << 20
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "WANDB_MODE": "disabled"}
_QUIET = {"MPLBACKEND": "Agg", "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Processor time is limited, and threads that wait for each other use it up."""


@dataclass(frozen=True)
class Answer:
    """What a child said, as far as it came."""

    data: dict[str, Any]
    timed_out: bool = False
    exit_code: int = 0
    tail: str = ""
    """The end of what it wrote to standard error."""


def ask(
    module: str, job: Mapping[str, Any], seconds: float, environment: Mapping[str, str]
) -> Answer:
    """Run ``python -m module JOB ANSWER`` and return what it answers within ``seconds``."""
    with tempfile.TemporaryDirectory(prefix="devlint-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        work = folder / "work"
        work.mkdir()
        with open(folder / "errors", "wb") as errors:
            child = subprocess.Popen(
                [sys.executable, "-m", module, str(folder / "job.json"), str(folder / "answer")],
                cwd=work,
                env=_environment(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
            timed_out = False
            try:
                child.wait(seconds)
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                _end(child)
        return Answer(
            _read(folder / "answer"),
            timed_out,
            child.returncode,
            (folder / "errors").read_bytes()[-400:].decode("utf-8", "replace").strip(),
        )


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """The caller's, offline, with devlint where this process has it."""
    here = str(Path(__file__).resolve().parents[2])
    before = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    paths = os.pathsep.join(dict.fromkeys([*before, here]))
    return {**os.environ, **_OFFLINE, **_QUIET, **_ONE_THREAD, **more, "PYTHONPATH": paths}


def _end(child: subprocess.Popen[bytes]) -> None:
    """The child, and what it has started."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    child.wait()


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def answer(path: str, data: Mapping[str, Any]) -> None:
    """In the child: leave ``data``, whole, for whoever asked."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(data, file)
    os.replace(path + ".new", path)


def limit(seconds: float) -> None:
    """In the child: no core file, no huge file, no more memory or processor time than that."""
    try:
        import resource  # Windows has none
    except ImportError:
        return
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: FILE_SIZE,
        resource.RLIMIT_DATA: MEMORY,
        resource.RLIMIT_CPU: int(seconds * (os.cpu_count() or 1)) + 1,
    }
    for what, most in wanted.items():
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (least, hard))
