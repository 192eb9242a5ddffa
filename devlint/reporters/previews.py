"""Previews of fixes: the lines that a fix changes, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from devlint.findings import Edit, Fix
from devlint.records import dataclass

Excerpts = Mapping[str, Mapping[int, str]]  # by path, the text of lines by number


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a file, from number `line` on, and the lines that the fix puts in their place."""

    path: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def hunks(fix: Fix, excerpts: Excerpts) -> tuple[Hunk, ...]:
    """The changes of a fix in order; none if one of its lines is not at hand."""
    found = []
    for edits in _groups(fix):
        path = edits[0].location.source
        numbers = range(
            min(edit.location.line for edit in edits),
            max(edit.location.end_line for edit in edits) + 1,
        )
        lines = excerpts.get(path, {})
        if not all(number in lines for number in numbers):
            return ()
        before = [lines[number] for number in numbers]
        after = _edited(before, numbers.start, edits)
        found.append(_shortened(Hunk(path, numbers.start, tuple(before), tuple(after))))
    return tuple(found)


def _groups(fix: Fix) -> Iterator[list[Edit]]:
    """The edits by path and line, together where they touch the same lines."""
    group: list[Edit] = []
    for edit in sorted(fix.edits, key=lambda edit: edit.location):
        same = group and edit.location.source == group[-1].location.source
        if same and edit.location.line <= max(each.location.end_line for each in group):
            group.append(edit)
            continue
        if group:
            yield group
        group = [edit]
    if group:
        yield group


def _edited(lines: list[str], first: int, edits: list[Edit]) -> list[str]:
    text = "\n".join(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for edit in reversed(edits):
        place = edit.location
        start = starts[place.line - first] + place.column - 1
        end = starts[place.end_line - first] + place.end_column - 1
        text = text[:start] + edit.text + text[end:]
    return text.split("\n")


def _shortened(hunk: Hunk) -> Hunk:
    """Without the lines at its end that stay."""
    before, after = list(hunk.before), list(hunk.after)
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    return Hunk(hunk.path, hunk.line, tuple(before), tuple(after))
