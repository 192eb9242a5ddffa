"""The questions that a check asks of a project, with the answers that it had: what its outcome
rests on. Asked again later, they say whether it still holds.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from devlint.project.imports import Project, size_of
from devlint.project.programs import SETS_DEFAULT, may_set_default
from devlint.project.questions import Asked
from devlint.project.source import SourceError, digest, read
from devlint.project.survey import Survey

# A file that was changed as shortly before it was read may be changed again within the same tick
# of its time stamps.
FRESH = 2_000_000_000  # nanoseconds

Known = tuple[str, bool]  # digest, and whether the text may choose a default device
Stamp = tuple[int, int, int, int]


class Remembered:
    """The digests of files by their time stamps, from one check to the next.

    has_news: whether it has come to know another file than before.
    """

    def __init__(self, files: dict[str, tuple[Stamp, Known]]) -> None:
        self.files = files
        self.has_news = False
        self.started = time.time_ns()

    @classmethod
    def read(cls, data: object) -> Remembered:
        """What `as_plain` gave; nothing, where that is broken."""
        files: dict[str, tuple[Stamp, Known]] = {}
        if isinstance(data, dict):
            for path, entry in data.items():
                match entry:
                    case [int(m), int(c), int(s), int(i), str(name), bool(sets)]:
                        files[path] = (m, c, s, i), (name, sets)
        return cls(files)

    def as_plain(self) -> dict[str, list[int | str | bool]]:
        return {path: [*stamp, *known] for path, (stamp, known) in self.files.items()}

    def of(self, file: str | Path) -> Known:
        """The digest of a file, read if it may have changed. Raises SourceError."""
        path = str(file)
        before = _stamp(path)
        found = self.files.get(path)
        if found is not None and before == found[0]:
            return found[1]
        data = read(Path(path))
        known = digest(data).hex(), bool(SETS_DEFAULT.search(data))
        self.files.pop(path, None)
        if before is not None and max(before[:2]) < self.started - FRESH:
            self.files[path] = before, known
            self.has_news = True
        return known


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


class Answers:
    """The answers of today, each looked up once."""

    def __init__(self, root: Path, remembered: Remembered) -> None:
        self.remembered = remembered
        self.survey = Survey(root, Project(root))
        self._known: dict[str, Known | SourceError] = {}
        self._listings: dict[str, dict[str, os.DirEntry[str]]] = {}
        self._settings: dict[str, dict[str, str]] = {}

    def agree_with(self, asked: Asked) -> bool:
        """Whether all answers are what they were."""
        return (
            all(self.content(path) == was for path, was in asked.contents.items())
            and all(size_of(Path(path)) == was for path, was in asked.sizes.items())
            and all(
                self.has_file(directory, name) == was
                for directory, names in asked.files.items()
                for name, was in names.items()
            )
            and all(
                self.has_directory(directory, name) == was
                for directory, names in asked.directories.items()
                for name, was in names.items()
            )
            and all(self.settings(directory) == was for directory, was in asked.settings.items())
            and all(
                self.survey.answer(question, Path(file), name) == was
                for question, file, name, was in asked.each_answer()
            )
        )

    def content(self, path: str) -> str:
        """The digest of a file, or why it cannot be read."""
        known = self._of(path)
        return known.message if isinstance(known, SourceError) else known[0]

    def has_file(self, directory: str, name: str) -> bool:
        """Whether there is such a file, as `Project.has_file` has it."""
        entry = self._listing(directory).get(name)
        try:
            return entry is not None and entry.is_file()
        except OSError:
            return False

    def has_directory(self, directory: str, name: str) -> bool:
        entry = self._listing(directory).get(name)
        try:
            return entry is not None and entry.is_dir()
        except OSError:
            return False

    def settings(self, directory: str) -> dict[str, str]:
        """The modules of a directory that choose a default device, with their digests."""
        known = self._settings.get(directory)
        if known is None:
            known = self._settings[directory] = {}
            for name in sorted(filter(may_set_default, self._listing(directory))):
                found = self._of(os.path.join(directory, name))
                if not isinstance(found, SourceError) and found[1]:
                    known[name] = found[0]
        return known

    def _of(self, path: str) -> Known | SourceError:
        known = self._known.get(path)
        if known is None:
            try:
                known = self.remembered.of(path)
            except SourceError as error:
                known = error
            self._known[path] = known
        return known

    def _listing(self, directory: str) -> dict[str, os.DirEntry[str]]:
        found = self._listings.get(directory)
        if found is None:
            try:
                found = {entry.name: entry for entry in os.scandir(directory)}
            except (OSError, ValueError):
                found = {}
            self._listings[directory] = found
        return found
