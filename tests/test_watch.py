"""`devlint check --watch`: what came and what went, at each save."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest
from click.testing import CliRunner
from fakes import Tree

from devlint import engine
from devlint.check import groups
from devlint.cli import main
from devlint.config import Config
from devlint.findings import Confidence, FileError, Finding, Location, Severity
from devlint.report import Report
from devlint.rules import load_rules
from devlint.watch.changes import Changes
from devlint.watch.differences import differences, standing
from devlint.watch.looks import Looks

BAD = 'import torch\n\na = torch.ones(3).to("cuda:0")\nb = torch.ones(3, device="cpu")\nc = a + b\n'
GOOD = BAD.replace('"cpu"', '"cuda:0"')
MAKE = 'import torch\n\n\ndef make():\n    return torch.ones(4, device="cuda:0")\n'
USE = 'import torch\nfrom make import make\n\nx = make() + torch.ones(4, device="cuda:0")\n'
ONLY = '[tool.devlint]\nselect = ["DEV101"]\njobs = 1\n'
FILLER = "# a line\n" * 600
LONG = 120.0  # seconds in which a busy machine comes to anything


# --- the process, and real files -----------------------------------------------------------------


@dataclass
class Watcher:
    """A `devlint check --watch` that runs, and the lines that it has printed and nobody read."""

    process: subprocess.Popen[str]
    lines: Queue[str]

    def says(self, *wanted: str) -> list[str]:
        """The lines up to the one that has all of these words."""
        seen = []
        while True:
            try:
                line = self.lines.get(timeout=LONG)
            except Empty:
                raise AssertionError(f"no line with {wanted} after {seen}") from None
            seen.append(line)
            if all(word in line for word in wanted):
                return seen


@contextmanager
def watching(folder: Path, *options: str) -> Iterator[Watcher]:
    command = [sys.executable, "-m", "devlint", "check", "--watch", "--format=concise", *options]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        watcher = Watcher(process, Queue())
        Thread(
            target=lambda: [watcher.lines.put(line) for line in process.stdout], daemon=True
        ).start()
        try:
            yield watcher
        finally:
            process.kill()


def save(file: Path, text: str) -> None:
    """Save as editors do: nobody sees a file that is half written."""
    half = file.with_suffix(".half")
    half.write_text(text)
    half.replace(file)


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a signal")
def test_each_save_is_told_by_what_came_and_what_went(tree: Tree) -> None:
    root = tree({"pyproject.toml": ONLY, "a.py": GOOD, "make.py": MAKE, "use.py": USE})
    with watching(root) as watcher:
        watcher.says("Watching 3 files; Ctrl-C ends.")

        save(root / "a.py", BAD)
        watcher.says("a.py:5:5: DEV101")
        watcher.says("a.py: 1 came, 0 went; 1 error now.")

        save(root / "a.py", BAD.replace("= a + b", "= a - b"))
        watcher.says("a.py:5:5: DEV101", "`-`")
        watcher.says("gone: a.py:5:5: DEV101", "`+`")
        watcher.says("1 came, 1 went; 1 error now.")

        save(root / "a.py", "def f(:\n")  # as files are that are being written
        watcher.says("a.py:1:7: error: syntax error")
        watcher.says("1 came, 0 went; no findings, 1 file not checked now.")
        save(root / "a.py", BAD.replace("= a + b", "= a - b"))
        watcher.says("gone: a.py:1:7: syntax error")
        watcher.says("0 came, 1 went; 1 error now.")

        save(root / "make.py", MAKE.replace("cuda:0", "cpu"))
        watcher.says("use.py:4:5: DEV101")  # a file that nobody touched
        watcher.says("1 came, 0 went; 2 errors now.")

        save(root / "new.py", BAD)
        watcher.says("new.py:5:5: DEV101")
        watcher.says("1 came, 0 went; 3 errors now.")
        (root / "new.py").unlink()
        watcher.says("gone: new.py:5:5: DEV101")
        watcher.says("0 came, 1 went; 2 errors now.")

        save(root / "pyproject.toml", ONLY.replace("DEV101", "DEV3"))
        watcher.says("0 came, 2 went; no findings now.")
        save(root / "pyproject.toml", "[tool.devlint]\nselect = 3\n")
        save(root / "pyproject.toml", ONLY)
        watcher.says("2 came, 0 went; 2 errors now.")

        watcher.process.send_signal(signal.SIGINT)
        assert watcher.process.wait(LONG) == 130
        assert watcher.process.stderr is not None
        said = watcher.process.stderr.read()
        assert "Traceback" not in said


# --- the two looks -------------------------------------------------------------------------------


@pytest.fixture
def project(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two groups: one with a module and its user, another one."""
    monkeypatch.setattr(groups, "ALONE", 0)
    monkeypatch.setattr(groups, "LEAST", 4_000)
    monkeypatch.setattr(groups, "MOST", 9_000)
    return tree({"a.py": GOOD + FILLER, "make.py": MAKE, "use.py": USE, "z/last.py": GOOD + FILLER})


def looking(root: Path, **options: object) -> Looks:
    config = Config(root, min_confidence=Confidence.POSSIBLE, **options)  # type: ignore[arg-type]
    looks = Looks([root], config, load_rules(), config.cache_folder())
    looks.second(lambda: None)
    return looks


def whole(looks: Looks) -> Report:
    return replace(engine.check(looks.paths, looks.config, looks.rules), seconds={}, digests={})


def seen(looks: Looks) -> Report:
    return replace(looks.report, seconds={}, digests={})


@pytest.mark.parametrize("cache", [True, False])
def test_the_second_look_sees_what_a_check_reports(project: Path, cache: bool) -> None:
    looks = looking(project, cache=cache)
    assert seen(looks) == whole(looks)
    for name, text in (("a.py", BAD), ("make.py", MAKE.replace("cuda:0", "cpu")), ("new.py", BAD)):
        (project / name).write_text(text)
        before = looks.report
        looks.second(lambda: None)
        assert seen(looks) == whole(looks)
        assert differences(before, looks.report).came
    assert (project / ".devlint_cache").exists() == cache


def test_the_first_look_at_a_leaf_sees_what_the_second_does(project: Path) -> None:
    looks = looking(project)
    (project / "z/last.py").write_text(BAD + FILLER)
    assert looks.first([project / "z/last.py"])
    first = looks.report
    looks.second(lambda: None)
    assert first.findings == looks.report.findings
    assert {f.rule for f in first.findings if f.location.path == "z/last.py"} >= {"DEV101"}


def test_only_the_groups_that_a_change_reaches_are_inferred_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = looking(project, cache=False)
    before = looks.outcomes
    (project / "z/last.py").write_text(BAD + FILLER)
    looks.second(lambda: None)
    same = [group for group, outcome in looks.outcomes.items() if outcome is before.get(group)]
    assert [file.name for group in same for file in group.files] == ["a.py", "make.py", "use.py"]


def test_what_leads_to_other_files_waits_for_the_second_look(project: Path) -> None:
    """Alone, a file may see less of what it imports: that is no reason to call a finding gone."""
    (project / "make.py").write_text(MAKE.replace("cuda:0", "cpu"))
    looks = looking(project)
    assert "use.py" in {finding.location.path for finding in looks.report.findings}
    looks._alone = lambda file, group, setting: looks.outcomes[group].__class__()  # type: ignore[method-assign]
    assert looks.first([project / "use.py"])
    assert "use.py" in {finding.location.path for finding in looks.report.findings}


class Ended(BaseException):
    pass


def test_a_second_look_that_is_ended_leaves_what_was_seen(project: Path) -> None:
    def end() -> None:
        raise Ended

    looks = looking(project)
    for name in ("a.py", "z/last.py"):
        (project / name).write_text(BAD + FILLER)
        assert looks.first([project / name])
        with pytest.raises(Ended):
            looks.second(end)
    paths = {f.location.path for f in looks.report.findings if f.rule == "DEV101"}
    assert paths >= {"a.py", "z/last.py"}, "the first look at one file is not undone by the next"
    looks.second(lambda: None)
    assert seen(looks) == whole(looks)


