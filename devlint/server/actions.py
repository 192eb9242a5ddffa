"""Fixes and suppressions as code actions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from threading import Event

from lsprotocol import types

from devlint import fixes
from devlint.findings import Applicability, Finding
from devlint.project.python_text import python_text
from devlint.project.source import SourceError
from devlint.reporters.wording import plain
from devlint.server.diagnostics import SOURCE, of_finding
from devlint.server.document_check import Checked, unless
from devlint.server.positions import range_of, units
from devlint.suppression import RULES
from devlint.suppression_comments import suppressed

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
KINDS = [types.CodeActionKind.QuickFix, FIX_ALL]
REASON = "reason"  # where the configuration asks for one
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def quick_fixes(
    checked: Checked, uri: str, wanted: types.Range, encoding: str
) -> Iterator[types.CodeAction]:
    """For each finding that the range touches: its fix, and a suppression of it."""
    for finding in checked.findings:
        if checked.uri(finding.location) != uri:
            continue
        diagnostic = of_finding(finding, checked, encoding)
        if not _touches(diagnostic.range, wanted):
            continue
        yield from _fix(finding, diagnostic, checked, encoding)
        yield from _suppression(finding, diagnostic, checked, uri, encoding)


def fix_all(checked: Checked, encoding: str, cancelled: Event) -> types.WorkspaceEdit | None:
    """All safe fixes of a file, as `devlint check --fix` makes them; None if there are none.

    Raises Stale soon after it was cancelled.
    """
    configured, snapshot = checked.configured, checked.snapshot
    fixed = fixes.fix(
        [checked.file],
        configured.config,
        configured.rules,
        contents=snapshot.contents,
        interrupt=unless(cancelled),
    )
    edits: dict[str, list[types.TextEdit]] = {}
    for change in fixed.changes:
        if change.file != checked.file:
            continue
        try:
            before, after = (python_text(change.file, d) for d in (change.before, change.after))
        except SourceError:
            continue
        if before.notebook is None:
            uri = snapshot.uri(change.file, 0)
            edits[uri] = edits_between(before.written, after.written, encoding)
        for old, new in zip(before.cells, after.cells, strict=True):
            if old.source != new.source:
                uri = snapshot.uri(change.file, old.number)
                edits[uri] = edits_between(old.source, new.source, encoding)
    return _edit(edits, checked) if edits else None


def edits_between(before: str, after: str, encoding: str) -> list[types.TextEdit]:
    """The edits that make one text of another, whole lines each."""
    old, new = _LINES.findall(before), _LINES.findall(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    edits = []
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            extent = types.Range(_line_start(old, start, encoding), _line_start(old, end, encoding))
            edits.append(types.TextEdit(extent, "".join(new[new_start:new_end])))
    return edits


def _line_start(lines: Sequence[str], index: int, encoding: str) -> types.Position:
    """The start of a line, or the end of a text whose last line has no end."""
    if index == len(lines) and lines and not lines[-1].endswith(("\r", "\n")):
        return types.Position(index - 1, units(lines[-1], encoding))
    return types.Position(index, 0)


def _fix(
    finding: Finding, diagnostic: types.Diagnostic, checked: Checked, encoding: str
) -> Iterator[types.CodeAction]:
    fix = finding.fix
    data = checked.snapshot.contents.get(checked.file)
    if fix is None or data is None or not fixes.fix_bytes(checked.file, data, [fix])[1]:
        return
    edits: dict[str, list[types.TextEdit]] = {}
    for edit in fix.edits:
        place = edit.location
        lines = checked.lines(place)
        newline = "\r\n" if b"\r\n" in data else "\n"
        edits.setdefault(checked.uri(place), []).append(
            types.TextEdit(range_of(place, lines, encoding), edit.text.replace("\n", newline))
        )
    is_safe = fix.applicability is Applicability.SAFE
    title = finding.advice or f"fix {finding.name}"
    yield types.CodeAction(
        _title(finding, title if is_safe else f"{title} (unsafe: look at what it changes)"),
        types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        is_preferred=is_safe,
        edit=_edit(edits, checked),
    )


def _suppression(
    finding: Finding, diagnostic: types.Diagnostic, checked: Checked, uri: str, encoding: str
) -> Iterator[types.CodeAction]:
    if any(finding.rule == rule.code for rule in RULES):
        return  # a finding about a suppression
    text = checked.snapshot.texts[uri].text
    reason = REASON if checked.configured.config.require_suppression_reason else ""
    after = suppressed(text, [finding], reason)
    if after is not None and after != text:
        yield types.CodeAction(
            _title(finding, "suppress on this line"),
            types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            is_preferred=False,
            edit=_edit({uri: edits_between(text, after, encoding)}, checked),
        )


def _title(finding: Finding, text: str) -> str:
    return plain(f"{SOURCE} ({finding.rule}): {text}")


def _edit(edits: dict[str, list[types.TextEdit]], checked: Checked) -> types.WorkspaceEdit:
    """Edits of the versions that were checked: a client refuses them if it has newer ones."""
    changes = []
    for uri, some in edits.items():
        open_text = checked.snapshot.texts.get(uri)
        version = open_text.version if open_text else None
        document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        changes.append(types.TextDocumentEdit(document, list(some)))
    return types.WorkspaceEdit(document_changes=changes)


def plainly(edit: types.WorkspaceEdit | None) -> types.WorkspaceEdit | None:
    """The edit for a client that knows no versions."""
    if edit is None:
        return None
    changes: dict[str, Sequence[types.TextEdit]] = {}
    for change in edit.document_changes or ():
        if isinstance(change, types.TextDocumentEdit):
            changes[change.text_document.uri] = _text_edits(change.edits)
    return types.WorkspaceEdit(changes=changes)


def _text_edits(edits: Iterable[object]) -> list[types.TextEdit]:
    return [edit for edit in edits if isinstance(edit, types.TextEdit)]


def _touches(one: types.Range, other: types.Range) -> bool:
    return _pair(one.start) <= _pair(other.end) and _pair(other.start) <= _pair(one.end)


def _pair(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
