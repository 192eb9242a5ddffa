"""The check that a command asks for, where no report of it is kept: it loads all that infers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from devlint import engine
from devlint.baseline import Entry
from devlint.check.cache import Cache
from devlint.commands.known import terms_of, with_known
from devlint.commands.options import Refusal
from devlint.config import Config
from devlint.knowledge import KnowledgeError
from devlint.project.revisions import RevisionError
from devlint.records import dataclass
from devlint.report import Report
from devlint.rule import Rule

if TYPE_CHECKING:
    from devlint.check.executors import Executor
    from devlint.check.setting import Setting
    from devlint.fixes import Fixed


@dataclass(frozen=True, slots=True)
class Asked:
    """What a check is asked to do.

    fix: whether fixes are to be made, unsafe ones too. shard, executor: as `--shard` and the two
    options of a cluster have it. entries, error_on_stale: of the baseline.
    """

    contents: Mapping[Path, bytes]
    entries: frozenset[Entry]
    error_on_stale: bool
    diff_base: str | None
    staged: bool
    fix: bool
    unsafe: bool
    shard: tuple[int, int] | None
    executor: str | None
    scheduler: str | None


def checked(
    paths: Sequence[Path],
    config: Config,
    rules: tuple[Rule, ...],
    asked: Asked,
    cache: Cache | Path | None,
    progress: engine.Progress | None,
) -> tuple[Report, Fixed | None]:
    """The report, and what fixes made of the files, if they were asked for. Raises Refusal."""
    try:
        config = with_known(config, rules, paths, asked.entries, asked.diff_base)
        if asked.staged:
            from devlint.comparison import check_staged  # not for every check

            return check_staged(paths, config, rules, progress=progress), None
        if asked.fix:
            from devlint.fixes import fix  # nor is this

            fixed = fix(
                paths,
                config,
                rules,
                unsafe=asked.unsafe,
                contents=asked.contents,
                progress=progress,
            )
            return fixed.report, fixed
        part = None
        if asked.shard is not None:
            from devlint.check.shards import Shard  # nor are these

            terms = terms_of(config, rules, asked.entries, asked.error_on_stale)
            part = Shard(*asked.shard, terms)
        with _executor(asked.executor, asked.scheduler) as distributed:
            report = engine.check(
                paths,
                config,
                rules,
                contents=asked.contents,
                progress=progress,
                cache=cache,
                shard=part,
                executor=distributed,
            )
        return report, None
    except (KnowledgeError, RevisionError) as error:
        raise Refusal(str(error)) from None


@contextmanager
def _executor(
    name: str | None, scheduler: str | None
) -> Iterator[Callable[[Setting], Executor] | None]:
    """Who checks, by name; None: this machine."""
    if name is None:
        yield None
        return
    # an optional dependency, and a check on this machine needs none of it
    from devlint.check.cluster import Cluster, ClusterError, dask_client

    try:
        with dask_client(scheduler) as client:
            yield lambda setting: Cluster(setting, client)
    except ClusterError as error:
        raise Refusal(str(error)) from None
