"""`devlint check` as a user runs it: what it prints and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import Tree

from devlint.cli import main
from devlint.rules import find_rule, load_rules

MIXED = """\
import torch

a = torch.ones(3).cuda()
b = torch.ones(3, device="cpu")
print(a + b)
"""
FIXED = MIXED.replace('device="cpu"', 'device="cuda"')
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `devlint …` in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, [*arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def findings(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return found


def rules(result: Result) -> set[str]:
    return {finding["rule"] for finding in findings(result)}


def example(code: str) -> str:
    """The first bad example of a rule."""
    rule = find_rule(load_rules(), code)
    assert rule is not None
    return rule.bad[0]


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "devlint", *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)


# --- exit codes --------------------------------------------------------------------------------


def test_findings_exit_with_1_and_none_with_0(tree: Tree, run: Run) -> None:
    tree({"bad.py": MIXED, "good.py": FIXED})
    assert run("check", "bad.py").exit_code == 1
    result = run("check", "good.py", "--select", "DEV1")
    assert (result.exit_code, result.stdout) == (
        0, "Found no device-placement problems in 1 file.\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fail_on", "rule", "code"),
    [
        ("error", "DEV101", 1),
        ("never", "DEV101", 0),
        ("warning", "DEV001", 1),
        ("error", "DEV001", 0),
        ("warning", "DEV303", 0),
        ("performance", "DEV303", 1),
    ],
)
def test_fail_on(tree: Tree, run: Run, fail_on: str, rule: str, code: int) -> None:
    unused = "x = 1  # devlint: ignore[DEV101]\n"
    tree({"x.py": unused if rule == "DEV001" else example(rule)})
    arguments = ["--select", f"{rule},DEV101", "--format", "json"]
    result = run("check", "x.py", "--fail-on", fail_on, *arguments)
    assert rules(result) == {rule}
    assert result.exit_code == code


def test_performance_does_not_fail_by_default(tree: Tree, run: Run) -> None:
    tree({"x.py": example("DEV303")})
    result = run("check", "x.py", "--select", "DEV303", "--format", "json")
    assert (rules(result), result.exit_code) == ({"DEV303"}, 0)


def test_what_cannot_be_checked_exits_with_3_and_the_rest_is_checked(tree: Tree, run: Run) -> None:
    root = tree({"bad.py": MIXED, "broken.py": "x = (\n", "latin.py": b"\xe9"})
    (root / "loop.py").symlink_to("loop.py")
    result = run("check", ".", "--format", "json")
    assert result.exit_code == 3
    assert "DEV101" in rules(result)
    paths = [error["path"] for error in json.loads(result.stdout)["errors"]]
    assert paths == ["broken.py", "latin.py", "loop.py"]


def test_a_missing_path_and_a_pipe_are_errors_and_the_rest_is_checked(tree: Tree, run: Run) -> None:
    root = tree({"bad.py": MIXED})
    os.mkfifo(root / "pipe.py")
    result = run("check", "no/such.py", "pipe.py", "bad.py", "--format", "json")
    assert result.exit_code == 3
    assert "DEV101" in rules(result)
    errors = json.loads(result.stdout)["errors"]
    assert [(error["path"], error["message"]) for error in errors] == [
        ("no/such.py", "cannot be read: No such file or directory"),
        ("pipe.py", "is not a regular file"),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "-", "x.py"], "cannot be checked along with paths"),
        (["check", "--select", "DEV999"], "--select: no rule has"),
        (["check", "--ignore", "sync-in-lop"], "did you mean 'sync-in-loop'?"),
        (["check", "--fail-on", "warnings"], "--fail-on"),
        (["check", "--min-confidence", "sure"], "--min-confidence"),
        (["check", "--config", "missing.toml"], "cannot be read"),
        (["check", "--selekt", "DEV1"], "--select"),
        (["check", "--format", "xml"], "xml"),
        (["check", "--unsafe-fixes", "x.py"], "needs --fix or --diff"),
        (["check", "x.py", "-o", "no/such/folder.txt"], "cannot be written"),
        (["explain", "DEV2O1"], "did you mean 'DEV201'?"),
        (["explain", "DEV99"], "`devlint rules` lists them all"),
        (["explain", "DEV399"], "those of DEV3 are DEV301, "),
        (["explain", "DEV2"], "it is a family of rules, DEV201, "),
        (["check", "--select", "DEV99"], "'DEV99'; `devlint rules` lists them all"),
        (["explain", "sync-in-lop"], "did you mean 'sync-in-loop'?"),
        (["chek"], "chek"),
    ],
)
def test_usage_errors_exit_with_2_and_say_what_is_meant(
    tree: Tree, run: Run, arguments: list[str], words: str
) -> None:
    tree({"x.py": ""})
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("selct = ['DEV1']", "pyproject.toml: [tool.devlint] has no option 'selct'; did you mean"),
        ("select = ['DEV999']", "pyproject.toml: select: no rule has the code"),
        ("severity = { sync-in-lop = 'error' }", "severity: no rule has"),
        ("overrides = [{ paths = ['x'], ignore = ['QQ'] }]", "overrides: ignore: no rule has"),
        ("paths = ['sources']", "paths: there is no file or directory 'sources'"),
        ("knowledge = ['missing.toml']", "missing.toml"),
    ],
)
def test_configuration_errors_exit_with_2(tree: Tree, run: Run, config: str, words: str) -> None:
    tree({"pyproject.toml": f"[tool.devlint]\n{config}\n", "x.py": ""})
    result = run("check")
    assert result.exit_code == 2
    assert words in result.stderr


# --- what is checked ---------------------------------------------------------------------------


def test_without_paths_the_project_is_checked(
    tree: Tree, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(
        {"pyproject.toml": '[tool.devlint]\npaths = ["a"]\n', "a/x.py": MIXED, "b/x.py": MIXED}
    )
    monkeypatch.chdir(root / "b")
    result = run("check", "--format", "json")
    assert {finding["path"] for finding in findings(result)} == {"a/x.py"}
    result = run("check", ".", "--format", "json")
    assert {finding["path"] for finding in findings(result)} == {"b/x.py"}


def test_the_configuration_is_that_of_the_paths_or_of_here_if_they_share_none(
    tree: Tree, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(
        {
            "a/pyproject.toml": '[tool.devlint]\nignore = ["DEV1"]\n',
            "a/x.py": MIXED,
            "b/pyproject.toml": '[tool.devlint]\nselect = ["DEV101"]\n',
            "b/x.py": MIXED,
        }
    )
    monkeypatch.chdir(root / "b")
    assert "DEV101" not in rules(run("check", "../a/x.py", "--format", "json"))
    both = run("check", "../a/x.py", "x.py", "--format", "json")
    paths = {finding["path"] for finding in findings(both)}
    assert paths == {(root / "a" / "x.py").as_posix(), "x.py"}


def test_excluding(tree: Tree, run: Run) -> None:
    tree({"x.py": FIXED, "gen/y.py": MIXED, ".gitignore": "local.py\n", "local.py": MIXED})
    assert "DEV101" not in rules(run("check", "--exclude", "gen", "--format", "json"))
    assert "DEV101" in rules(run("check", "gen/y.py", "--exclude", "gen", "--format", "json"))
    forced = run("check", "gen/y.py", "--exclude", "gen", "--force-exclude", "--format", "json")
    assert json.loads(forced.stdout)["files"] == 0
    assert "DEV101" in rules(run("check", "--exclude", "gen", "--no-gitignore", "--format", "json"))


def test_standard_input_has_the_name_and_the_configuration_that_are_asked_for(
    tree: Tree, run: Run
) -> None:
    tree({"pyproject.toml": '[tool.devlint]\nignore = ["DEV101"]\n', "sub/a.py": ""})
    result = run("check", "-", "--stdin-filename", "sub/b.py", "--format", "json", stdin=MIXED)
    assert "DEV101" not in rules(result)
    result = run("check", "-", "--select", "DEV101", "--format", "json", stdin=MIXED)
    assert {finding["path"] for finding in findings(result)} == {"<stdin>"}
    assert result.exit_code == 1
    result = run("check", "-", "--format", "json", stdin=b"\xff")
    assert result.exit_code == 3


def test_selecting(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    assert rules(run("check", "--select", "DEV1", "--format", "json")) == {"DEV101"}
    assert rules(run("check", "--ignore", "DEV", "--format", "json")) == set()
    assert rules(
        run("check", "--select", "mixed-device-operation", "--ignore", "DEV5", "--format", "json")
    ) == {"DEV101"}


# --- what is printed ---------------------------------------------------------------------------


def test_the_text_report(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    result = run("check", "x.py", "--select", "DEV101")
    assert result.stdout.startswith("error[DEV101] mixed-device-operation: ")
    assert "--> x.py:5:7" in result.stdout
    assert "5 | print(a + b)\n  |       ^^^^^" in result.stdout
    assert "note 1:" in result.stdout
    assert "help:" in result.stdout
    assert result.stderr == ""
    quiet = run("check", "x.py", "--select", "DEV101", "--quiet")
    assert "Found" in result.stdout
    assert "Found" not in quiet.stdout


def test_colour_when_asked_for(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    assert "\x1b[" not in run("check", "x.py").stdout
    assert "\x1b[" in run("check", "x.py", "--color", "always").stdout


def test_verbose_goes_to_standard_error(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    result = run("check", "x.py", "--verbose", "--format", "json")
    json.loads(result.stdout)
    assert "devlint: 1 file; CPU time: parse " in result.stderr


def test_a_report_written_to_a_file(tree: Tree, run: Run) -> None:
    root = tree({"x.py": MIXED})
    result = run("check", "x.py", "--format", "json", "-o", "report.json")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert json.loads((root / "report.json").read_text())["version"] == 1


def test_suppressed_findings_when_asked_for(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED.rstrip() + "  # devlint: ignore -- a test\n"})
    result = run("check", "x.py", "--select", "DEV1")
    assert result.stdout == "Found no device-placement problems in 1 file (1 suppressed).\n"
    result = run("check", "x.py", "--select", "DEV1", "--show-suppressed")
    assert result.stdout.startswith("suppressed error[DEV101]")
    assert result.exit_code == 0


# --- fixing ------------------------------------------------------------------------------------


def test_fix_diff_and_nothing_left(tree: Tree, run: Run) -> None:
    text = example("DEV201")
    root = tree({"x.py": text})
    diff = run("check", "x.py", "--select", "DEV201", "--diff")
    assert diff.exit_code == 1
    assert diff.stdout.startswith("--- x.py\n+++ x.py\n@@ ")
    assert (root / "x.py").read_text() == text
    fixed = run("check", "x.py", "--select", "DEV201", "--fix")
    assert fixed.exit_code == 0
    assert fixed.stdout.startswith("Fixed 1 finding.")
    changed = (root / "x.py").read_text()
    added = [line[1:] for line in diff.stdout.splitlines()[2:] if line.startswith("+")]
    assert set(changed.splitlines()) - set(text.splitlines()) == set(added)
    again = run("check", "x.py", "--select", "DEV201", "--diff")
    assert (again.exit_code, again.stdout) == (0, "")


def test_a_diff_says_on_standard_error_what_could_not_be_checked(tree: Tree, run: Run) -> None:
    tree({"x.py": "x = 1\n"})
    diff = run("check", "x.py", "missing.py", "--diff")
    assert (diff.exit_code, diff.stdout) == (3, "")
    assert diff.stderr == "missing.py:1:1: cannot be read: No such file or directory\n"


def test_a_file_that_cannot_be_written_exits_with_3(
    tree: Tree, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    tree({"x.py": example("DEV201")})
    result = run("check", "x.py", "--select", "DEV201", "--fix")
    assert result.exit_code == 3
    assert "error: cannot be written, not fixed: Permission denied\n --> x.py:1:1" in result.stdout


def test_fixing_standard_input_prints_the_text(tree: Tree, run: Run) -> None:
    text = example("DEV201")
    root = tree({"x.py": text})
    run("check", "x.py", "--select", "DEV201", "--fix")
    result = run("check", "-", "--select", "DEV201", "--fix", stdin=text)
    assert result.stdout == (root / "x.py").read_text() != text
    assert "Fixed 1 finding." in result.stderr
    untouched = run("check", "-", "--select", "DEV201", "--fix", stdin="x = 1\n")
    assert untouched.stdout == "x = 1\n"


# --- as a process ------------------------------------------------------------------------------


def test_no_traceback_for_hostile_files(tmp_path: Path) -> None:
    hostile = {
        "call.py": "f(" * 500 + ")" * 500,
        "parentheses.py": "(" * 500 + "1" + ")" * 500,
        "sum.py": "import torch\nx = " + " + ".join(["a"] * 1200) + "\n",
        "chain.py": "import torch\nx = torch.zeros(1)" + ".add(1)" * 600 + "\n",
        "functions.py": "import torch\ndef f(x): return g(x)\ndef g(x): return f(x)\nf(1)\n",
        "classes.py": "import torch\nclass A(B): pass\nclass B(A): pass\nA().x.y(B)\n",
        "self.py": "import self\nfrom self import *\nfrom . import self\nfrom .. import x\n",
        "empty.py": "",
        "nul.py": "x = 1\0",
        "tabs.py": "if 1:\n\tx = 1\n        y = 2\n",
        "match.py": "match x:\n    case 1: pass\n",
        "long.py": "x = 1\n" * 10_000,
        "huge_number.py": "x = " + "9" * 10_000 + "\n",
        "newer.py": "def f[T: int](x: T) -> T: return x\ntype X = int\n",
    }
    for name, text in hostile.items():
        (tmp_path / name).write_text(text)
    result = process("check", ".", "--format", "json", cwd=tmp_path)
    assert result.stderr == ""
    assert result.returncode == 3
    errors = {error["path"]: error["message"] for error in json.loads(result.stdout)["errors"]}
    assert set(errors) == {"call.py", "parentheses.py", "nul.py", "tabs.py"}
    assert not any("defect" in message for message in errors.values())


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(MIXED * 50)
    command = f"{sys.executable} -m devlint check x.py | true"
    result = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert "Traceback" not in result.stderr


def test_a_terminal_that_knows_ascii_only(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(MIXED.replace("print(", "print('δ', "), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = process("check", "x.py", cwd=tmp_path, env=environment)
    assert "Traceback" not in result.stderr
    assert "\\u03b4" in result.stdout


def test_check_imports_neither_torch_nor_rich(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(MIXED)
    code = (
        "import sys; sys.argv = ['devlint', 'check', 'x.py']\n"
        "from devlint.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(sorted({'torch', 'rich', 'numpy'} & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "at", ["engine.check", "commands.check.rules_for", "commands.check.render"]
)
def test_an_interrupt_ends_it_quietly(
    at: str, tree: Tree, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is at: an exit code of 1 would stand for findings."""

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"devlint.{at}", interrupted)
    tree({"x.py": ""})
    result = run("check", "x.py")
    assert (result.exit_code, result.output) == (130, "")


def test_python_m_devlint_has_a_version() -> None:
    assert process("--version").stdout.startswith("devlint 0.")
