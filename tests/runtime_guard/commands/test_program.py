"""The runner: a program runs here as it would under ``python``."""

from __future__ import annotations

import sys
import sysconfig
import threading

import pytest

from runtime_guard.commands.line_tracer import LineTracer
from runtime_guard.commands.program import (
    CommandError,
    Program,
    parse_command,
    run_program,
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name: str, source: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["train.py"], Program("script", "train.py", ())),
        (["python", "train.py", "--epochs", "1"], Program("script", "train.py", ("--epochs", "1"))),
        (["/usr/bin/python3.11", "-u", "a.py"], Program("script", "a.py", ())),
        (["python", "-m", "pkg.tool", "x"], Program("module", "pkg.tool", ("x",))),
        (["-m", "pkg"], Program("module", "pkg", ())),
        (["python", "-c", "print()", "x"], Program("code", "print()", ("x",))),
        (["pytest", "-q", "tests"], Program("module", "pytest", ("-q", "tests"))),
        (["python", "-m", "pytest", "tests"], Program("module", "pytest", ("tests",))),
    ],
)
def test_commands(words, program):
    assert parse_command(words) == program


def test_an_installed_command_that_is_a_python_script(tmp_path, monkeypatch):
    """As ``torchrun`` and ``accelerate`` are."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, first in (("launch", "#!/usr/bin/env python3"), ("other", "#!/bin/sh")):
        (tmp_path / name).write_text(f"{first}\n")
        (tmp_path / name).chmod(0o755)
    command = parse_command(["launch", "--nproc-per-node", "2", "train.py"])
    arguments = ("--nproc-per-node", "2", "train.py")
    assert command == Program("script", str(tmp_path / "launch"), arguments)
    with pytest.raises(CommandError, match="'other' is not a Python program"):
        parse_command(["other"])


def test_a_command_of_the_environment_that_is_not_on_the_path(monkeypatch, tmp_path):
    """`.venv/bin/python -m devlint run torchrun …`, in a shell that has not activated it."""
    scripts, elsewhere = tmp_path / "bin", tmp_path / "elsewhere"
    for folder in (scripts, elsewhere):
        folder.mkdir()
        (folder / "launch").write_text("#!/usr/bin/env python3\n")
        (folder / "launch").chmod(0o755)
    monkeypatch.setattr(sysconfig, "get_path", {"scripts": str(scripts)}.get)
    for path in ("", str(elsewhere)):  # nor would that of another one be run with its packages
        monkeypatch.setenv("PATH", path)
        assert parse_command(["launch"]).target == str(scripts / "launch")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no command"),
        (["python"], "nothing to run"),
        (["python", "-X", "dev", "a.py"], "interpreter option -X"),
        (["no-such-command", "train"], "'no-such-command' was not found"),
        (["-m"], "-m needs an argument"),
    ],
)
def test_commands_that_cannot_be_run_here(words, said):
    with pytest.raises(CommandError, match=said):
        parse_command(words)


def test_a_script_sees_what_python_gives_it(project, capsys):
    project("work/helper.py", "VALUE = 7")
    script = project(
        "work/train.py",
        "import sys, helper\n"
        "print(__name__, sys.argv[1:], helper.VALUE, __file__.endswith('train.py'))\n"
        "print(sys.modules['__main__'].__file__ == __file__)\n",
    )
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    outcome = run_program(Program("script", script, ("--lr", "1")))
    assert outcome.exit_code == 0
    assert capsys.readouterr().out == "__main__ ['--lr', '1'] 7 True\nTrue\n"
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before


def test_modules_packages_and_directories(project, capsys):
    project("tool/__init__.py", "")
    project("tool/__main__.py", "import sys; print('main', sys.argv[1:])")
    assert run_program(Program("module", "tool", ("a",))).exit_code == 0
    assert run_program(Program("script", "tool", ("b",))).exit_code == 0
    assert capsys.readouterr().out == "main ['a']\nmain ['b']\n"


@pytest.mark.parametrize(
    ("source", "code", "error"),
    [
        ("", 0, ""),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("import sys; sys.exit('no data')", 1, "no data\n"),
    ],
)
def test_exit_codes(project, capsys, source, code, error):
    assert run_program(Program("script", project("a.py", source), ())).exit_code == code
    assert capsys.readouterr().err == error


def test_an_exception_is_shown_as_python_shows_it(project, capsys):
    outcome = run_program(Program("script", project("a.py", "def f():\n    1 / 0\nf()\n"), ()))
    assert outcome.exit_code == 1
    assert isinstance(outcome.error, ZeroDivisionError)
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n  File ")
    assert 'a.py", line 3, in <module>' in shown
    assert "runner.py" not in shown


def test_executed_lines_of_the_chosen_files_in_all_threads(project):
    chosen = project("chosen.py", "def f(x):\n    if x:\n        return 1\n    return 2\n")
    other = project("other.py", "import chosen\nchosen.f(0)\n")
    sys.path.insert(0, str(other.rpartition("/")[0]))
    try:
        with LineTracer([chosen]) as tracer:
            run_program(Program("script", other, ()))
            first = set(tracer.executed[chosen])
            thread = threading.Thread(target=lambda: sys.modules["chosen"].f(1))
            thread.start()
            thread.join()
    finally:
        sys.path.pop(0)
        sys.modules.pop("chosen", None)
    assert first == {1, 2, 4}
    assert tracer.executed == {chosen: {1, 2, 3, 4}}


LEFT = """\
def inner(x):
    return 1 / x

def outer(x):
    try:
        return inner(x) + sum(y for y in iter([x]))
    except ZeroDivisionError:
        return next(iter([2]))

for x in iter([1, 0]):
    outer(x)
"""


def test_lines_that_an_exception_left_and_those_that_had_something_at_hand(project):
    file = project("left.py", LEFT)
    asked: list[int] = []

    def is_zero(frame):
        asked.append(frame.f_locals["x"])
        return frame.f_locals["x"] == 0

    with LineTracer([file], {file: {2}}, is_zero) as tracer:
        run_program(Program("script", file, ()))
    assert tracer.lines.interrupted == {file: {2, 6}}  # not those that the end of a loop left
    assert tracer.lines.with_it == {file: {2}}
    assert asked == [1, 0]
