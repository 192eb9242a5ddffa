"""Checks with several processes: the same report for any number, whatever becomes of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import fakes
import pytest
from fakes import Tree

from devlint import engine
from devlint.check import executors, groups, processes
from devlint.check.groups import Group
from devlint.check.outcome import Outcome
from devlint.check.processes import Processes
from devlint.check.setting import Infer, Setting
from devlint.config import Config
from devlint.findings import Confidence
from devlint.inference.facts import Facts
from devlint.knowledge import Knowledge
from devlint.project import mentions
from devlint.project.imports import Importer
from devlint.project.source import ParsedFile
from devlint.report import Report
from devlint.rules import load_rules

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="a process cannot be copied here")


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups as they are in a large project, in a small one."""
    monkeypatch.setattr(groups, "ALONE", 0)
    monkeypatch.setattr(groups, "LEAST", 4_000)
    monkeypatch.setattr(groups, "MOST", 9_000)


def check(root: Path, jobs: int) -> Report:
    config = Config(root, min_confidence=Confidence.POSSIBLE, jobs=jobs)
    return replace(engine.check([root], config, load_rules()), seconds={})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURES / "teaching", tmp_path / "teaching")
    shutil.copytree(FIXTURES / "projects", tmp_path / "projects")
    (tmp_path / "broken.py").write_text("def f(:\n")
    meant = "import torch\nx = torch.ones(3).cuda() + torch.ones(3)  # devlint: ignore -- meant\n"
    (tmp_path / "meant.py").write_text(meant)
    return tmp_path


