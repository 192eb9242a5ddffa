"""Statistics of a report: findings counted by rule, folder, confidence and fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from pathlib import PurePosixPath

from devlint.findings import Finding, Severity
from devlint.records import dataclass
from devlint.report import Report
from devlint.terminal import columns, show

COLUMNS = ("findings", "errors", "safe fix", "unsafe fix", "by hand", "in baseline")


@dataclass(frozen=True, slots=True)
class Table:
    """Counts under one heading: a row for each key, the largest first."""

    heading: str
    rows: tuple[tuple[str, tuple[int, ...]], ...]


def count(report: Report, depth: int, known: Collection[str] = ()) -> list[Table]:
    """The tables. depth: of the folders that are told apart."""

    def folder(finding: Finding) -> str:
        parents = PurePosixPath(finding.location.path).parent.parts[:depth]
        return "/".join(parents) or "."

    keys: dict[str, Callable[[Finding], str]] = {
        "rule": lambda finding: f"{finding.rule} {finding.name}",
        "folder": folder,
        "confidence": lambda finding: finding.confidence.value,
        "total": lambda finding: "all",
    }
    return [_table(heading, key, report.findings, known) for heading, key in keys.items()]


def _table(
    heading: str,
    key: Callable[[Finding], str],
    findings: Collection[Finding],
    known: Collection[str],
) -> Table:
    counts: dict[str, Counter[str]] = {}
    for finding in findings:
        row = counts.setdefault(key(finding), Counter())
        fix = f"{finding.fix.applicability.value} fix" if finding.fix else "by hand"
        row.update(("findings", fix))
        row["errors"] += finding.severity is Severity.ERROR
        row["in baseline"] += finding.fingerprint in known
    order = sorted(counts, key=lambda name: (-counts[name]["findings"], name))
    return Table(heading, tuple((name, tuple(counts[name][c] for c in COLUMNS)) for name in order))


def as_text(tables: Collection[Table]) -> str:
    """The tables for people."""
    if not any(table.rows for table in tables):
        return "No findings.\n"
    names = [show(name) for table in tables for name, _ in table.rows]
    widest = max(columns(name) for name in (*names, *(table.heading for table in tables)))
    lines = []
    for table in tables:
        lines.append("  ".join((f"{table.heading:<{widest}}", *COLUMNS)))
        for name, row in table.rows:
            name = show(name)
            cells = (f"{cell or '':>{len(c)}}" for cell, c in zip(row, COLUMNS, strict=True))
            lines.append("  ".join((name + " " * (widest - columns(name)), *cells)).rstrip())
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def as_object(tables: Collection[Table]) -> dict[str, dict[str, dict[str, int]]]:
    """The tables for programs: heading, key, column."""
    return {
        table.heading: {
            name: {c.replace(" ", "_"): cell for c, cell in zip(COLUMNS, row, strict=True)}
            for name, row in table.rows
        }
        for table in tables
    }
