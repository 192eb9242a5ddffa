"""Run a program inside this process as ``python`` would: ``sys.argv``, ``__main__``, exit code.

Knows scripts, ``-m module``, ``-c code`` and pytest commands, as words of a command line.
"""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import sys
import sysconfig
import traceback
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

from runtime_guard.core import programs

_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?", re.IGNORECASE)
_HARMLESS_OPTIONS = frozenset({"-u", "-B", "-q", "-s"})


class CommandError(ValueError):
    """A command that cannot be run inside this process; the message says what can."""


@dataclass(frozen=True)
class Program:
    """What to run: a script's path, a module's name or code, with ``sys.argv[1:]``."""

    kind: Literal["script", "module", "code"]
    target: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a program ended.  ``error`` is the exception that left it, ``SystemExit`` excluded."""

    exit_code: int
    error: BaseException | None = None
    main: Any = field(default=None, repr=False, compare=False)
    """The namespace of ``__main__``, which lives on behind the program as in an interpreter."""


def parse_command(words: Sequence[str]) -> Program:
    """``python train.py --epochs 1``, ``torchrun train.py``, ``-m pkg`` -> ``Program``.

    Raises ``CommandError`` for an empty command and for programs that are not Python's.
    """
    rest = list(words)
    if not rest:
        raise CommandError("no command: say what to run, for example `-- python train.py`")
    head = os.path.basename(rest[0])
    if _PYTHON.fullmatch(head):
        rest = rest[1:]
        while rest and rest[0] in _HARMLESS_OPTIONS:
            rest = rest[1:]
        if not rest:
            raise CommandError("python without a script, -m or -c: there is nothing to run")
    elif head in ("pytest", "py.test") and not os.path.isfile(rest[0] + ".py"):
        return Program("module", "pytest", tuple(rest[1:]))
    if rest[0] in ("-m", "-c"):
        if len(rest) < 2:
            raise CommandError(f"{rest[0]} needs an argument")
        kind: Literal["module", "code"] = "module" if rest[0] == "-m" else "code"
        return Program(kind, rest[1], tuple(rest[2:]))
    if words[0].startswith("-"):
        raise CommandError(f"no such option: {rest[0]}")
    if rest[0].startswith("-"):
        raise CommandError(f"the interpreter option {rest[0]} has no effect inside this process")
    if rest[0].endswith((".py", ".pyw")) or _looks_like_python(rest[0]):
        return Program("script", rest[0], tuple(rest[1:]))
    installed = _installed(rest[0])
    if installed is not None and _looks_like_python(installed):
        return Program("script", installed, tuple(rest[1:]))
    wrong = "is not a Python program" if installed or os.path.exists(rest[0]) else "was not found"
    raise CommandError(
        f"{rest[0]!r} {wrong}: give a script, `python SCRIPT`, `python -m MODULE`, "
        "`pytest` or a command that is a Python script (`torchrun`)"
    )


def _installed(command: str) -> str | None:
    """A command's file: among the scripts of this interpreter's environment, or on the PATH."""
    scripts = sysconfig.get_path("scripts")
    return shutil.which(command, path=scripts) or shutil.which(command)


def require(program: Program) -> None:
    """Raise ``CommandError`` when there is no such script or module."""
    if program.kind == "script" and not os.path.exists(program.target):
        raise CommandError(f"{program.target}: no such file")
    if program.kind == "module":
        top = program.target.partition(".")[0]
        sys.path.insert(0, os.getcwd())
        try:
            if importlib.util.find_spec(top) is None:
                raise CommandError(f"no module named {top!r}")
        finally:
            sys.path.pop(0)


def _looks_like_python(path: str) -> bool:
    if os.path.isdir(path):
        return os.path.isfile(os.path.join(path, "__main__.py"))
    try:
        with open(path, "rb") as file:
            first = file.readline(200)
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first


def run_program(program: Program) -> Outcome:
    """Run ``program`` to its end in this process and thread.

    An exception that leaves it is printed to ``sys.stderr`` as the interpreter prints it, without
    this package's frames.  ``sys.argv``, ``sys.path`` and ``sys.modules["__main__"]`` are restored.
    """
    saved = sys.argv, list(sys.path), sys.modules.get("__main__")
    programs.started(program.target, as_module=program.kind == "module")
    try:
        return _run(program)
    finally:
        sys.argv, sys.path[:] = saved[0], saved[1]
        if saved[2] is not None:
            sys.modules["__main__"] = saved[2]


def _run(program: Program) -> Outcome:
    main: Any = None
    try:
        if program.kind == "module":
            sys.argv = [program.target, *program.arguments]
            sys.path.insert(0, os.getcwd())
            main = runpy.run_module(program.target, run_name="__main__", alter_sys=True)
        elif program.kind == "code":
            sys.argv = ["-c", *program.arguments]
            sys.path.insert(0, "")
            main = _new_main(None)
            exec(compile(program.target, "<string>", "exec"), main.__dict__)
        else:
            path = program.target
            sys.argv = [path, *program.arguments]
            if os.path.isdir(path):
                sys.path.insert(0, path)
                main = runpy.run_path(path, run_name="__main__")
            else:
                sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
                with open(path, "rb") as file:
                    source = file.read()
                main = _new_main(os.path.abspath(path))
                exec(compile(source, os.path.abspath(path), "exec"), main.__dict__)
    except SystemExit as error:
        return Outcome(exit_code_of(error), None, main)
    except KeyboardInterrupt as error:
        return Outcome(130, error, main)
    except BaseException as error:
        _print_exception(error)
        return Outcome(1, error, main)
    return Outcome(0, None, main)


def _new_main(file: str | None) -> types.ModuleType:
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    if file is not None:
        module.__file__ = file
    sys.modules["__main__"] = module
    return module


def exit_code_of(error: SystemExit) -> int:
    """The process's exit code for ``SystemExit``: a text goes to ``sys.stderr`` and means 1."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return 1


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MACHINERY = (os.path.abspath(runpy.__file__), "<frozen runpy>")


def _print_exception(error: BaseException) -> None:
    sys.stderr.write(traceback_of(error))


def traceback_of(error: BaseException) -> str:
    """As the interpreter prints what ends a program, without this package's frames."""
    shown = _without_machinery(error.__traceback__)
    return "".join(traceback.format_exception(type(error), error, shown))


def _without_machinery(entry: TracebackType | None) -> TracebackType | None:
    """The traceback as it were without us: neither the runner's frames nor the guard's hooks."""
    kept = []
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        if not file.startswith(_PACKAGE) and file not in _MACHINERY:
            kept.append(entry)
        entry = entry.tb_next
    shown = None
    for entry in reversed(kept):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown
