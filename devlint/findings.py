"""What devlint says: findings, their places in files, their severity and confidence.

These are the outward types: rules make them, reporters print them, the runtime guard judges them.
Lines and columns start at 1; a span's end column is the column after its last character.
"""

from __future__ import annotations

import enum
from dataclasses import field

from devlint.records import dataclass


class Severity(str, enum.Enum):
    """How bad it is when the finding is right."""

    ERROR = "error"  # raises, or is silently wrong
    WARNING = "warning"  # breaks on other machines or devices
    PERFORMANCE = "performance"

    @property
    def rank(self) -> int:
        """0 for `performance` up to 2 for `error`: what `--fail-on` compares."""
        return ("performance", "warning", "error").index(self.value)


class Confidence(str, enum.Enum):
    """How sure devlint is."""

    CERTAIN = "certain"  # fails whenever reached on an accelerator
    LIKELY = "likely"  # fails for the ordinary caller
    POSSIBLE = "possible"  # depends on the caller

    @property
    def rank(self) -> int:
        """0 for `possible` up to 2 for `certain`: what `--min-confidence` compares."""
        return ("possible", "likely", "certain").index(self.value)


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A span of one file, or of one cell of a notebook, whose lines are counted for themselves.

    path: relative to the project root and `/`-separated. cell: its number among all cells of the
    notebook, from 1; 0 elsewhere.
    """

    path: str
    cell: int = field(default=0, kw_only=True)
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def source(self) -> str:
        """The text that the lines are of: `x.py`, or `x.ipynb:cell 3`."""
        return source_name(self.path, self.cell)


@dataclass(frozen=True, slots=True)
class Related:
    """One step of a trace: why the finding is there."""

    location: Location
    message: str


class Applicability(str, enum.Enum):
    """Whether `--fix` may apply a fix, or only `--unsafe-fixes`."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of a span; an empty span inserts."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all are applied, or none."""

    applicability: Applicability
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Assumption:
    """What has to hold, and is not shown by the code, for a finding to be right.

    `kind` is one of those that `devlint explain --assumptions` lists; `message` reads after
    "assuming:".
    """

    kind: str
    location: Location
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's claim at one place.

    `message` is the claim, `advice` what to write instead, `related` the trace, `assumptions` all
    that it rests on. `fingerprint` stays the same when lines above the finding move.
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    location: Location
    message: str
    advice: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    assumptions: tuple[Assumption, ...] = ()
    fingerprint: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, order=True)
class FileError:
    """A file, or a place in one, that could not be checked. `cell` is as a location's."""

    path: str
    cell: int = field(default=0, kw_only=True)
    line: int
    column: int
    message: str

    @property
    def source(self) -> str:
        """The text that the line is of."""
        return source_name(self.path, self.cell)


def source_name(path: str, cell: int) -> str:
    """How a file, or a cell of it, is named before a line and a column."""
    return f"{path}:cell {cell}" if cell else path
