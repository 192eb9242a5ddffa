"""devlint adopted in old code, as users run it: baselines, revisions, suppressions, statistics."""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import Tree

from devlint.check.entries import SUFFIX, sealed
from devlint.cli import main

MIXED = """\
import torch

a = torch.ones(3, device="cuda")
b = torch.ones(3, device="cpu")
print(a + b)
"""
MORE = (
    MIXED
    + """\
c = torch.ones(3, device="cuda")
d = torch.ones(3, device="cpu")
print(c * d)
"""
)
KEEP = "def kept(x):\n    return x\n"
CALL = """\
import torch
from library import kept

a = torch.ones(3, device="cuda")
y = kept(a) + a
"""
Run = Callable[..., Result]
Git = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `devlint …` in the folder of the test, with DEV101 only."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "devlint.toml").write_text('select = ["DEV001", "DEV101"]\n')

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(main, [*arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs `git …` in the folder of the test, a fresh repository."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")

    def invoke(*arguments: str) -> str:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    invoke("init", "-q")
    return invoke


def lines(result: Result) -> list[tuple[str, int]]:
    findings: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return [(finding["path"], finding["line"]) for finding in findings]


# --- the baseline ------------------------------------------------------------------------------


def test_a_baseline_lets_only_new_findings_through(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    assert run("check").exit_code == 1
    result = run("baseline", "create")
    assert (result.exit_code, result.stdout) == (
        0, "1 finding in .devlint-baseline: 1 added, 0 removed\n"
    )  # fmt: skip
    result = run("check")
    assert (result.exit_code, result.stdout) == (
        0, "Found no new device-placement problems in 1 file (1 known before).\n"
    )  # fmt: skip
    tree({"x.py": "\n\n" + MORE})
    result = run("check", "--format", "json")
    assert (result.exit_code, lines(result)) == (1, [("x.py", 10)])
    assert lines(run("check", "--no-baseline", "--format", "json")) == [("x.py", 7), ("x.py", 10)]


def test_a_baseline_is_not_written_over(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    run("baseline", "create")
    result = run("baseline", "create")
    assert result.exit_code == 2
    assert "is there already: `devlint baseline update` renews it" in result.stderr


def test_stale_entries_are_told_and_pruned(tree: Tree, run: Run) -> None:
    tree({"x.py": MORE})
    run("baseline", "create")
    tree({"x.py": MIXED})
    result = run("check")
    assert result.exit_code == 0
    assert "devlint: stale in the baseline, found no more: x.py DEV101 " in result.stderr
    assert run("check", "--error-on-stale").exit_code == 1
    assert "1 finding in .devlint-baseline: 0 added, 1 removed" in run("baseline", "prune").stdout
    assert run("check", "--error-on-stale").stderr == ""


def test_update_adds_and_removes_and_prune_only_removes(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    run("baseline", "create")
    tree({"x.py": MIXED.replace("a + b", "a - b")})
    assert "0 findings in .devlint-baseline: 0 added, 1 removed" in run("baseline", "prune").stdout
    assert run("check").exit_code == 1
    assert "1 finding in .devlint-baseline: 1 added, 0 removed" in run("baseline", "update").stdout
    assert run("check").exit_code == 0


def test_a_baseline_for_some_files_leaves_the_entries_of_others(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED, "y.py": MIXED})
    run("baseline", "create")
    tree({"x.py": "", "y.py": ""})
    assert (
        "1 finding in .devlint-baseline: 0 added, 1 removed"
        in run("baseline", "update", "x.py").stdout
    )


def test_the_baseline_may_be_configured_and_must_be_there_then(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED, "devlint.toml": 'baseline = "ci/known.txt"\n', "ci/x.txt": ""})
    result = run("check")
    assert (result.exit_code, "known.txt: cannot be read: No such file" in result.stderr) == (
        2, True
    )  # fmt: skip
    run("baseline", "create")
    assert run("check").exit_code == 0
    assert Path("ci/known.txt").exists()


def test_a_broken_baseline_is_refused(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED, ".devlint-baseline": "<<<<<<< HEAD\n"})
    result = run("check")
    assert result.exit_code == 2
    assert ".devlint-baseline:1: is no entry" in result.stderr


def test_sarif_tells_old_findings_from_new_ones(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    run("baseline", "create")
    tree({"x.py": MORE})
    (sarif,) = json.loads(run("check", "--format", "sarif").stdout)["runs"]
    assert [result["baselineState"] for result in sarif["results"]] == ["new", "unchanged"]


def test_fixes_are_of_new_findings_only(tree: Tree, run: Run) -> None:
    root = tree({"x.py": MIXED})
    run("baseline", "create")
    tree({"x.py": MORE})
    run("check", "--fix", "--unsafe-fixes")
    fixed = (root / "x.py").read_text()
    assert "print(a + b)" in fixed and "print(c * d)" not in fixed


# --- revisions ---------------------------------------------------------------------------------


def test_only_what_changed_since_a_revision(tree: Tree, run: Run, git: Git) -> None:
    tree({"x.py": MIXED, "y.py": MIXED})
    git("add", ".")
    git("commit", "-qm", "first")
    tree({"x.py": "\n" + MORE, "new.py": MIXED})
    result = run("check", "--diff-base", "HEAD", "--format", "json")
    assert (result.exit_code, lines(result)) == (1, [("new.py", 5), ("x.py", 9)])
    result = run("check", "y.py", "--diff-base", "HEAD", "--format", "json")
    assert (result.exit_code, lines(result)) == (0, [])


def test_what_a_change_causes_elsewhere_is_new(tree: Tree, run: Run, git: Git) -> None:
    """The failing sum stands in a file that was not touched."""
    tree({"library.py": KEEP, "use.py": CALL})
    git("add", ".")
    git("commit", "-qm", "first")
    tree({"library.py": KEEP.replace("return x", "return x.cpu()")})
    result = run("check", "--diff-base", "HEAD", "--format", "json")
    assert [path for path, _ in lines(result)] == ["use.py"]


def test_a_moved_file_keeps_its_findings(tree: Tree, run: Run, git: Git) -> None:
    root = tree({"old.py": MIXED})
    git("add", ".")
    git("commit", "-qm", "first")
    (root / "lib").mkdir()
    git("mv", "old.py", "lib/new.py")
    assert lines(run("check", "--diff-base", "HEAD", "--format", "json")) == []


def test_staged_is_what_will_be_committed(tree: Tree, run: Run, git: Git) -> None:
    root = tree({"x.py": MIXED})
    git("add", ".")
    git("commit", "-qm", "first")
    tree({"x.py": MORE})
    git("add", ".")
    tree({"x.py": "", "untracked.py": MIXED})
    result = run("check", "--staged", "--format", "json")
    assert (result.exit_code, lines(result)) == (1, [("x.py", 8)])
    assert (root / "x.py").read_text() == ""


def test_before_the_first_commit_all_that_is_staged_is_new(tree: Tree, run: Run, git: Git) -> None:
    tree({"x.py": MIXED})
    git("add", ".")
    assert lines(run("check", "--staged", "--format", "json")) == [("x.py", 5)]


def test_a_project_in_a_folder_of_the_repository(
    tree: Tree, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"python/devlint.toml": 'select = ["DEV101"]\n', "python/x.py": MIXED})
    git("add", ".")
    git("commit", "-qm", "first")
    tree({"python/x.py": MORE})
    monkeypatch.chdir(root / "python")
    assert lines(run("check", "--diff-base", "HEAD", "--format", "json")) == [("x.py", 8)]
    git("add", ".")
    assert lines(run("check", "--staged", "--format", "json")) == [("x.py", 8)]


@pytest.mark.parametrize("revision", ["no-such", "--all", ""])
def test_a_revision_that_is_not_there(tree: Tree, run: Run, git: Git, revision: str) -> None:
    tree({"x.py": MIXED})
    git("add", ".")
    git("commit", "-qm", "first")
    result = run("check", f"--diff-base={revision}")
    assert (result.exit_code, f"there is no revision {revision!r}" in result.stderr) == (2, True)


def test_no_repository(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    result = run("check", "--staged")
    assert (result.exit_code, "not a git repository" in result.stderr) == (2, True)


# --- suppressions and statistics ---------------------------------------------------------------


def test_suppressions_are_added_with_a_reason_and_removed_when_unused(tree: Tree, run: Run) -> None:
    root = tree({"x.py": MIXED})
    result = run("check", "--add-ignores", "both are on the host here")
    assert (result.exit_code, result.stdout) == (0, "Suppressed: 1 finding in 1 file.\n")
    ignored = MIXED.replace(
        "a + b)", "a + b)  # devlint: ignore[DEV101] -- both are on the host here"
    )
    assert (root / "x.py").read_text() == ignored
    assert run("check").exit_code == 0
    tree({"x.py": ignored.replace("cpu", "cuda")})
    assert run("check").exit_code == 1
    assert run("check", "--remove-unused-ignores").exit_code == 0
    assert (root / "x.py").read_text() == MIXED.replace("cpu", "cuda")


def test_a_cache_that_a_project_brings_along_leads_no_suppression_out_of_it(
    tree: Tree, run: Run
) -> None:
    root = tree({"project/devlint.toml": "", "project/x.py": MIXED, "elsewhere.py": MIXED})
    run("check", "project", "--select", "DEV101")
    for file in (root / "project/.devlint_cache").glob(f"*{SUFFIX}"):
        told = zlib.decompress(file.read_bytes()[16:]).replace(b'["x.py"', b'["../elsewhere.py"')
        file.write_bytes(sealed(file.name.removesuffix(SUFFIX), zlib.compress(told)))
    assert "elsewhere.py" in run("check", "project", "--select", "DEV101").stdout
    assert run("check", "project", "--select", "DEV101", "--add-ignores", "meant").exit_code == 0
    assert (root / "elsewhere.py").read_text() == MIXED
    assert "ignore[DEV101] -- meant" in (root / "project/x.py").read_text()


@pytest.mark.parametrize("reason", ["", "two\nlines", "with # in it", "\x1b[31m"])
def test_a_reason_is_one_line_of_words(tree: Tree, run: Run, reason: str) -> None:
    tree({"x.py": MIXED})
    result = run("check", "--add-ignores", reason)
    assert (result.exit_code, "needs a reason of one line" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fix", "--diff"),
        ("--staged", "--fix"),
        ("--staged", "--diff-base", "HEAD"),
        ("--add-ignores", "x", "--remove-unused-ignores"),
    ],
)
def test_what_cannot_be_used_together(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("check", *arguments)
    assert (result.exit_code, "cannot be used together" in result.stderr) == (2, True)


def test_statistics_by_rule_folder_confidence_and_fix(tree: Tree, run: Run) -> None:
    tree({"a/b/x.py": MORE, "a/y.py": MIXED})
    result = run("stats", "--format", "json")
    assert result.exit_code == 0
    tables = json.loads(result.stdout)
    row = tables["rule"]["DEV101 mixed-device-operation"]
    assert (row["findings"], row["errors"]) == (3, 3)
    assert row["safe_fix"] + row["unsafe_fix"] + row["by_hand"] == 3
    assert {folder: each["findings"] for folder, each in tables["folder"].items()} == {
        "a/b": 2, "a": 1
    }  # fmt: skip
    assert tables["confidence"].keys() == {"certain"}
    assert "DEV101 mixed-device-operation         3" in run("stats").stdout


def test_statistics_say_what_is_in_the_baseline(tree: Tree, run: Run) -> None:
    tree({"x.py": MIXED})
    run("baseline", "create")
    tree({"x.py": MORE})
    total = json.loads(run("stats", "--format", "json").stdout)["total"]["all"]
    assert (total["findings"], total["in_baseline"]) == (2, 1)
