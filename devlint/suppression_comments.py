"""Suppressions written and removed: comments at the ends of the lines that findings are on.

Only comments come and go: a file whose program would be another one afterwards is left alone.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from devlint.findings import Edit, Finding
from devlint.fixes import Change
from devlint.project.magics import python_of, python_of_script
from devlint.project.notebooks import read_notebook
from devlint.project.python_text import replace_extents
from devlint.project.source import SourceError, decode, line_starts, read
from devlint.records import dataclass
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


Edits = Mapping[tuple[int, int], str]  # by their extents, which do not overlap
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
        change, left = _change(root / path, some, rewrite)
        done.left += left
        done.count += len(some) - len(left)
        if change is not None:
            done.changes.append(change)
    return done


def _change(
    file: Path, findings: Sequence[Finding], rewrite: Rewrite
) -> tuple[Change | None, Sequence[Finding]]:
    """The change of a file, and the findings that nothing could be done about."""
    if file.suffix not in (MODULE, NOTEBOOK):
        return None, findings
    try:
        before = read(file)
        decoded = decode(before)
        if file.suffix == NOTEBOOK:
            text, left = _in_cells(decoded.text, findings, rewrite)
        else:
            after = rewrite(decoded.text, findings)
            text, left = (decoded.text, list(findings)) if after is None else (after, [])
        change = Change(file, before, decoded.encode(text))
    except (SourceError, UnicodeEncodeError):
        return None, findings
    return (None, findings) if change.before == change.after else (change, left)


def _in_cells(
    text: str, findings: Sequence[Finding], rewrite: Rewrite
) -> tuple[str, list[Finding]]:
    """A notebook whose cells are rewritten one by one, with the findings of those that can't be."""
    notebook = read_notebook(text)
    sources: dict[int, str] = {}
    left: list[Finding] = []
    for number in sorted({finding.location.cell for finding in findings}):
        cell = notebook.cell(number)
        some = [finding for finding in findings if finding.location.cell == number]
        source = rewrite(cell.source, some) if cell is not None else None
        if source is None:
            left += some
        else:
            sources[number] = source
    return notebook.with_sources(sources), left


def suppressed(text: str, findings: Sequence[Finding], reason: str) -> str | None:
    """The text with a suppression at the end of the line of each finding, or further down where a
    comment can stand; None where there is no such line. An empty reason is not written."""
    python = _python(text, findings)
    rows = _rows_for_comments(python)
    codes: dict[int, list[str]] = {}
    for finding in findings:
        place = bisect_left(rows, finding.location.line)
        if place == len(rows):
            return None
        known = codes.setdefault(rows[place], [])
        if finding.rule not in known:
            known.append(finding.rule)
    edits: dict[tuple[int, int], str] = {}
    starts = [*line_starts(text), len(text) + 1]
    for row, some in codes.items():
        line = text[starts[row - 1] : starts[row]].rstrip("\r\n")
        comment = f"  # devlint: ignore[{', '.join(sorted(some))}]"
        if reason:
            comment += f" -- {reason}"
        end = starts[row - 1] + len(line)
        edits[end - len(line) + len(line.rstrip(" \t")), end] = comment
    return _edited(text, python, edits, findings)


def _python(text: str, findings: Sequence[Finding]) -> str:
    """The Python of a file, or of the cell that findings are in, of the same length."""
    in_cell = any(finding.location.cell for finding in findings)
    return (python_of(text) or "") if in_cell else python_of_script(text)


def _edited(text: str, python: str, edits: Edits, findings: Sequence[Finding]) -> str | None:
    """The text after edits of comments; None if they would be more than that, or in a magic."""
    if len(python) != len(text):
        return None
    after, python_after = (replace_extents(each, edits, 0, len(each)) for each in (text, python))
    is_comments = _is_same_program(python, python_after)
    return after if is_comments and _python(after, findings) == python_after else None


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
    wanted = [edit for finding in findings if finding.fix for edit in finding.fix.edits]
    starts = line_starts(text)
    edits: dict[tuple[int, int], str] = {}
    limit = len(text)
    for edit in sorted(set(wanted), key=lambda edit: edit.location, reverse=True):
        start, end = _extent(edit, starts)
        if end <= limit:  # one that overlaps another has its turn in the next run
            edits[start, end] = edit.text
            limit = start
    return _edited(text, _python(text, findings), edits, findings)


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
