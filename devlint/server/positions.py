"""Places of findings as ranges of the protocol, and back.

devlint counts lines and columns from 1, and columns in characters; the protocol counts both from 0,
and columns in units of the encoding that client and server agreed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types

from devlint.findings import FileError, Location
from devlint.project.source import line_starts

Lines = Callable[[int], str]  # the text of a line by its number from 1; "" where there is none


def units(text: str, encoding: str) -> int:
    """The length of a text in the units of an encoding."""
    if text.isascii() or encoding == types.PositionEncodingKind.Utf32:
        return len(text)
    if encoding == types.PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def characters(line: str, count: int, encoding: str) -> int:
    """How many characters of a line take this many units; one that is cut counts."""
    if line.isascii() or encoding == types.PositionEncodingKind.Utf32:
        return min(count, len(line))
    taken = 0
    for number, character in enumerate(line):
        if taken >= count:
            return number
        taken += units(character, encoding)
    return len(line)


def range_of(place: Location, line: Lines, encoding: str) -> types.Range:
    """The range of a place in a text."""

    def position(number: int, column: int) -> types.Position:
        text = line(number)
        before = text[: column - 1] if text else " " * (column - 1)
        return types.Position(number - 1, units(before, encoding))

    return types.Range(
        position(place.line, place.column), position(place.end_line, place.end_column)
    )


def range_of_error(error: FileError, line: Lines, encoding: str) -> types.Range:
    """The range of what a file's error is about: from its place to the end of the line."""
    end = max(len(line(error.line)), error.column) + 1
    place = Location(error.path, error.line, error.column, error.line, end)
    return range_of(place, line, encoding)


def offset_of(text: str, position: types.Position, encoding: str) -> int:
    """The offset of a position in a text; the nearest, if it is none of the text."""
    starts = line_starts(text)
    if position.line >= len(starts):
        return len(text)
    start = starts[position.line]
    end = starts[position.line + 1] if position.line + 1 < len(starts) else len(text)
    line = text[start:end].rstrip("\r\n")
    return start + characters(line, position.character, encoding)


def spliced(text: str, change: types.TextDocumentContentChangeEvent, encoding: str) -> str:
    """A text after a change."""
    if isinstance(change, types.TextDocumentContentChangePartial):
        start = offset_of(text, change.range.start, encoding)
        end = offset_of(text, change.range.end, encoding)
        return text[:start] + change.text + text[max(start, end) :]
    return change.text


def lines_in(lines: Sequence[str]) -> Lines:
    """The lines of a text by their numbers."""
    return lambda number: lines[number - 1] if 0 < number <= len(lines) else ""
