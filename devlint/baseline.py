"""The baseline: findings that were there when devlint was adopted, and are not reported.

The file has one entry a line, `PATH RULE FINGERPRINT`, sorted, so that branches merge. A
fingerprint stays when lines move or are indented anew; when the line itself is edited, the finding
is new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from devlint.atomic_files import write_whole
from devlint.findings import Finding
from devlint.records import dataclass
from devlint.report import Report

USUAL_NAME = ".devlint-baseline"
HEADER = (
    "# Findings that were there when devlint was adopted: `devlint check` passes over them.\n"
    "# `devlint baseline prune` removes those that are found no more.\n"
    "# When a merge conflicts, keep the lines of both sides.\n"
)
_ENTRY = re.compile(r"(?P<path>\S+) (?P<rule>[A-Z]+[0-9]+) (?P<fingerprint>[0-9a-f]{8,64})")


class BaselineError(Exception):
    """A baseline that cannot be read, or is not one; the message names the file and the line."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One finding that is passed over."""

    path: str
    rule: str
    fingerprint: str

    def __str__(self) -> str:
        """A line of the file: white space and what is no character of a line is escaped."""
        path = quote(self.path, safe="/!$&'()*+,;=:@[]~^{}", errors="surrogateescape")
        return f"{path} {self.rule} {self.fingerprint}"


def entry_of(finding: Finding) -> Entry:
    return Entry(finding.location.path, finding.rule, finding.fingerprint)


def read_baseline(file: Path) -> frozenset[Entry]:
    """The entries of a file. Raises BaselineError."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BaselineError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BaselineError(f"{file}: is not valid UTF-8: {error.reason}") from None
    entries = set()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _ENTRY.fullmatch(line.strip())
        if match is None:
            hint = ""
            if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
                hint = "; a merge conflict: remove this line and keep those of both sides"
            raise BaselineError(f"{file}:{number}: is no entry `PATH RULE FINGERPRINT`{hint}")
        path = unquote(match["path"], errors="surrogateescape")
        entries.add(Entry(path, match["rule"], match["fingerprint"]))
    return frozenset(entries)


def write_baseline(file: Path, entries: Iterable[Entry]) -> None:
    """Write the file at once. Raises OSError."""
    lines = "".join(f"{entry}\n" for entry in sorted(entries))
    write_whole(file, f"{HEADER}{lines}".encode())


def stale_entries(
    report: Report, entries: Iterable[Entry], runs: Callable[[str, str], bool]
) -> list[Entry]:
    """The entries that nothing was found for, though it would have been.

    Those of files that were not checked are not stale, nor those of rules that do not run, nor
    those of findings that are there and below the confidence asked for.

    runs: whether the rule of a code runs on a file.
    """
    found = {finding.fingerprint for finding in (*report.findings, *report.known)}
    found |= report.hidden
    return [
        entry
        for entry in sorted(entries)
        if entry.fingerprint not in found
        and _is_checked(entry.path, report)
        and runs(entry.rule, entry.path)
    ]


def _is_checked(path: str, report: Report) -> bool:
    """Whether the file was checked, or is no longer there."""
    return path in report.checked or not (report.root / path).exists()