@pytest.mark.parametrize("start", [pytest.param("fork", marks=needs_fork), "spawn"])
def test_the_report_is_the_same_for_any_number(
    project: Path, small_groups: None, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setattr(processes, "START", start)
    alone = check(project, 1)
    assert alone.findings and alone.errors and alone.suppressed
    for jobs in (2, 3):
        assert check(project, jobs) == alone


@needs_fork
def test_many_groups_are_checked_by_another_process_where_one_is_asked_for(
    project: Path, small_groups: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends when it has parsed much, and so frees its memory."""
    monkeypatch.setattr(engine, "FEW", 1000)
    here = check(project, 1)
    started: list[int] = []
    start_worker = Processes.start_worker
    monkeypatch.setattr(
        Processes,
        "start_worker",
        lambda self, run, own: started.append(len(own)) or start_worker(self, run, own),
    )
    monkeypatch.setattr(engine, "FEW", 1)
    monkeypatch.setattr(executors, "COLLECT_AFTER", 1)
    assert check(project, 1) == here
    assert len(started) > 1 and started[-1] == 1


@needs_fork
def test_copies_of_a_process_have_what_it_found_in_the_texts(
    project: Path, small_groups: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    texts_of = mentions.texts_of
    monkeypatch.setattr(mentions, "texts_of", lambda root: looks.append(root) or texts_of(root))
    serve = processes._serve

    def serve_and_compare(*given: object) -> None:
        looks.clear()
        monkeypatch.setattr(mentions, "texts_of", lambda root: pytest.fail("looked through again"))
        serve(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(processes, "_serve", serve_and_compare)
    report = check(project, 2)
    assert looks == [project] and all("was not analysed" not in e.message for e in report.errors)


def test_the_report_is_the_same_whoever_is_first(tree: Tree, small_groups: None) -> None:
    """What waits for callers is settled when all groups are done."""
    shift = "import torch\n\n\ndef shift(rows: torch.Tensor):\n    return rows + torch.arange(4)\n"
    use = "import torch\nfrom a.shift import shift\n\n\ndef use(path):\n"
    use += '    return shift(torch.load(path, map_location="cpu"))\n'
    filler = "# a line\n" * 600
    root = tree({"a/shift.py": shift + filler, "b/use.py": use + filler, "c/last.py": filler})
    alone = check(root, 1)
    shown = [(f.rule, f.confidence) for f in alone.findings]
    assert shown == [("DEV102", Confidence.POSSIBLE)], (
        "a call that is checked later brings the host"
    )
    assert check(root, 3) == alone


def outcomes_of(files: list[Path], infer: Infer, reached: list[Path], jobs: int = 2) -> Outcome:
    """All that processes say of groups of two files each, in one."""
    setting = Setting.of(Config(files[0].parent), fakes.all_rules(), {}, infer)
    parts = [Group(tuple(files[n : n + 2])) for n in range(0, len(files), 2)]
    found = Outcome()
    for outcome in Processes(setting, jobs)(parts, reached.append):
        found.checked += outcome.checked
        found.errors += outcome.errors
        found.told += outcome.told
    return found


@pytest.fixture
def files(tree: Tree) -> list[Path]:
    root = tree({f"m{number}.py": "x = a + b\n" for number in range(6)})
    return sorted(root.iterdir())


@needs_fork
@pytest.mark.parametrize(
    ("end", "said"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed (SIGKILL)"),
        (lambda: os._exit(7), "ended (exit code 7)"),
    ],
)
def test_a_process_that_dies_costs_the_file_that_it_was_at(
    files: list[Path], end: object, said: str
) -> None:
    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        if parsed.path in ("m2.py", "m3.py"):
            end()  # type: ignore[operator]
        return fakes.infer(parsed, importer, knowledge)

    reached: list[Path] = []
    found = outcomes_of(files, infer, reached)
    assert found.checked == ["m0.py", "m1.py", "m4.py", "m5.py"]
    message = f"was not analysed: the process that checked it {said}"
    assert [(e.path, e.line, e.message) for e in found.errors] == [
        ("m2.py", 1, message),
        ("m3.py", 1, message),
    ]
    assert {told.finding.location.path for told in found.told} == set(found.checked)
    assert set(reached) == set(files)


@needs_fork
def test_where_no_process_lives_the_files_are_checked_here(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_serve", lambda *arguments: os._exit(1))
    found = outcomes_of(files, fakes.infer, [])
    assert found.checked == [file.name for file in files]
    assert found.errors == []


@needs_fork
def test_a_process_that_parsed_much_is_replaced(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory goes with it; what it would have checked, its successor does."""

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        with (files[0].parent / "processes").open("a") as log:
            log.write(f"{os.getpid()}\n")
        return fakes.infer(parsed, importer, knowledge)

    monkeypatch.setattr(executors, "COLLECT_AFTER", 0)
    found = outcomes_of(files, infer, [], jobs=1)
    assert found.checked == [file.name for file in files]
    used = (files[0].parent / "processes").read_text().split()
    assert [used.count(each) for each in dict.fromkeys(used)] == [2, 2, 2]


def test_a_check_of_one_group_starts_no_process(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(processes.Processes, "start_worker")
    root = tree({"a.py": "import torch\nx = torch.ones(3).cuda() + torch.ones(3)\n"})
    assert check(root, 8).findings


SLOW = """\
import os, sys, time
from pathlib import Path
from devlint.check import groups, processes, session

groups.ALONE = groups.LEAST = groups.MOST = 0
check_file = session.Session.check_file

def slow(self, file):
    Path(os.environ["PIDS"], str(os.getpid())).touch()
    time.sleep(60)

session.Session.check_file = slow
processes.START = "fork"
sys.argv = ["devlint", "check", "--jobs", "2", "."]
from devlint.__main__ import program
program()
"""


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_no_process_lives_longer_than_the_check(tmp_path: Path, end: signal.Signals) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    for number in range(4):
        (folder / f"m{number}.py").write_text("x = 1\n")
    script = SLOW if end is signal.SIGINT else SLOW.replace("time.sleep(60)", "time.sleep(0.2)")
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PIDS": str(pids), "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # whoever runs the tests in the background may ignore it, and all that they start then do
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        wait_for(lambda: len(list(pids.iterdir())) == 2)
        if end is signal.SIGINT:
            os.killpg(process.pid, end)  # as a terminal does it
        else:
            process.kill()
        code = process.wait(30)
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert (code, said) == ((130 if end is signal.SIGINT else -signal.SIGKILL), "")
    wait_for(lambda: not any(lives(int(file.name)) for file in pids.iterdir()))


def wait_for(condition: object) -> None:
    for _ in range(600):
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.05)
    raise AssertionError("it has not come to that")
