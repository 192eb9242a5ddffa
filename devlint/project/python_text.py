"""The Python of a file, whatever it is written in: a module, a script of cells, a notebook.

Python and what is written have the same length, line by line: where magics stand, the Python has
white space. So a place in the one is the same place in the other.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst

from devlint.findings import Location
from devlint.project.parsing import parse
from devlint.project.source import (
    Decoded,
    SourceError,
    decode,
    decode_utf8,
    line_starts,
    split_lines,
)
from devlint.records import dataclass

# Few files are notebooks or have cells: what reads those is imported where one does.
if TYPE_CHECKING:
    from devlint.project.notebooks import Cell, Notebook

NOTEBOOK = ".ipynb"
CELL_MARK = "%%"


@dataclass(frozen=True, slots=True)
class PythonText:
    """decoded: the file. written: what its lines and columns are of. text: the Python of it."""

    decoded: Decoded
    written: str
    text: str
    notebook: Notebook | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        return self.notebook.cells if self.notebook else ()

    def tree(self) -> cst.Module:
        """The tree of the Python. Raises SourceError."""
        try:
            return parse(self.text)
        except SourceError as error:
            here = Location("", error.line, error.column, error.line, error.column)
            place = in_cell(here, self.cells)
            error.line, error.cell = place.line, place.cell
            raise

    def extent(self, place: Location) -> tuple[int, int]:
        """The offsets of a place; one that ends behind its cell ends with it."""
        starts, base, end = line_starts(self.written), 0, len(self.written)
        cell = self.notebook.cell(place.cell) if self.notebook else None
        if cell is not None:
            base, end = cell.line - 1, cell.end

        def offset(line: int, column: int) -> int:
            line += base
            return min(starts[line - 1] + column - 1 if line <= len(starts) else end, end)

        return offset(place.line, place.column), offset(place.end_line, place.end_column)

    def edited(self, edits: Mapping[tuple[int, int], str]) -> PythonText:
        """The file with other texts at these extents, which do not overlap.

        Raises SourceError if it is no notebook any more.
        """
        if self.notebook is None:
            text = replace_extents(self.written, edits, 0, len(self.written))
            return _script(replace(self.decoded, text=text))
        sources = {
            cell.number: replace_extents(self.written, edits, cell.start, cell.end)
            for cell in self.notebook.cells
        }
        return _notebook(replace(self.decoded, text=self.notebook.with_sources(sources)))

    def encode(self) -> bytes:
        """The bytes of the file. Raises UnicodeEncodeError."""
        return self.decoded.encode(self.decoded.text)


def python_text(file: Path, data: bytes) -> PythonText:
    """Read the content of a file by its name. Raises SourceError."""
    if os.path.splitext(file)[1].lower() == NOTEBOOK:
        return _notebook(decode_utf8(data))
    return _script(decode(data))


def replace_extents(text: str, edits: Mapping[tuple[int, int], str], first: int, last: int) -> str:
    """A part of a text with the edits that lie in it."""
    parts = []
    at = first
    for (start, end), new in sorted(edits.items()):
        if first <= start and end <= last:
            parts += [text[at:start], new]
            at = end
    return "".join((*parts, text[at:last]))


def in_cell(place: Location, cells: Sequence[Cell]) -> Location:
    """A place in the text of a notebook, as a place in one of its cells."""
    number = bisect_right([cell.line for cell in cells], place.line)
    if not number:
        return place
    cell = cells[number - 1]
    end_line, end_column = place.end_line, place.end_column
    if end_line > cell.last:
        end_line = cell.last
        end_column = len(split_lines(cell.source)[cell.last - cell.line]) + 1
    shift = cell.line - 1
    return replace(
        place,
        cell=cell.number,
        line=place.line - shift,
        end_line=end_line - shift,
        end_column=end_column,
    )


def _script(decoded: Decoded) -> PythonText:
    if CELL_MARK not in decoded.text:
        return PythonText(decoded, decoded.text, decoded.text)
    from devlint.project.magics import python_of_script  # see above

    return PythonText(decoded, decoded.text, python_of_script(decoded.text))


def _notebook(decoded: Decoded) -> PythonText:
    from devlint.project.notebooks import read_notebook  # see above

    notebook = read_notebook(decoded.text)
    return PythonText(decoded, notebook.written, notebook.text, notebook)
