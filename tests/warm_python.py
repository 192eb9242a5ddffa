"""Python programs in processes of their own that find torch and the guard imported: to import them
takes three seconds of CPU, and many tests start a program that needs them.

`Popen` and `run` stand in for those of `subprocess`, as far as tests use them. A process is forked
from one that has imported them and has done nothing else; its arguments, folder, environment,
`sys.path`, `__main__` and end are as a new interpreter has them. Where it is tested what an
interpreter does as it starts (`sitecustomize`, `PYTHONHASHSEED`, what is imported when) a new one
is needed. One process at a time: the next one starts when the last one has ended.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, CalledProcessError, CompletedProcess, TimeoutExpired
from typing import IO, Any

__all__ = ["DEVNULL", "PIPE", "STDOUT", "Popen", "TimeoutExpired", "run"]

ROOT = Path(__file__).resolve().parents[1]
GUARD = (
    "commands.confirm",
    "commands.run",
    "commands.suite_plugin",
    "drive.replay",
    "drive.search",
)
IMPORTED = ("torch", "numpy", "libcst", "click", "pytest", *(f"runtime_guard.{g}" for g in GUARD))


class Popen:
    """A program of this Python that runs; what it writes goes to files."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = DEVNULL,
        stdout: IO[Any] | int = DEVNULL,
        stderr: IO[Any] | int = DEVNULL,
        start_new_session: bool = False,
    ) -> None:
        assert command[0] == sys.executable and stdin == DEVNULL
        self.args = command
        self.returncode: int | None = None
        out = _name(stdout)
        request = {
            "words": list(command[1:]),
            "folder": os.fspath(cwd or os.getcwd()),
            "environment": dict(os.environ if env is None else env),
            "files": [os.devnull, out, out if stderr == STDOUT else _name(stderr)],
            "new_session": start_new_session,
        }
        self._server = _server()
        self.pid = self._server.start(request)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, negative for a signal."""
        if self.returncode is None:
            code = self._server.exit_code(timeout)
            if code is None:
                raise TimeoutExpired(self.args, timeout or 0)
            self.returncode = code
        return self.returncode


def run(
    command: Sequence[str],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    text: bool = False,
    check: bool = False,
    capture_output: bool = False,
    stdout: int = DEVNULL,
    stderr: int = DEVNULL,
) -> CompletedProcess[Any]:
    """Run a program to its end: `[sys.executable, "-m", "devlint", …]`."""
    assert capture_output or stdout == PIPE
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        errors = err if capture_output else stderr
        process = Popen(command, cwd=cwd, env=env, stdout=out, stderr=errors)
        code = process.wait()
        shown, said = (_written(file, text) for file in (out, err))
    if check and code:
        raise CalledProcessError(code, list(command), shown, said)
    return CompletedProcess(list(command), code, shown, said if capture_output else None)


def _name(file: IO[Any] | int) -> str:
    if isinstance(file, int):
        assert file == DEVNULL
        return os.devnull
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _written(file: IO[bytes], text: bool) -> str | bytes:
    file.seek(0)
    data = file.read()
    return data.decode() if text else data


class _Server:
    """The process that has imported torch; one for each process of tests."""

    def __init__(self) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            env={**environment, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
            stdin=PIPE,
            stdout=PIPE,
            text=True,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.asks, self.answers = self.process.stdin, self.process.stdout
        atexit.register(self._end)

    def start(self, request: Mapping[str, object]) -> int:
        """Have a program start; its process id."""
        self.asks.write(json.dumps(request) + "\n")
        self.asks.flush()
        return int(self.answers.readline())

    def exit_code(self, timeout: float | None) -> int | None:
        """Of the program that runs, if it ends in that time."""
        ready, _, _ = select.select([self.answers], [], [], timeout)
        return int(self.answers.readline()) if ready else None

    def _end(self) -> None:
        self.asks.close()  # it ends at the end of its input
        self.process.wait()


@functools.cache
def _server() -> _Server:
    return _Server()


def _serve() -> dict[str, Any]:
    """Fork for each request, and answer with the process and its exit code. Returns in the forked
    ones, with what was asked for."""
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if child == 0:
            request: dict[str, Any] = json.loads(line)
            return request
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    sys.exit()


def _become(request: dict[str, Any], paths: Sequence[str]) -> None:
    """Be the Python that was asked for."""
    if request["new_session"]:
        os.setsid()
    for number, name in enumerate(request["files"]):
        file = os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    first, *rest = words = request["words"]
    own = {"-m": os.getcwd(), "-c": ""}.get(first, os.path.dirname(os.path.realpath(first)))
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [own, *given, *paths]
    sys.orig_argv = [sys.executable, *words]
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    else:
        sys.argv = words
        runpy.run_path(first, run_name="__main__")


if sys.platform != "linux":  # where a program starts as anywhere
    Popen, run = subprocess.Popen, subprocess.run  # type: ignore[assignment, misc]

if __name__ == "__main__":
    _own, *_paths = sys.path
    sys.path.insert(0, str(ROOT))
    for _each in IMPORTED:
        __import__(_each)
    gc.freeze()
    _become(_serve(), _paths)
