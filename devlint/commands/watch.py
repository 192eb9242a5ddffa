"""`devlint check --watch`: a check that goes on, and tells what came and what went."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from devlint.commands.messages import errors_of
from devlint.commands.options import Refusal
from devlint.config import Config
from devlint.findings import Finding
from devlint.knowledge import KnowledgeError
from devlint.report import Report
from devlint.reporters.formats import render
from devlint.reporters.options import Options
from devlint.reporters.wording import path_for, plural, sentence, tally
from devlint.rule import Rule
from devlint.terminal import emit, show
from devlint.watch.changes import Changes, WatchError
from devlint.watch.differences import Differences, differences, standing
from devlint.watch.looks import Looks

SETTINGS = ("pyproject.toml", "devlint.toml", ".gitignore")
NAMED = 3  # files of a change by name

Prepare = Callable[[], tuple[list[Path], Config, tuple[Rule, ...]]]


class Superseded(BaseException):
    """The files have changed while they were looked at. No `except Exception` may catch it."""


def watch(prepare: Prepare, form: str, options: Options) -> None:
    """Report on the files, then on each change of them, until Ctrl-C.

    prepare: reads the configuration: paths, configuration and rules. Raises Refusal.
    """
    try:
        _Watching(prepare, form, options).run()
    except (KnowledgeError, WatchError) as error:
        raise Refusal(str(error)) from None


class _Watching:
    def __init__(self, prepare: Prepare, form: str, options: Options) -> None:
        self.prepare = prepare
        self.form = form
        self.options = options
        self.looks = self.looking()
        config = self.looks.config
        here = [
            config.root,
            *(each for each in self.looks.paths if not _lies_in(each, config.root)),
        ]
        self.changes = Changes(here, self.is_setting)
        self.told = self.looks.report

    def looking(self) -> Looks:
        paths, config, rules = self.prepare()
        return Looks(paths, config, rules, config.cache_folder())

    def run(self) -> None:
        self.looks.second(lambda: None)
        self.told = self.looks.report
        emit(render(self.form, self.told, self.options), sys.stdout)
        with self.changes:
            self.look(frozenset())  # at what has changed before it was watched
            files = plural(self.looks.report.files, "file")
            emit(f"Watching {files}; Ctrl-C ends.\n", sys.stdout)
            left: frozenset[Path] = frozenset()  # of a look that did not come to its end
            while True:
                left |= self.changes.next()
                if self.look(left):
                    left = frozenset()

    def look(self, changed: frozenset[Path]) -> bool:
        """Look at what has changed, and tell what that makes of the report; False if more changed
        meanwhile."""
        if any(map(self.is_setting, changed)):
            self.read_settings()
        is_told = bool(changed) and self.looks.first(changed)
        if is_told:
            self.tell(changed)
        try:
            self.looks.second(self.unless_more, "spawn")
        except Superseded:
            return False
        except KnowledgeError as error:
            emit(f"{show(str(error))}\n", sys.stderr)
            return True
        if differences(self.told, self.looks.report) or (changed and not is_told):
            self.tell(changed)
        return True

    def unless_more(self) -> None:
        if self.changes.has_more():
            raise Superseded

    def is_setting(self, file: Path) -> bool:
        """Whether the configuration is to be read again when the file changes."""
        config = self.looks.config
        named = (*config.knowledge_files(), config.baseline_file(), config.file)
        return file.name in SETTINGS or file in named

    def read_settings(self) -> None:
        try:
            looks = self.looking()
        except Refusal as error:
            emit(f"{error.format_message()}\n", sys.stderr)
            return
        self.looks = looks

    # --- what is told --------------------------------------------------------------------------

    def tell(self, changed: frozenset[Path]) -> None:
        """What came in full, what went in a line each, and how much that is."""
        report = self.looks.report
        found = differences(self.told, report)
        self.told = standing(self.told, report)
        news = replace(
            report, findings=list(found.came), errors=list(found.broke), suppressed=[], known=[]
        )
        news.shard = None
        emit(render(self.form, news, replace(self.options, summary=False)), sys.stdout)
        mended = errors_of(replace(report, errors=list(found.mended)))
        lines = [*(self.line(finding) for finding in found.went), *mended.splitlines()]
        emit("".join(f"gone: {line}\n" for line in lines), sys.stdout)
        if self.options.summary:
            emit(f"{self.summary(changed, found)}\n", sys.stdout)

    def line(self, finding: Finding) -> str:
        place = finding.location
        path = path_for(place.path, self.looks.report, self.options.base)
        return show(f"{path}:{place.line}:{place.column}: {finding.rule} {sentence(finding)}")

    def summary(self, changed: frozenset[Path], found: Differences) -> str:
        names = sorted(os.path.relpath(file, self.looks.config.root) for file in changed)
        more = len(names) - NAMED
        listed = ", ".join((*names[:NAMED], *([f"{more} more"] if more > 0 else [])))
        came, went = len(found.came) + len(found.broke), len(found.went) + len(found.mended)
        left = tally(self.looks.report.findings) or "no findings"
        if self.looks.report.errors:
            left += f", {plural(_broken(self.looks.report), 'file')} not checked"
        said = f"{came} came, {went} went; {left} now."
        return show(f"{time.strftime('%H:%M:%S')} {listed}: {said}" if listed else said)


def _broken(report: Report) -> int:
    return len({error.path for error in report.errors})


def _lies_in(path: Path, root: Path) -> bool:
    return path == root or root in path.parents
