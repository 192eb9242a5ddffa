"""The report of a check: findings, errors, and the source lines that show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from devlint.findings import FileError, Finding
from devlint.records import dataclass


@dataclass(slots=True)
class Report:
    """What a check found. Findings and errors are sorted by path, line, column and rule.

    files: how many files there were to check.
    checked: the paths of those that could be.
    excerpts: by path, the lines (by number) that findings and their traces lie on.
    digests: of the contents that were read, by file.
    notes: by path, where the inference gave up on something.
    seconds: CPU time by stage.
    hidden: the fingerprints of findings below the confidence that was asked for.
    compared: whether findings that are known, by a baseline or an earlier revision, were set aside
        in `known`.
    shard: of a check that was one of several: plain data that JSON and SARIF carry to
        `devlint merge`.
    """

    root: Path
    files: int = 0
    checked: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    excerpts: dict[str, dict[int, str]] = field(default_factory=dict)
    digests: Mapping[Path, bytes] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    below_confidence: int = 0
    hidden: set[str] = field(default_factory=set)
    compared: bool = False
    known: list[Finding] = field(default_factory=list)
    shard: Mapping[str, Any] | None = None


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings as reports list them: by path, line, column and rule."""
    return sorted(findings, key=lambda f: (f.location, f.rule, f.message))