def test_a_file_that_is_deleted_during_the_second_look_is_gone_and_no_error(project: Path) -> None:
    (project / "z/last.py").write_text(BAD + FILLER)
    looks = looking(project, cache=False)
    before = looks.report

    def delete() -> None:  # between the search for files and the reading of this one
        (project / "z/last.py").unlink(missing_ok=True)

    (project / "a.py").write_text(BAD + FILLER)
    (project / "z/last.py").write_text(BAD.replace("= a + b", "= a - b") + FILLER)
    looks.second(delete)
    assert not looks.report.errors
    went = {finding.location.path for finding in differences(before, looks.report).went}
    assert went == {"z/last.py"}
    seen_then = looks.report
    looks.second(lambda: None)
    assert not differences(seen_then, looks.report)


@pytest.mark.parametrize(
    "names", [["new.py"], ["gone.py"], ["a.py", "make.py", "use.py", "z/last.py"]]
)
def test_new_files_and_many_are_for_the_second_look(project: Path, names: list[str]) -> None:
    looks = looking(project)
    before = looks.report
    (project / "new.py").write_text(BAD)
    assert not looks.first([project / name for name in names])
    assert looks.report is before


# --- differences ---------------------------------------------------------------------------------


def report(*names: str, broken: str = "", line: int = 1) -> Report:
    findings = [
        Finding(
            "DEV101", "mixed", Severity.ERROR, Confidence.CERTAIN,
            Location(name, line, 1, line, 2), "it is", fingerprint=name,
        )
        for name in names
    ]  # fmt: skip
    errors = [FileError(broken, line, 1, "syntax error")] if broken else []
    return Report(Path("/project"), checked={"a", "b"} - {broken}, findings=findings, errors=errors)


def test_what_only_moved_is_the_same() -> None:
    assert not differences(report("a", "b"), report("a", "b", line=7))
    assert not differences(report(broken="a"), report(broken="a", line=7))


def test_what_came_and_what_went() -> None:
    found = differences(report("a"), report("b", broken="c"))
    assert [f.location.path for f in found.came] == ["b"]
    assert [f.location.path for f in found.went] == ["a"]
    assert [e.path for e in found.broke] == ["c"]
    back = differences(report("b", broken="c"), report("a"))
    assert (back.came, back.went) == (found.went, found.came)
    assert back.mended == found.broke


def test_a_broken_file_keeps_what_was_found_in_it() -> None:
    before, broken, after = report("a", "b"), report("b", broken="a"), report("a", "b")
    assert not differences(before, broken).went
    assert not differences(standing(before, broken), after).came
    assert differences(standing(before, broken), report("b")).went == tuple(before.findings[:1])


# --- which changes count -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("a.py", True),
        ("sub/a.ipynb", True),
        ("notes.txt", False),
        ("knowledge.toml", True),
        (".devlint_cache/index.json.z", False),
        (".git/HEAD", False),
        ("venv/lib/a.py", False),
        ("sub", True),
        ("a_folder_that_went", True),
    ],
)
def test_changes_of_what_is_checked_count(tmp_path: Path, path: str, counts: bool) -> None:
    (tmp_path / "sub").mkdir()
    changes = Changes([tmp_path], lambda file: file.name == "knowledge.toml")
    assert changes._wants(None, str(tmp_path / path)) == counts


# --- what is refused -----------------------------------------------------------------------------


@pytest.fixture
def run(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    monkeypatch.chdir(tree({"a.py": "x = 1\n"}))

    def invoke(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["check", "--watch", *arguments])
        return result.exit_code, result.stderr

    return invoke


def test_without_watchfiles_the_extra_is_named(
    run: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert run() == (2, "Error: --watch needs watchfiles: pip install 'devlint[watch]'\n")


@pytest.mark.parametrize(
    "option", ["--fix", "--diff", "--staged", "-", "--output=json=x.json", "--shard=1/2"]
)
def test_what_is_done_once_is_not_watched(run: Callable[..., tuple[int, str]], option: str) -> None:
    code, said = run(option)
    assert code == 2
    assert "cannot be used together" in said


def test_formats_of_whole_reports_are_not_watched(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run("--format=json")
    assert code == 2
    assert "--watch prints text or concise, not json" in said
