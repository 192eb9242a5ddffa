"""The check of one open document, with all open texts in the place of their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from devlint import engine
from devlint.findings import FileError, Finding, Location
from devlint.knowledge import KnowledgeError
from devlint.project.imports import Project
from devlint.report import Report
from devlint.server.documents import Snapshot
from devlint.server.positions import Lines
from devlint.server.settings import Configured, SettingsError


class Stale(BaseException):
    """Nobody waits for this check any more. No `except Exception` of a check may catch it."""


def unless(cancelled: Event) -> Callable[[], None]:
    """What a piece of work calls at every step: it raises Stale once the work was cancelled."""

    def interrupt() -> None:
        if cancelled.is_set():
            raise Stale

    return interrupt


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check says of one document, and the texts that it says it of."""

    file: Path
    snapshot: Snapshot
    configured: Configured
    findings: tuple[Finding, ...]
    errors: tuple[FileError, ...]
    excerpts: Mapping[str, Mapping[int, str]]

    def file_at(self, path: str) -> Path:
        """The file of a path as reports have it."""
        return self.configured.config.root / path

    def uri(self, place: Location | FileError) -> str:
        """The document that a place is in."""
        return self.snapshot.uri(self.file_at(place.path), place.cell)

    def lines(self, place: Location | FileError) -> Lines:
        """The lines of the text that a place is in, as the check saw them."""
        lines = self.snapshot.lines(self.file_at(place.path), place.cell)
        known = self.excerpts.get(place.source, {})

        def line(number: int) -> str:
            return lines[number - 1] if 0 < number <= len(lines) else known.get(number, "")

        return line


def check(file: Path, snapshot: Snapshot, configured: Configured, cancelled: Event) -> Checked:
    """Check one document. Raises Stale soon after it was cancelled, and SettingsError for the
    knowledge files of the configuration."""
    config, interrupt = configured.config, unless(cancelled)
    interrupt()
    try:
        report = engine.check(
            [file], config, configured.rules, contents=snapshot.contents, interrupt=interrupt
        )
    except KnowledgeError as error:
        raise SettingsError(str(error)) from None
    return checked_from(report, file, snapshot, configured)


def checked_from(report: Report, file: Path, snapshot: Snapshot, configured: Configured) -> Checked:
    """What a report says of one document."""
    path = Project(configured.config.root).path_of(file)
    return Checked(
        file,
        snapshot,
        configured,
        tuple(finding for finding in report.findings if finding.location.path == path),
        tuple(error for error in report.errors if error.path == path),
        report.excerpts,
    )
