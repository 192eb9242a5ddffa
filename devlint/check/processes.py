"""The executor that checks groups in processes of their own.

Each process is told a group by its number and sends the outcome back as JSON; before each file it
says which, so that one that dies costs that file, and the rest of its group is checked again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from devlint.check.executors import Checker, InProcess, Reached, survey_of
from devlint.check.groups import Group
from devlint.check.outcome import Outcome
from devlint.check.plain_data import from_plain, to_plain
from devlint.check.resources import with_deep_stack, without_garbage_collection
from devlint.check.setting import Setting
from devlint.config import Config
from devlint.findings import FileError
from devlint.inference.api import infer_file
from devlint.project.imports import Project
from devlint.project.survey import Survey
from devlint.records import dataclass
from devlint.rules import load_rules

# A copy of this process has all that it needs; where there is none, or where the system's libraries
# do not stand one, a new process loads the rules again.
START = "fork" if sys.platform == "linux" else "spawn"
PATIENCE = 5.0  # seconds for a process to end


@dataclass(frozen=True, slots=True)
class Recipe:
    """What another process needs to make the same setting."""

    config: Config
    codes: tuple[str, ...]
    contents: Mapping[Path, bytes]

    def setting(self) -> Setting:
        rules = load_rules(self.config.rule_files())
        chosen = tuple(rule for rule in rules if rule.code in self.codes)
        return Setting.of(self.config, chosen, self.contents, infer_file)


@dataclass(slots=True)
class _Worker:
    """A process, our end of its pipe, the groups that are its to check, and the one it is at."""

    process: BaseProcess
    pipe: Connection
    own: deque[int]
    group: int | None = None
    file: Path | None = None


@dataclass(slots=True)
class _Run:
    """The groups, those outcomes that there are, and the files that processes died of."""

    groups: Sequence[Group]
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    fatal: dict[int, dict[Path, FileError]] = field(default_factory=dict)


class Processes:
    """The executor that processes of their own are, at most `jobs` of them."""

    def __init__(self, setting: Setting, jobs: int, start: str | None = None) -> None:
        self.setting = setting
        self.jobs = jobs
        self.start = start or START
        self.workers: list[_Worker] = []
        self.survey: Survey | None = None  # which the copies of this process share

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]:
        run = _Run(groups)
        count = min(self.jobs, len(groups))
        if count and self.start == "fork":
            self.survey = survey_of(self.setting)
            self.survey.look_through()
        bounds = [len(groups) * number // count for number in range(count + 1)]
        try:
            for first, last in pairwise(bounds):
                self.start_worker(run, deque(range(first, last)))
            while any(worker.group is not None for worker in self.workers):
                busy = {w.pipe: w for w in self.workers if w.group is not None}
                for pipe in wait(list(busy)):
                    self.hear(busy[pipe], run, reached)  # type: ignore[index]
        finally:
            self.end()
        self.check_the_rest(run, reached)
        return [run.outcomes[number] for number in range(len(groups))]

    def start_worker(self, run: _Run, own: deque[int]) -> None:
        context = multiprocessing.get_context(self.start)
        ours, theirs = context.Pipe()
        others = [worker.pipe for worker in self.workers] + [ours]
        what: object = self.setting
        if self.start != "fork":
            rules = tuple(rule.code for rule in self.setting.rules)
            what, others = Recipe(self.setting.config, rules, self.setting.contents), []
        process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(what, list(run.groups), theirs, others, self.survey), daemon=True
        )
        process.start()
        theirs.close()
        worker = _Worker(process, ours, own)
        self.workers.append(worker)
        self.give(worker, run)

    def give(self, worker: _Worker, run: _Run) -> None:
        """Hand a worker its next group, else one of those that another one would come to last."""
        worker.group = worker.file = None
        longest = max((w.own for w in self.workers), key=len)
        if worker.own:
            number = worker.own.popleft()
        elif longest:
            number = longest.pop()
        else:
            return
        worker.group = number
        without = [run.groups[number].files.index(file) for file in run.fatal.get(number, ())]
        with suppress(OSError):  # it has died: that is heard at the other end
            worker.pipe.send_bytes(json.dumps([number, without]).encode())

    def hear(self, worker: _Worker, run: _Run, reached: Reached) -> None:
        """Take what a worker says: the file that it comes to, an outcome, or that it is gone."""
        assert worker.group is not None
        try:
            message = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            self.bury(worker, run)
            return
        data = json.loads(message)
        if isinstance(data, int):
            worker.file = run.groups[worker.group].files[data]
            reached(worker.file)
            return
        plain, is_full = data
        outcome = _with_fatal(from_plain(Outcome, plain), run.fatal.get(worker.group, {}))
        run.outcomes[worker.group] = outcome
        if is_full and any(each.own for each in self.workers):
            self.replace(worker, run)
        else:
            self.give(worker, run)

    def replace(self, worker: _Worker, run: _Run) -> None:
        """Let a new process go on: that an old one ends frees its memory at once, where to collect
        the cycles in it takes a tenth of the time of the check."""
        self.workers.remove(worker)
        worker.pipe.close()  # so it ends
        worker.process.join(PATIENCE)
        with suppress(OSError):  # no process can be started: see `check_the_rest`
            self.start_worker(run, worker.own)

    def bury(self, worker: _Worker, run: _Run) -> None:
        """Note the file that a worker died of, and have another one check the rest."""
        self.workers.remove(worker)
        worker.pipe.close()
        worker.process.join(PATIENCE)
        assert worker.group is not None
        if worker.file is None:
            return  # not a file's fault: `check_the_rest` comes to its groups
        path = Project(self.setting.config.root).path_of(worker.file)
        cause = _end_of(worker.process.exitcode)
        error = FileError(path, 1, 1, f"was not analysed: the process that checked it {cause}")
        run.fatal.setdefault(worker.group, {})[worker.file] = error
        self.start_worker(run, deque((worker.group, *worker.own)))

    def check_the_rest(self, run: _Run, reached: Reached) -> None:
        """Check here what no process came to, because none could be started."""
        left = [number for number in range(len(run.groups)) if number not in run.outcomes]
        fatal = [run.fatal.get(number, {}) for number in left]
        spared = [
            replace(group, files=tuple(file for file in group.files if file not in dead))
            for group, dead in zip((run.groups[number] for number in left), fatal, strict=True)
        ]
        if not left:
            return
        outcomes = InProcess(self.setting)(spared, reached)
        for number, outcome, dead in zip(left, outcomes, fatal, strict=True):
            run.outcomes[number] = _with_fatal(outcome, dead)

    def end(self) -> None:
        """Let no process live on, whatever it is at."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join(PATIENCE)
            worker.pipe.close()
        self.workers.clear()


