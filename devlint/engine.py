"""A check from end to end: paths and a `Config` in, a `Report` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devlint.checking.resources import with_deep_stack, without_garbage_collection
from devlint.checking.session import Infer, Session
from devlint.config import Config
from devlint.inference.api import infer_file
from devlint.project.discovery import Discovery, discover
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
) -> Report:
    """Check files and directories (absolute paths).

    contents: what is to be taken for the content of some files (standard input, a fix on trial)
        instead of what is on disk, if anything is there.
    progress: told before each file: how many are done, how many there are, which is next.
    infer: stands in for the inference.

    Raises KnowledgeError for the user's knowledge files; all else that goes wrong is in the report.
    """
    session = Session(config, rules, contents or {}, infer or infer_file)
    return with_deep_stack(lambda: _run(session, paths, progress or _silence))


def _run(session: Session, paths: Sequence[Path], progress: Progress) -> Report:
    config, report = session.config, session.report
    found = _discover(paths, config, force_exclude=config.force_exclude)
    report.errors += found.errors
    report.files = total = len(found.files)
    with without_garbage_collection():
        for number, file in enumerate(found.files):
            progress(number, total, session.project.path_of(file))
            session.check_file(file)
        progress(total, total, "")
        if session.callees() and not any(path.resolve() == config.root for path in paths):
            everything = _discover([config.root], config, force_exclude=False)
            session.look_up_callers(sorted(set(everything.files).difference(found.files)))
    return session.finish()


def _discover(paths: Sequence[Path], config: Config, *, force_exclude: bool) -> Discovery:
    return discover(
        paths,
        config.root,
        (*config.exclude, *config.extend_exclude),
        gitignore=config.respect_gitignore,
        force_exclude=force_exclude,
    )


def _silence(done: int, total: int, path: str) -> None:
    """The progress that nobody asked for."""
