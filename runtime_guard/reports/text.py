"""A few lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from runtime_guard.recording.budgets import format_size, worst_lines
from runtime_guard.recording.events import PROBLEMS
from runtime_guard.recording.evidence import Evidence
from runtime_guard.recording.ledger import Ledger


def summary_lines(ledger: Ledger, tests: int | None = None) -> list[str]:
    """Totals, the worst lines, and every bug.  ``tests`` is how many tests were watched."""
    transfers, syncs = ledger.transfers, ledger.syncs
    moved = sum(event.bytes for event in transfers)
    over = f" in {tests} test{'s' * (tests != 1)}" if tests is not None else ""
    lines = [
        f"{sum(e.count for e in transfers)} transfers ({format_size(moved)}), "
        f"{sum(e.count for e in syncs)} syncs{over}"
    ]
    if transfers:
        lines += ["transfers, most bytes first:", *worst_lines(transfers, 10).splitlines()]
    if syncs:
        lines += ["syncs, most first:", *worst_lines(syncs, 10).splitlines()]
    problems = ledger.of(*PROBLEMS)
    if problems:
        lines.append("device bugs:")
        for event in sorted(problems, key=lambda e: (e.site.file, e.site.line)):
            times = f" ({event.count}x)" if event.count > 1 else ""
            lines.append(f"  {event.site}  {event.kind.value}{times}: {event.told}")
    return lines


def summary_of(evidence: Evidence) -> list[str]:
    """``summary_lines`` of a run, and how much memory each of its virtual devices held at most."""
    ledger = Ledger()
    ledger.merge(evidence.events)
    peaks = [
        f"memory of {peak.device}: at most {format_size(peak.bytes)}"
        + (f", at {peak.at}" if peak.at is not None else "")
        for peak in evidence.peaks
    ]
    return [*summary_lines(ledger), *peaks]


def page(lines: Iterable[str]) -> str:
    """Lines as a text in which nothing steers a terminal, however files are called."""
    return "".join(f"{_shown(line)}\n" for text in lines for line in text.split("\n"))


def _shown(line: str) -> str:
    return "".join(
        c if c.isprintable() or c == "\t" else chr(0x2400 + ord(c)) if ord(c) < 0x20 else "\ufffd"
        for c in line
    )
