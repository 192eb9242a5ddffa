"""Options of a report: what a run asks of all formats. Each takes what concerns it."""

from __future__ import annotations

from pathlib import Path

from devlint.records import dataclass
from devlint.rule import Rule


@dataclass(frozen=True, slots=True)
class Options:
    """color: with ANSI styles.
    base: where the reader is: paths are shown relative to it, when they lie in it.
    repository: what paths are relative to in the formats that a forge reads; None: the project.
    fixed: how many findings were fixed before the report.
    rules: those installed, for formats that carry their pages.
    """

    color: bool = False
    base: Path | None = None
    show_suppressed: bool = False
    summary: bool = True
    fixed: int = 0
    repository: Path | None = None
    rules: tuple[Rule, ...] = ()
