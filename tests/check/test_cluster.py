"""Checks on a cluster: a real one of two workers on this machine, one of which is killed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from fakes import Tree

from devlint import engine
from devlint.check import cluster, groups
from devlint.check.cluster import Cluster, ClusterError, check_on_worker, dask_client
from devlint.check.groups import Group
from devlint.check.processes import Recipe
from devlint.check.setting import Setting
from devlint.cli import main
from devlint.config import Config, find_config
from devlint.findings import Confidence
from devlint.report import Report
from devlint.rules import load_rules

distributed = pytest.importorskip("distributed")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
# Says which processes check, and has them wait while a file `hold` is there.
TELLING = """\
import os
import time
from pathlib import Path

from devlint.findings import Severity
from devlint.rule import Rule

HERE = Path(__file__).parent


def check(facts):
    (HERE / "pids" / str(os.getpid())).touch()
    while (HERE / "hold").exists():
        time.sleep(0.02)
    return ()


RULE = Rule("HOUSE1", "telling", Severity.WARNING, "It.", "It.", "It.", "", (), (), check)
"""
LONG = 120.0  # seconds in which a busy machine comes to anything


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of several groups, and a rule that tells who runs it."""
    monkeypatch.setattr(groups, "ALONE", 0)
    monkeypatch.setattr(groups, "LEAST", 4_000)
    monkeypatch.setattr(groups, "MOST", 9_000)
    root = tmp_path / "project"
    shutil.copytree(FIXTURES / "projects", root / "projects")
    (root / "broken.py").write_text("def f(:\n")
    (root / "pids").mkdir()
    (root / "telling.py").write_text(TELLING)
    (root / "devlint.toml").write_text(
        'rule-paths = ["telling.py"]\nexclude = ["telling.py"]\nmin-confidence = "possible"\n'
    )
    return root


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as found:
        yield found


def check(root: Path, executor: Any = None) -> Report:
    config = find_config(root, root / "devlint.toml")
    rules = load_rules(config.rule_files())
    return replace(engine.check([root], config, rules, executor=executor), seconds={})


def workers(root: Path) -> set[int]:
    return {int(file.name) for file in (root / "pids").iterdir()}


def test_a_cluster_says_the_same_though_a_worker_is_killed(project: Path, local: Any) -> None:
    alone = check(project)
    assert alone.findings and alone.errors and not alone.errors[1:]
    for file in (project / "pids").iterdir():
        file.unlink()
    (project / "hold").touch()
    killed = []

    def kill_one() -> None:
        end = time.monotonic() + LONG
        while len(workers(project)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        killed.append(min(workers(project)))
        os.kill(killed[0], signal.SIGKILL)
        (project / "hold").unlink()

    thread = Thread(target=kill_one)
    thread.start()
    with dask_client(local.scheduler_address) as client:
        spread = check(project, lambda setting: Cluster(setting, client))
    thread.join()
    assert killed
    assert os.getpid() not in workers(project)
    assert spread == alone


def test_the_command_names_the_cluster(
    tree: Tree, local: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a.py": "import torch\n\nx = torch.ones(3).cuda() + torch.ones(3)\n"})
    monkeypatch.chdir(root)
    alone = CliRunner().invoke(main, ["check", "--no-cache"])
    options = ["--executor=dask", f"--scheduler={local.scheduler_address}", "--no-cache"]
    spread = CliRunner().invoke(main, ["check", *options])
    assert (spread.exit_code, spread.stdout) == (alone.exit_code, alone.stdout)
    assert "DEV101" in spread.stdout


def test_what_several_workers_die_of_is_done_here(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own: it costs the file that it is at, not the check."""
    root = tree({"a.py": "x = 1\n", "b.py": "x = 1\n"})
    config = Config(root, min_confidence=Confidence.POSSIBLE)
    parts = [Group((root / "a.py",)), Group((root / "b.py",))]
    done = check_on_worker(parts[0], Recipe(config, ("DEV101",), {}), cluster.__version__)

    class Future:
        def __init__(self, key: int) -> None:
            self.key = key

        def result(self) -> Any:
            if self.key:
                raise distributed.KilledWorker("task", None, 3)
            return done

    class Client:
        loop = None

        def map(self, *arguments: object, **options: object) -> list[Future]:
            return [Future(0), Future(1)]

        def cancel(self, futures: object) -> None:
            pass

    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: reversed(futures))
    reached: list[Path] = []
    setting = Setting.of(config, load_rules(), {}, None)  # type: ignore[arg-type]
    monkeypatch.setattr(
        cluster, "Processes", lambda setting, jobs: lambda groups, reached: [groups[0].files]
    )
    first, second = Cluster(setting, Client())(parts, reached.append)
    assert first.checked == ["a.py"]
    assert second == (root / "b.py",), "what the other executor said of it"
    assert set(reached) == {root / "a.py", root / "b.py"}


# --- what is refused -----------------------------------------------------------------------------


def test_a_worker_with_another_devlint_or_without_the_project_says_so(tmp_path: Path) -> None:
    recipe = Recipe(Config(tmp_path / "gone"), (), {})
    with pytest.raises(RuntimeError, match=r"it has devlint .*, the check is one of 0\.0\.0"):
        check_on_worker(Group(()), recipe, "0.0.0")
    with pytest.raises(RuntimeError, match=r"it has no folder .*gone"):
        check_on_worker(Group(()), recipe, cluster.__version__)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    with (
        pytest.raises(ClusterError, match=r"no scheduler at tcp://127\.0\.0\.1:1: "),
        dask_client("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--executor=dask"], "needs a scheduler: name it by --scheduler"),
        (["--scheduler=tcp://127.0.0.1:1"], "--scheduler needs --executor"),
        (["--executor=dask", "--fix"], "--executor and --fix cannot be used together"),
    ],
)
def test_what_is_missing_is_named(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.chdir(tree({"a.py": "x = 1\n"}))
    result = CliRunner().invoke(main, ["check", *options])
    assert result.exit_code == 2
    assert said in result.stderr


def test_without_distributed_the_extra_is_named(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree({"a.py": "x = 1\n"}))
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = CliRunner().invoke(main, ["check", "--executor=dask", "--scheduler=tcp://h:1"])
    assert result.exit_code == 2
    assert "pip install 'devlint[distributed]'" in result.stderr
