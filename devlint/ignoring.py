"""Suppressions written and removed: comments at the ends of the lines that findings are on.

Only comments come and go: a file whose program would be another one afterwards is left alone.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devlint.findings import Edit, Finding
from devlint.fixing import Change
from devlint.project.notebooks import read_notebook
from devlint.project.source import SourceError, decode, line_starts, read
from devlint.report import Report
from devlint.suppression import RULES, UNUSED

MODULE, NOTEBOOK = ".py", ".ipynb"  # other files have no comments at the ends of their lines
_LINE_ENDS = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)


@dataclass(slots=True)
class Rewritten:
    """The changes, how many findings they are for, and those that nothing could be done about."""

    changes: list[Change] = field(default_factory=list)
    count: int = 0
    left: list[Finding] = field(default_factory=list)


Rewrite = Callable[[str, Sequence[Finding]], "str | None"]


def with_ignores(report: Report, reason: str) -> Rewritten:
    """Suppress each finding of the report, for this reason."""
    ours = {rule.code for rule in RULES}  # findings about suppressions are not suppressed
    findings = [finding for finding in report.findings if finding.rule not in ours]
    return _rewritten(findings, report.root, lambda text, some: suppressed(text, some, reason))


def without_unused_ignores(report: Report) -> Rewritten:
    """Remove each suppression that the report says is of no use."""
    findings = [finding for finding in report.findings if finding.rule == UNUSED.code]
    return _rewritten(findings, report.root, _relieved)


def _rewritten(findings: Iterable[Finding], root: Path, rewrite: Rewrite) -> Rewritten:
    done = Rewritten()
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.location.path, []).append(finding)
    for path, some in by_path.items():
        change = _change(root / path, some, rewrite)
        if change is None or change.before == change.after:
            done.left += some
        else:
            done.changes.append(change)
            done.count += len(some)
    return done


def _change(file: Path, findings: Sequence[Finding], rewrite: Rewrite) -> Change | None:
    if file.suffix not in (MODULE, NOTEBOOK):
        return None
    try:
        before = read(file)
        decoded = decode(before)
        if file.suffix == NOTEBOOK:
            text = _in_cells(decoded.text, findings, rewrite)
        else:
            text = rewrite(decoded.text, findings)
        if text is None:
            return None
        return Change(file, before, decoded.encode(text))
    except (SourceError, UnicodeEncodeError):
        return None


def _in_cells(text: str, findings: Sequence[Finding], rewrite: Rewrite) -> str | None:
    """A notebook whose cells are rewritten one by one; None if one of them cannot be."""
    notebook = read_notebook(text)
    sources: dict[int, str] = {}
    for number in {finding.location.cell for finding in findings}:
        cell = notebook.cell(number)
        some = [finding for finding in findings if finding.location.cell == number]
        source = rewrite(cell.source, some) if cell is not None else None
        if source is None:
            return None
        sources[number] = source
    return notebook.with_sources(sources)


def suppressed(text: str, findings: Sequence[Finding], reason: str) -> str | None:
    """The text with a suppression at the end of the line of each finding, or further down where a
    comment can stand; None where there is no such line. An empty reason is not written."""
    rows = _rows_for_comments(text)
    codes: dict[int, list[str]] = {}
    for finding in findings:
        place = bisect_left(rows, finding.location.line)
        if place == len(rows):
            return None
        known = codes.setdefault(rows[place], [])
        if finding.rule not in known:
            known.append(finding.rule)
    after = text
    starts = [*line_starts(text), len(text) + 1]
    for row in sorted(codes, reverse=True):
        line = text[starts[row - 1] : starts[row]]
        end = starts[row - 1] + len(line.rstrip("\r\n"))
        comment = f"  # devlint: ignore[{', '.join(sorted(codes[row]))}]"
        if reason:
            comment += f" -- {reason}"
        after = after[:end].rstrip(" \t") + comment + after[end:]
    return after if _is_same_program(text, after) else None


def _rows_for_comments(text: str) -> list[int]:
    """The lines at whose end a comment can stand, in the logical line that they belong to.

    It can't in a string of several lines or before a line that a backslash joins.
    """
    # tokenize takes a form feed for a line's end nowhere, and each of our line ends for one
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return sorted({token.start[0] for token in tokens if token.type in _LINE_ENDS})


def _relieved(text: str, findings: Sequence[Finding]) -> str | None:
    """The text after the fixes of the findings, each of which shortens a comment."""
    edits = [edit for finding in findings if finding.fix for edit in finding.fix.edits]
    starts = line_starts(text)
    after, limit = text, len(text)
    for edit in sorted(set(edits), key=lambda edit: edit.location, reverse=True):
        start, end = _extent(edit, starts)
        if end <= limit:  # one that overlaps another has its turn in the next run
            after = after[:start] + edit.text + after[end:]
            limit = start
    return after if _is_same_program(text, after) else None


def _extent(edit: Edit, starts: Sequence[int]) -> tuple[int, int]:
    place = edit.location
    start = starts[place.line - 1] + place.column - 1
    return start, starts[place.end_line - 1] + place.end_column - 1


def _is_same_program(before: str, after: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
