"""A check from end to end: paths and a `Config` in, a `Report` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from devlint.checking.cache import Cache, Cached, can_be_kept
from devlint.checking.executors import Executor, InProcess, Reached
from devlint.checking.groups import Group, groups_of
from devlint.checking.outcome import Outcome
from devlint.checking.resources import with_deep_stack, without_garbage_collection
from devlint.checking.session import Infer, Session, Setting
from devlint.checking.settling import Settling, callers_of
from devlint.config import Config
from devlint.inference.api import infer_file
from devlint.project.discovery import Discovery, discover
from devlint.project.imports import Project
from devlint.report import Report
from devlint.rule import Rule

Progress = Callable[[int, int, str], None]


def check(
    paths: Sequence[Path],
    config: Config,
    rules: tuple[Rule, ...],
    *,
    contents: Mapping[Path, bytes] | None = None,
    progress: Progress | None = None,
    infer: Infer | None = None,
    interrupt: Callable[[], None] | None = None,
    cache: Path | None = None,
) -> Report:
    """Check files and directories (absolute paths).

    contents: what is to be taken for the content of some files (standard input, a fix on trial)
        instead of what is on disk, if anything is there.
    progress: told before each file: how many are done, how many there are, which is next.
    infer: stands in for the inference; it is called in this process.
    interrupt: called often, in this process; what it raises ends the check.
    cache: a folder for outcomes of one check that the next one takes where nothing has changed.

    With `config.jobs` other processes check the files; the report is the same for any number.
    Raises KnowledgeError for the user's knowledge files; all else that goes wrong is in the report.
    """
    setting = Setting.of(
        config, rules, contents or {}, infer or partial(infer_file, interrupt=interrupt), interrupt
    )
    found = _discover(paths, config, force_exclude=config.force_exclude)
    told = _Told(setting, len(found.files), progress or _silence)
    groups = groups_of((file, _size(file, setting.contents)) for file in found.files)
    settling = Settling(setting, len(found.files), found.errors)
    jobs = 1 if infer or interrupt else config.jobs or 1
    kept = None if cache is None or infer or not can_be_kept(setting) else Cache(cache, setting)
    executor: Executor = _Local(setting, jobs)
    for outcome in (executor if kept is None else Cached(kept, executor))(groups, told):
        settling.add(outcome)
    told.end()
    if settling.callees() and not any(path.resolve() == config.root for path in paths):
        everything = _discover([config.root], config, force_exclude=False)
        others = sorted(set(everything.files).difference(found.files))
        settling.add_feeds(_callers(settling, others, kept))
    if kept is not None:
        kept.close()
    return settling.finish()


class _Local:
    """The executor that this machine is. A single group is checked by this process: to start
    another one would take longer."""

    def __init__(self, setting: Setting, jobs: int) -> None:
        self.setting = setting
        self.jobs = jobs

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]:
        if min(self.jobs, len(groups)) <= 1:
            return InProcess(self.setting)(groups, reached)
        # a check of few files needs none, and `multiprocessing` takes long to import
        from devlint.checking.processes import Processes

        return Processes(self.setting, self.jobs)(groups, reached)


def _callers(settling: Settling, others: Sequence[Path], kept: Cache | None) -> Outcome:
    names, near = settling.callees(), sorted(set(settling.near()))
    if kept is not None:
        key = kept.key(sorted(names), [str(file) for file in others], [str(file) for file in near])
        found = kept.find(key)
        if found is not None:
            return found
    session = Session(settling.setting)
    with without_garbage_collection():
        found = with_deep_stack(lambda: callers_of(names, others, near, session))
    if kept is not None:
        kept.keep(key, found)
    return found


def _size(file: Path, contents: Mapping[Path, bytes]) -> int:
    """The size of a file; 0 where it cannot be read, as its check will tell."""
    if file in contents:
        return len(contents[file])
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return 0


class _Told:
    """The progress of a check: counts the files that an executor comes to."""

    def __init__(self, setting: Setting, total: int, progress: Progress) -> None:
        self.project = Project(setting.config.root)
        self.total = total
        self.progress = progress
        self.seen: set[Path] = set()

    def __call__(self, file: Path) -> None:
        if file not in self.seen:
            self.progress(len(self.seen), self.total, self.project.path_of(file))
            self.seen.add(file)

    def end(self) -> None:
        self.progress(self.total, self.total, "")


def _discover(paths: Sequence[Path], config: Config, *, force_exclude: bool) -> Discovery:
    return with_deep_stack(
        lambda: discover(
            paths,
            config.root,
            (*config.exclude, *config.extend_exclude),
            gitignore=config.respect_gitignore,
            force_exclude=force_exclude,
        )
    )


def _silence(done: int, total: int, path: str) -> None:
    """The progress that nobody asked for."""
