"""Executors: who checks the groups, and where.

An executor takes groups and gives their outcomes, in their order. This process is one, processes
of their own are another (`devlint.check.processes`), a cluster is a third
(`devlint.check.cluster`). Any other engine needs a `Setting` at its other end, which a `Recipe`
makes, `check_group` there, and `plain_data` on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from devlint.check.groups import Group
from devlint.check.outcome import Outcome
from devlint.check.resources import collect_recent, with_deep_stack, without_garbage_collection
from devlint.check.session import COLLECT_AFTER, Session
from devlint.check.setting import Setting
from devlint.project.imports import Project, Trees
from devlint.project.parsing import unchecked_nodes
from devlint.project.survey import Survey

Reached = Callable[[Path], None]  # told before each file


class Executor(Protocol):
    """Checks groups: their outcomes, in their order."""

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]: ...


def survey_of(setting: Setting) -> Survey:
    """The survey of the project that is checked."""
    return Survey(setting.config.root, Project(setting.config.root))


class Checker:
    """Checks groups one after the other; what one has parsed, the next need not.

    survey: what is known of the project already.
    parsed: the characters since the last collection of cycles.
    """

    def __init__(
        self, setting: Setting, trees: Trees | None = None, survey: Survey | None = None
    ) -> None:
        self.setting = setting
        self.trees = Trees() if trees is None else trees
        self.survey = survey or survey_of(setting)
        self.parsed = 0

    @property
    def is_full(self) -> bool:
        """Whether cycles are to be collected before the next group."""
        return self.parsed > COLLECT_AFTER

    def check_group(
        self, group: Group, reached: Reached, without: Collection[Path] = ()
    ) -> Outcome:
        """The outcome of a group, without some of its files."""
        if self.is_full:  # not after the last group: the process ends then
            collect_recent()
            self.parsed = 0
        session = Session(self.setting, group.allowance, self.trees, self.survey)
        with unchecked_nodes():
            for file in group.files:
                if file not in without:
                    reached(file)
                    session.check_file(file)
        outcome = session.finish()
        self.parsed += session.project.parsed
        return outcome


class InProcess:
    """The executor that this process is. trees: those that it has parsed before."""

    def __init__(self, setting: Setting, trees: Trees | None = None) -> None:
        self.setting = setting
        self.trees = trees

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]:
        def work() -> list[Outcome]:
            checker = Checker(self.setting, self.trees)
            return [checker.check_group(group, reached) for group in groups]

        with without_garbage_collection():
            return with_deep_stack(work)
