"""The words of the reports: sentences of findings, places, counts, and the last line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from devlint.findings import (
    Applicability,
    Confidence,
    FileError,
    Finding,
    Location,
    Severity,
    source_name,
)
from devlint.inference.domain.assumptions import GENERAL
from devlint.records import NamedTuple
from devlint.report import Report
from devlint.terminal import show

WORDS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.PERFORMANCE: "performance finding",
}
_NO_CHARACTER = re.compile("[\ufffe\uffff]")


class Remark(NamedTuple):
    """What is said of a finding beside its claim and its trace."""

    word: str
    text: str


def sentence(finding: Finding) -> str:
    """The claim and, behind a semicolon, what to write instead."""
    return "; ".join(text for text in (finding.message, finding.advice) if text)


def doubts(finding: Finding) -> Iterator[Remark]:
    """What the finding depends on."""
    if finding.confidence is Confidence.POSSIBLE:
        depends = "what is assumed" if finding.assumptions else "the caller"
        yield Remark("confidence", f"possible: it depends on {depends}")
    if finding.confidence is not Confidence.CERTAIN:
        own = (each.message for each in finding.assumptions if each.kind not in GENERAL)
        for message in dict.fromkeys(own):
            yield Remark("assuming", message)


def is_fixable(finding: Finding) -> bool:
    """Whether `--fix` would fix it."""
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE


# ------------------------------------------------------------------ places


def path_for(path: str, report: Report, base: Path | None) -> str:
    """A path for a reader in the folder `base`: relative when it lies there, else absolute.

    Without a reader it is as reported.
    """
    file = report.root / path
    if base is not None and file.is_relative_to(base):
        return str(file.relative_to(base))
    return path if base is None else str(file)


def path_in(path: str, report: Report, repository: Path | None) -> str:
    """A path as a forge knows it: relative to the repository, else as it is reported."""
    file = report.root / path
    if repository is not None and file.is_relative_to(repository):
        return file.relative_to(repository).as_posix()
    return path


def plain(text: str) -> str:
    """A text for any reader, in UTF-8 and XML: no control characters, no half characters."""
    whole = show(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return _NO_CHARACTER.sub("\ufffd", whole)


def place_in(place: Location | FileError, report: Report, repository: Path | None) -> str:
    """`path:line:column`, the path as a forge knows it."""
    path = plain(path_in(place.path, report, repository))
    return f"{source_name(path, place.cell)}:{place.line}:{place.column}"


# ------------------------------------------------------------------ counts


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def tally(findings: Iterable[Finding]) -> str:
    """`2 errors and 1 warning`; empty for no findings."""
    counts = Counter(finding.severity for finding in findings)
    found = [plural(counts[severity], word) for severity, word in WORDS.items() if counts[severity]]
    return listed(found) if found else ""


def summary(report: Report, fixed: int = 0) -> str:
    """One line: what was found where, and what is not shown."""
    found = tally(report.findings)
    places = {finding.location.path for finding in report.findings}
    checked = plural(len(report.checked), "file")
    if found:
        text = f"Found {found} in {len(places)} of {checked}"
    elif report.checked:
        new = "new " if report.compared else ""
        text = f"Found no {new}device-placement problems in {checked}"
    else:
        checked_none = report.files or report.errors or report.shard
        text = "Checked no files" if checked_none else "Found no Python files"
    asides = []
    if report.suppressed:
        asides.append(f"{len(report.suppressed)} suppressed")
    if report.known:
        asides.append(f"{len(report.known)} known before")
    if report.below_confidence:
        asides.append(f"{report.below_confidence} below --min-confidence")
    text += f" ({', '.join(asides)})." if asides else "."
    if fixed:
        text = f"Fixed {plural(fixed, 'finding')}. {text}"
    fixable = sum(map(is_fixable, report.findings))
    if fixable and not fixed:
        text += f" {fixable} can be fixed with --fix."
    broken = {error.path for error in report.errors}
    if broken - report.checked:
        text += f" {plural(len(broken - report.checked), 'file')} could not be checked."
    if broken & report.checked:
        text += f" {plural(len(broken & report.checked), 'file')} could not be checked fully."
    return text


def in_cell(cell: int) -> str:
    """` in cell 3`, for formats that name a notebook by its file alone; nothing elsewhere."""
    return f" in cell {cell}" if cell else ""
