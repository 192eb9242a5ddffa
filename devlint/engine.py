"""A check from end to end: paths and a `Config` in, a `Report` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.check.cache import Cache, Cached, Outcomes, can_be_kept, packages_of
from devlint.check.files import are_everything, files_around, files_at
from devlint.check.groups import Group, groups_of
from devlint.check.outcome import Outcome
from devlint.check.repeats import Basis, Repeats, digest_of_files, joined
from devlint.check.resources import with_deep_stack, without_garbage_collection
from devlint.check.setting import Infer, Setting
from devlint.check.settlement import Settling, callers_of
from devlint.config import Config
from devlint.knowledge import Knowledge
from devlint.project.imports import Project
from devlint.report import Report
from devlint.rule import Rule
from devlint.version import __version__

# A check whose outcomes are all in the cache needs neither the inference nor LibCST: they are
# imported where something has to be inferred. Nor are shards, where there are none.
if TYPE_CHECKING:
    from devlint.check.executors import Executor, Reached
    from devlint.check.shards import Part, Shard
    from devlint.inference.facts import Facts
    from devlint.project.discovery import Discovery
    from devlint.project.imports import Importer
    from devlint.project.source import ParsedFile

FEW = 12  # groups of some 350,000 characters: in so many no cycles are collected

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
    cache: Path | Cache | None = None,
    shard: Shard | None = None,
    executor: Callable[[Setting], Executor] | None = None,
) -> Report:
    """Check files and directories (absolute paths).

    contents: what is to be taken for the content of some files instead of what is on disk
        (standard input, a fix on trial), if anything is there.
    progress: told before each file: how many are done, how many there are, which is next.
    infer: stands in for the inference; it is called in this process.
    interrupt: called often, in this process; what it raises ends the check.
    cache: what one check says and the next one takes where nothing has changed; or the folder for
        that. One that is open was looked through for the same check already.
    shard: the part of the check that is to be done; its report carries what the others need.
    executor: who checks the groups, instead of this machine.

    With `config.jobs` other processes check the files; the report is the same for any number.
    Raises KnowledgeError for the user's knowledge files; all else that goes wrong is in the report.
    """
    setting = Setting.of(config, rules, contents or {}, infer or _Inference(interrupt), interrupt)
    stored = None if infer or not can_be_kept(setting) else cache
    repeats = None
    if isinstance(stored, Path):
        stored = Cache(stored, config.root)
        repeats = Repeats(stored).find(paths, config, rules) if shard is None else None
    if repeats is not None:
        return repeats
    work = Work(paths, setting, shard)
    told = _Told(setting, len(work.files), progress or _silence)
    jobs = 0 if infer or interrupt else config.jobs or 1
    kept = None if stored is None else stored.of(setting)
    checking: Executor = executor(setting) if executor else Local(setting, jobs)
    outcomes = (checking if kept is None else Cached(kept, checking))(work.groups, told)
    told.end()
    settling = work.settling(outcomes)
    called = work.called_from_outside(settling, kept)
    settling.add_feeds(called)
    if shard is not None:  # it is settled by calls of other shards, as far as they are looked for
        others = _without(work.found.files, work.files)
        settling.add_feeds(_callers(setting, settling, others, kept))
    report = settling.finish()
    if kept is not None:
        if shard is None:
            work.keep(kept.cache, report, [*outcomes, called])
        kept.close()
    if shard is not None:
        from devlint.check.shards import packed  # see above

        report.shard = packed(work.part(shard, outcomes, called))
    return report


class Work:
    """What a check has to do: the files of some paths in groups, all of them or those of a shard;
    and what becomes of their outcomes."""

    def __init__(self, paths: Sequence[Path], setting: Setting, shard: Shard | None = None) -> None:
        config = setting.config
        self.paths = paths
        self.setting = setting
        self.found = files_at(paths, config)
        self.around: Discovery | None = None  # those of the project, where they were looked for
        sizes = {file: _size(file, setting.contents) for file in self.found.files}
        self.all_groups = groups_of(sizes.items())
        self.groups, self.errors = self.all_groups, self.found.errors
        if shard is not None:
            self.groups = shard.groups(self.all_groups, sizes)
            self.errors = self.errors if shard.number == 1 else []
        self.files = [file for group in self.groups for file in group.files]

    def settling(self, outcomes: Iterable[Outcome]) -> Settling:
        """The report in the making, with all outcomes."""
        settling = Settling(self.setting, len(self.files), self.errors)
        for outcome in outcomes:
            settling.add(outcome)
        return settling

    def called_from_outside(self, settling: Settling, kept: Outcomes | None) -> Outcome:
        """What files of the project that are not checked hand in."""
        config = self.setting.config
        if not settling.callees() or are_everything(self.paths, config):
            return Outcome()
        self.around = files_around(config)
        outside = _without(self.around.files, self.found.files)
        return _callers(self.setting, settling, outside, kept)

    def keep(self, cache: Cache, report: Report, outcomes: Sequence[Outcome]) -> None:
        """Keep the report for the next check of the same paths, unless something went wrong, or
        the rules are not those that the next check will run."""
        rules = [rule.code for rule in self.setting.rules]
        asked = joined(outcome.asked for outcome in outcomes)
        if asked is None or not all(outcome.is_sound for outcome in outcomes):
            return
        from devlint.rules import load_rules  # they are loaded by now

        if rules != [rule.code for rule in load_rules()]:
            return
        basis = Basis(
            rules,
            packages_of(self.setting.rules, cache.answers.remembered),
            digest_of_files(self.found),
            None if self.around is None else digest_of_files(self.around),
            asked,
        )
        Repeats(cache).keep(self.paths, self.setting.config, report, basis)

    def part(self, shard: Shard, outcomes: Iterable[Outcome], called: Outcome) -> Part:
        """The result of a shard, for it to be joined with those of the others."""
        from devlint.check.shards import Part, lean, run_of  # see above

        return Part(
            __version__,
            run_of(self.all_groups, self.setting.config, self.setting.rules),
            shard.number,
            shard.of,
            shard.terms,
            len(self.files),
            self.errors,
            [lean(outcome) for outcome in outcomes],
            lean(called),
        )


class Local:
    """The executor that this machine is, with some processes beside this one; without any where
    `jobs` is 0. A single group is checked by this process: to start another one would take longer.
    So are a few where `jobs` is 1. More are not: a process that ends frees its memory at once,
    where to look for cycles takes a twelfth of a check."""

    def __init__(self, setting: Setting, jobs: int) -> None:
        self.setting = setting
        self.jobs = jobs

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]:
        if not self.jobs or len(groups) <= (1 if self.jobs > 1 else FEW):
            from devlint.check.executors import InProcess  # see above

            return InProcess(self.setting)(groups, reached)
        # a check of few files needs none, and `multiprocessing` takes long to import
        from devlint.check.processes import Processes

        return Processes(self.setting, self.jobs)(groups, reached)


class _Inference:
    """The inference, loaded when there is a file to infer."""

    def __init__(self, interrupt: Callable[[], None] | None) -> None:
        self.interrupt = interrupt

    def __call__(self, parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        from devlint.inference.api import infer_file  # see above

        return infer_file(parsed, importer, knowledge, self.interrupt)


def _callers(
    setting: Setting, settling: Settling, others: Sequence[Path], kept: Outcomes | None
) -> Outcome:
    """What other files hand to the functions whose findings wait for calls."""
    names, near = settling.callees(), sorted(set(settling.near()))
    if not names or not others:
        return Outcome()
    if kept is not None:
        key = kept.key(sorted(names), [str(file) for file in others], [str(file) for file in near])
        found = kept.find(key)
        if found is not None:
            return found
    from devlint.check.session import Session  # see above
    from devlint.project.parsing import unchecked_nodes  # see above

    session = Session(setting)
    with without_garbage_collection(), unchecked_nodes():
        found = with_deep_stack(lambda: callers_of(names, others, near, session))
    if kept is not None:
        kept.keep(key, found)
    return found


def _without(files: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """The files that are none of others, in their order: to sort paths anew takes long."""
    left_out = set(others)
    return [file for file in files if file not in left_out]


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


def _silence(done: int, total: int, path: str) -> None:
    """The progress that nobody asked for."""
