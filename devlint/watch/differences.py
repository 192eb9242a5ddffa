"""What came and what went between two reports.

A file that is broken for a while, as one is that is being written, keeps what was found in it.
"""

from __future__ import annotations

from dataclasses import replace

from devlint.findings import FileError, Finding
from devlint.records import dataclass
from devlint.report import Report


@dataclass(frozen=True, slots=True)
class Differences:
    """Findings and errors that one report has and the other has not. A finding that only moved is
    the same, and so is an error."""

    came: tuple[Finding, ...] = ()
    went: tuple[Finding, ...] = ()
    broke: tuple[FileError, ...] = ()
    mended: tuple[FileError, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.came or self.went or self.broke or self.mended)


def differences(before: Report, after: Report) -> Differences:
    """What the later report has that the earlier one has not, and the other way round."""
    after = standing(before, after)
    return Differences(
        _without(after.findings, before.findings),
        _without(before.findings, after.findings),
        _unlike(after.errors, before.errors),
        _unlike(before.errors, after.errors),
    )


def standing(before: Report, after: Report) -> Report:
    """The later report, with what was found before in the files that cannot be checked now."""
    broken = {error.path for error in after.errors} - after.checked
    kept = [finding for finding in before.findings if finding.location.path in broken]
    return replace(after, findings=[*after.findings, *_without(kept, after.findings)])


def _without(findings: list[Finding], others: list[Finding]) -> tuple[Finding, ...]:
    names = {other.fingerprint for other in others}
    return tuple(finding for finding in findings if finding.fingerprint not in names)


def _unlike(errors: list[FileError], others: list[FileError]) -> tuple[FileError, ...]:
    names = {(other.source, other.message) for other in others}
    return tuple(error for error in errors if (error.source, error.message) not in names)
