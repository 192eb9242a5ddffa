"""Results become one report: shards as the whole check would have it, others side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from devlint.baseline import Entry, stale_entries
from devlint.check.settlement import Settling
from devlint.check.shards import Part, Terms
from devlint.findings import Finding, Severity
from devlint.merge.results import MergeError, Result
from devlint.records import dataclass
from devlint.report import Report, in_order


@dataclass(frozen=True, slots=True)
class Joined:
    """The report, and what the check was held to.

    here: what readers count paths from; repository: what forges do.
    """

    report: Report
    terms: Terms
    here: Path
    repository: Path | None
    stale: list[Entry]

    @property
    def fail_on(self) -> Severity | None:
        return self.terms.fail_on


def join(results: Sequence[Result], here: Path) -> Joined:
    """One report of all results, each finding once. Raises MergeError.

    here: the folder that stands for the one where the checks ran.
    """
    parts = [(result.file, result.part) for result in results if result.part is not None]
    others = [result.report for result in results if result.part is None]
    if not parts:
        return Joined(_side_by_side(others, here), Terms(), here, None, [])
    terms = parts[0][1].terms
    report = _settled(_complete(parts), terms, here)
    if others:
        report = _side_by_side([report, *others], report.root)
    repository = _at(report.root, terms.repository) if terms.repository else None
    there = _at(report.root, terms.here)
    return Joined(report, terms, there, repository, _stale(report, terms))


def _at(root: Path, place: str) -> Path:
    return Path(os.path.normpath(root / place))


def _complete(parts: Sequence[tuple[Path, Part]]) -> list[Part]:
    """The shards in their order, each once. Raises MergeError if they are not those of one check,
    or not all."""
    first_file, first = parts[0]
    found: dict[int, Part] = {}
    for file, part in parts:
        if (part.of, part.run, part.terms) != (first.of, first.run, first.terms):
            raise MergeError(
                f"{file}: shard {part.number}/{part.of} is of another check than {first_file} "
                f"({first.number}/{first.of}): other files, options or configuration"
            )
        found.setdefault(part.number, part)
    missing = [f"{number}/{first.of}" for number in range(1, first.of + 1) if number not in found]
    if missing:
        word = "shard" if len(missing) == 1 else "shards"
        raise MergeError(f"{word} {', '.join(missing)} missing: there is no result of it")
    return [found[number] for number in sorted(found)]


def _settled(parts: Iterable[Part], terms: Terms, here: Path) -> Report:
    """The report of the whole check."""
    settling = Settling(terms.judge(here), 0, ())
    outside = []
    for part in parts:
        settling.report.files += part.files
        settling.report.errors += part.errors
        outside.append(part.outside)
        for outcome in part.outcomes:
            settling.add(outcome)
    for calls in outside:
        settling.add_feeds(calls)
    return settling.finish()


def _side_by_side(reports: Iterable[Report], root: Path) -> Report:
    """All that the reports have, each finding and each error once."""
    whole = Report(root)
    for report in reports:
        whole.files += report.files
        whole.checked |= report.checked
        whole.findings += report.findings
        whole.suppressed += report.suppressed
        whole.known += report.known
        whole.errors += report.errors
        whole.compared |= report.compared
        whole.hidden |= report.hidden
        whole.below_confidence += report.below_confidence
        for source, lines in report.excerpts.items():
            whole.excerpts.setdefault(source, {}).update(lines)
    whole.findings = in_order(_once(whole.findings))
    whole.suppressed = in_order(_once(whole.suppressed))
    whole.known = in_order(_once(whole.known))
    whole.errors = sorted(set(whole.errors))
    return whole


def _once(findings: Iterable[Finding]) -> Iterable[Finding]:
    """The findings without those that have the fingerprint and the place of an earlier one."""
    return {(each.fingerprint, each.location): each for each in reversed(list(findings))}.values()


def _stale(report: Report, terms: Terms) -> list[Entry]:
    """The entries of the baseline that nothing was found for."""
    entries = [e for e, is_there in terms.expected if not is_there or e.path in report.checked]
    always: Callable[[str, str], bool] = lambda rule, path: True  # noqa: E731
    return stale_entries(report, entries, always)