def _with_fatal(outcome: Outcome, fatal: Mapping[Path, FileError]) -> Outcome:
    """The outcome of a group with the files that could not be checked."""
    if fatal:
        outcome.errors += fatal.values()
        outcome.is_sound = False
    return outcome


def _end_of(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"was killed ({signal.Signals(-code).name})"
        except ValueError:
            return f"was killed (signal {-code})"
    return f"ended (exit code {code})"


# --- at the other end --------------------------------------------------------------------------


def _serve(
    what: Setting | Recipe,
    groups: Sequence[Group],
    pipe: Connection,
    others: Sequence[Connection],
    survey: Survey | None,
) -> None:
    """Check group after group, until nobody asks any more.

    survey: that of our parent, if this process is a copy.
    others: our parent's ends of pipes, which this process has only because it is a copy: with them
    closed, each worker hears when the parent is gone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    for other in others:
        other.close()
    setting = what.setting() if isinstance(what, Recipe) else what
    checker = Checker(setting, survey=survey)

    def check(number: int, without: Sequence[int]) -> Outcome:
        group = groups[number]
        places = {file: place for place, file in enumerate(group.files)}

        def reached(file: Path) -> None:
            pipe.send_bytes(json.dumps(places[file]).encode())

        return checker.check_group(group, reached, {group.files[place] for place in without})

    def work() -> None:
        while True:
            outcome = check(*json.loads(pipe.recv_bytes()))
            pipe.send_bytes(json.dumps([to_plain(outcome), checker.is_full]).encode())

    try:
        with without_garbage_collection():
            with_deep_stack(work)
    except (EOFError, OSError):
        os._exit(0)  # the parent is gone, or has no more for us
