"""The two looks at a change: at the saved file alone, then at all that it reaches.

The first takes what the file says by itself, put in the place of what its group said of it; the
second is the check, with all that has not changed remembered. Only the second is sure: a finding
that the first one misses, and whose trace leads to other files, stays until then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from devlint import engine
from devlint.check.answers import Answers, Remembered
from devlint.check.cache import Cache, Cached, Outcomes, can_be_kept
from devlint.check.executors import Executor, InProcess, Reached
from devlint.check.groups import Group
from devlint.check.outcome import Outcome, Told
from devlint.check.resources import with_deep_stack, without_garbage_collection
from devlint.check.session import Session
from devlint.check.setting import Setting
from devlint.config import Config
from devlint.inference.api import infer_file
from devlint.project.imports import Project, Trees
from devlint.report import Report
from devlint.rule import Rule

FEW = 2  # groups that this process checks faster than it starts others
AT_ONCE = 3  # saved files that are looked at alone


class Looks:
    """Looks at the files of some paths, again and again; `report` is what the last one saw."""

    def __init__(
        self, paths: Sequence[Path], config: Config, rules: tuple[Rule, ...], cache: Path | None
    ) -> None:
        self.paths = paths
        self.config = config
        self.rules = rules
        self.cache = cache
        self.trees = Trees()
        self.remembered = Remembered({})
        self.outcomes: dict[Group, Outcome] = {}  # of the last second look
        self.newer: dict[Group, Outcome] = {}  # with what first looks saw since
        self.called = Outcome()
        self.work: engine.Work | None = None
        self.report = Report(config.root)

    def first(self, files: Collection[Path]) -> bool:
        """Look at saved files alone; False where that would say nothing."""
        work = self.work
        groups = {file: group for group in self.outcomes for file in group.files}
        if work is None or len(files) > AT_ONCE or not groups.keys() >= set(files):
            return False
        if not all(file.exists() for file in files):
            return False
        for file in files:
            alone = self._alone(file, groups[file], work.setting)
            path = Project(self.config.root).path_of(file)
            self.newer[groups[file]] = _with_news(self.newer[groups[file]], path, alone)
        settling = work.settling(self.newer.values())
        settling.add_feeds(self.called)
        self.report = settling.finish()
        return True

    def second(self, interrupt: Callable[[], None], start: str | None = None) -> None:
        """Look at everything; `interrupt` may end it by what it raises, and nothing has happened.

        start: how other processes are started. Raises KnowledgeError.
        """
        infer = partial(infer_file, interrupt=interrupt)
        setting = Setting.of(self.config, self.rules, {}, infer, interrupt)
        work = engine.Work(self.paths, setting)
        kept = None
        if self.cache is not None and can_be_kept(setting):
            kept = Cache(self.cache, self.config.root).of(setting)
        outcomes = self._outcomes(work, kept, _Here(setting, self.trees, start), interrupt)
        settling = work.settling(outcomes.values())
        called = work.called_from_outside(settling, kept)
        settling.add_feeds(called)
        if kept is not None:
            kept.close()
        self.work, self.outcomes, self.called = work, outcomes, called
        self.newer = dict(outcomes)
        self.report = _without_deleted(settling.finish())

    def _outcomes(
        self,
        work: engine.Work,
        kept: Outcomes | None,
        here: Executor,
        interrupt: Callable[[], None],
    ) -> dict[Group, Outcome]:
        """The outcomes of all groups: those of before, where all that they rest on is as it was."""
        self.remembered = Remembered(self.remembered.files)
        answers = Answers(self.config.root, self.remembered)
        before = {group: self.outcomes.get(group) for group in work.groups}
        held = {
            group: outcome
            for group, outcome in before.items()
            if outcome and outcome.is_sound and answers.agree_with(outcome.asked)
        }
        changed = [group for group in work.groups if group not in held]
        if changed:
            executor = here if kept is None else Cached(kept, here)
            fresh = executor(changed, lambda file: interrupt())
            held |= zip(changed, fresh, strict=True)
        return {group: held[group] for group in work.groups}

    def _alone(self, file: Path, group: Group, setting: Setting) -> Outcome:
        """What a file says when it is checked by itself."""
        setting = replace(setting, infer=infer_file, interrupt=lambda: None)

        def work() -> Outcome:
            session = Session(setting, group.allowance, self.trees)
            session.check_file(file)
            return session.finish()

        with without_garbage_collection():
            return with_deep_stack(work)


def _without_deleted(report: Report) -> Report:
    """A report without what could not be read since it was deleted while the look was under way:
    it is gone, which is no error."""
    errors = [error for error in report.errors if os.path.lexists(report.root / error.path)]
    gone = len({error.path for error in report.errors}) - len({error.path for error in errors})
    return replace(report, errors=errors, files=report.files - gone)


class _Here:
    """The executor of a second look: this process for a few groups, with the trees of before;
    others for many."""

    def __init__(self, setting: Setting, trees: Trees, start: str | None) -> None:
        self.setting = setting
        self.trees = trees
        self.start = start

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]:
        jobs = self.setting.config.jobs or 1
        if jobs == 1 or len(groups) <= FEW:
            return InProcess(self.setting, self.trees)(groups, reached)
        # `multiprocessing` takes long to import
        from devlint.check.processes import Processes

        return Processes(self.setting, jobs, self.start)(groups, reached)


def _with_news(outcome: Outcome, path: str, alone: Outcome) -> Outcome:
    """The outcome of a group with what one of its files says by now."""

    def is_other(source: str) -> bool:
        return source != path and not source.startswith(f"{path}:cell ")

    said = {each.finding.fingerprint for each in alone.told}
    said |= {finding.fingerprint for finding in alone.suppressed}
    is_broken = any(error.path == path for error in alone.errors)
    return replace(
        outcome,
        checked=[*(each for each in outcome.checked if each != path), *alone.checked],
        told=[
            *(each for each in outcome.told if each.finding.location.path != path),
            *(
                each
                for each in outcome.told
                if each.finding.location.path == path
                and each.finding.fingerprint not in said
                and _leads_elsewhere(each)
                and not is_broken
            ),
            *alone.told,
        ],
        suppressed=[
            *(finding for finding in outcome.suppressed if finding.location.path != path),
            *alone.suppressed,
        ],
        errors=[*(error for error in outcome.errors if error.path != path), *alone.errors],
        excerpts={
            **{source: lines for source, lines in outcome.excerpts.items() if is_other(source)},
            **alone.excerpts,
        },
        feeds=[*outcome.feeds, *alone.feeds],
    )


def _leads_elsewhere(told: Told) -> bool:
    place = told.finding.location.path
    return any(related.location.path != place for related in told.finding.related)
