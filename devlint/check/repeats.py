"""A check that was done before: its whole report, kept for the next check of the same paths.

It holds if the files found are the same, and every question that the check asked of the project has
the answer that it had then. To find that out takes neither the rules nor the inference nor LibCST.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from devlint.check import code
from devlint.check.cache import Cache, circumstances, digest_of
from devlint.check.files import are_everything, files_around, files_at
from devlint.check.outcome import STAGES
from devlint.check.plain_data import from_plain, to_plain
from devlint.config import Config
from devlint.entry_points import RULE_PACKS, entry_points
from devlint.findings import FileError, Finding
from devlint.project.discovery import Discovery
from devlint.project.questions import Asked
from devlint.records import dataclass
from devlint.report import Report
from devlint.rule import Rule

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Basis:
    """What a report rests on, beside what its key says.

    rules: the codes of all rules there were; those that are installed.
    packages: the digests of the packages of the code that ran, by name.
    found: of the files that were checked. around: of those of the project, if they were looked
        through for calls.
    """

    rules: list[str]
    packages: dict[str, str]
    found: str
    around: str | None
    asked: Asked


@dataclass(frozen=True, slots=True)
class Kept:
    """A report and its basis. digests: of which files it has any."""

    basis: Basis
    files: int
    checked: list[str]
    findings: list[Finding]
    suppressed: list[Finding]
    errors: list[FileError]
    excerpts: dict[str, dict[int, str]]
    digests: list[str]
    notes: list[tuple[str, str]]
    below_confidence: int
    hidden: list[str]
    compared: bool
    known: list[Finding]

    @classmethod
    def of(cls, report: Report, basis: Basis) -> Kept:
        return cls(
            basis,
            report.files,
            sorted(report.checked),
            report.findings,
            report.suppressed,
            report.errors,
            report.excerpts,
            [str(file) for file in report.digests],
            report.notes,
            report.below_confidence,
            sorted(report.hidden),
            report.compared,
            report.known,
        )

    def report(self, root: Path) -> Report:
        contents = self.basis.asked.contents
        return Report(
            root,
            self.files,
            set(self.checked),
            self.findings,
            self.suppressed,
            self.errors,
            self.excerpts,
            {Path(file): bytes.fromhex(contents[file]) for file in self.digests},
            self.notes,
            dict.fromkeys(STAGES, 0.0),
            self.below_confidence,
            set(self.hidden),
            self.compared,
            self.known,
        )


class Repeats:
    """The reports in a cache."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def find(
        self, paths: Sequence[Path], config: Config, rules: Iterable[Rule] | None = None
    ) -> Report | None:
        """The report of the same check, if all that it rests on is as it was.

        rules: None: those that are installed.
        """
        key = self._key(paths, config)
        data = self.cache.entries.load(key)
        if data is None:
            return None
        try:
            kept = from_plain(Kept, data)
            is_other = rules is not None and kept.basis.rules != [rule.code for rule in rules]
            if is_other or not self._holds(kept.basis, paths, config):
                return None
            report = kept.report(config.root)
        except (ValueError, KeyError, OSError, RecursionError):  # it was not we who wrote it
            return None
        self.cache.entries.touch(key)
        self.cache.close()
        return report

    def keep(self, paths: Sequence[Path], config: Config, report: Report, basis: Basis) -> None:
        """Keep a report, if it says of all files what they held when they were checked."""
        contents = basis.asked.contents
        if all(contents.get(str(file)) == was.hex() for file, was in report.digests.items()):
            self.cache.entries.save(self._key(paths, config), to_plain(Kept.of(report, basis)))

    def _key(self, paths: Sequence[Path], config: Config) -> str:
        plain = replace(config, known=None, fail_on=None, paths=(), cache=True, cache_dir="")
        packs = [[each.name, each.value] for each in entry_points(RULE_PACKS)]
        known = None if config.known is None else sorted(config.known)
        what = [[str(path) for path in paths], are_everything(paths, config), known, packs]
        return digest_of([*circumstances(plain, self.cache.answers.remembered), "report", what])

    def _holds(self, basis: Basis, paths: Sequence[Path], config: Config) -> bool:
        answers = self.cache.answers
        return (
            all(code.package(p, answers.remembered) == was for p, was in basis.packages.items())
            and digest_of_files(files_at(paths, config)) == basis.found
            and basis.around in (None, _digest_around(config, basis))
            and answers.agree_with(basis.asked)
        )


def digest_of_files(found: Discovery) -> str:
    """Tells apart what a look for files can find."""
    errors = [to_plain(error) for error in found.errors]
    return digest_of([[str(file) for file in found.files], errors])


def _digest_around(config: Config, basis: Basis) -> str | None:
    return None if basis.around is None else digest_of_files(files_around(config))


def joined(questions: Iterable[Asked]) -> Asked | None:
    """All questions of several checks; None if two had different answers to one of them."""
    found = Asked()
    for asked in questions:
        if not (
            _take(found.contents, asked.contents)
            and _take(found.sizes, asked.sizes)
            and _take(found.settings, asked.settings)
            and all(
                _take(into.setdefault(directory, {}), names)
                for into, by_directory in (
                    (found.files, asked.files),
                    (found.directories, asked.directories),
                )
                for directory, names in by_directory.items()
            )
            and all(
                _take(found.answers.setdefault(question, {}).setdefault(file, {}), names)
                for question, files in asked.answers.items()
                for file, names in files.items()
            )
        ):
            return None
    return found


def _take(into: dict[str, Answer], new: dict[str, Answer]) -> bool:
    """Whether two agree on what is in both; the first gets what is in one of them."""
    before = len(into)
    into |= {**new, **into}
    return before + len(new) == len(into) or all(into[each] == new[each] for each in new)
