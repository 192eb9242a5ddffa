"""Notebooks: the Python of their cells as one text, and edited cells written back.

A cell is known by its number among all cells, from 1. Of the file nothing but the sources of edited
cells is rewritten, and of a source that is a list of lines nothing but the edited lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from devlint.project.magics import blank, python_of
from devlint.project.parsing import parse, refused_by_python
from devlint.project.source import OtherLanguage, SourceError, line_starts
from devlint.records import dataclass

NBFORMAT = 4
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell.

    source: as it is written. start: its offset in the notebook's text. line, last: its first and
    last line there. span: of its source in the JSON text. error: why it is passed over.
    """

    number: int
    source: str
    start: int
    line: int
    last: int
    span: tuple[int, int]
    error: SourceError | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.source)


@dataclass(frozen=True, slots=True)
class Notebook:
    """json: the text of the file. written: the cells' sources, each with a line end behind it.
    text: their Python, of the same length."""

    json: str
    cells: tuple[Cell, ...]
    written: str
    text: str

    def cell(self, number: int) -> Cell | None:
        return next((cell for cell in self.cells if cell.number == number), None)

    def with_sources(self, sources: Mapping[int, str]) -> str:
        """The JSON text with other sources in the cells of these numbers."""
        text = self.json
        for cell in reversed(self.cells):
            source = sources.get(cell.number, cell.source)
            if source != cell.source:
                start, end = cell.span
                text = text[:start] + _rewritten(text[start:end], source) + text[end:]
        return text


def read_notebook(text: str) -> Notebook:
    """Read the JSON text of a notebook. Raises SourceError for what is none."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        raise SourceError(f"is not valid JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise SourceError("is too deeply nested to be a notebook") from None
    except ValueError as error:  # a number of too many digits
        raise SourceError(f"is not valid JSON: {error}") from None
    _check_format(whole)
    language = _language(whole)
    if language is not None and language != "python":
        raise OtherLanguage(f"its kernel runs {language}, not Python: nothing to check")
    cells: list[Cell] = []
    written: list[str] = []
    python: list[str] = []
    start, line = 0, 1
    for number, span, source in _sources(text):
        broken, code = _python(source)
        ended = f"{source}\n"  # no place is in two cells
        lines = len(line_starts(ended)) - 1
        cells.append(Cell(number, source, start, line, line + lines - 1, span, broken))
        written.append(ended)
        python.append(f"{code}\n")
        start, line = start + len(ended), line + lines
    return Notebook(text, tuple(cells), "".join(written), "".join(python))


def _python(source: str) -> tuple[SourceError | None, str]:
    """The Python of a cell, as long as its source; blank, with the error, where there is one."""
    error = _unwritable(source)
    code = python_of(source) if error is None else None
    if code is not None:
        error = _refused(code)
    return error, blank(source) if error is not None or code is None else code


def _refused(code: str) -> SourceError | None:
    """Why a cell is no Python; LibCST may know syntax that is newer than the Python we run on."""
    if refused_by_python(code) is not None:
        try:
            parse(code)
        except SourceError as error:
            return error
    return None


def _unwritable(source: str) -> SourceError | None:
    """What JSON can say and no Python source may hold."""
    for character, name in (("\0", "a NUL character"), ("\ud800-\udfff", "half a character")):
        found = re.search(f"[{character}]", source)
        if found is not None:
            before = source[: found.start()]
            starts = line_starts(before)
            return SourceError(f"contains {name}", len(starts), len(before) - starts[-1] + 1)
    return None


def _check_format(whole: object) -> None:
    """Raise SourceError unless it is a notebook of the format that we read."""
    if not isinstance(whole, dict) or not isinstance(whole.get("nbformat"), int):
        raise SourceError("is not a notebook: it has no number under `nbformat`")
    if whole["nbformat"] < NBFORMAT:
        raise SourceError(
            f"is a notebook of format {whole['nbformat']}, and only format {NBFORMAT} is read: "
            "convert it with `jupyter nbconvert --to notebook --inplace`"
        )
    if whole["nbformat"] > NBFORMAT:
        raise SourceError(
            f"is a notebook of format {whole['nbformat']}, which devlint does not know"
        )
    if not isinstance(whole.get("cells"), list):
        raise SourceError("is not a notebook: it has no list under `cells`")
    for number, cell in enumerate(whole["cells"], 1):
        if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
            raise SourceError(f"is not a notebook: cell {number} has no `cell_type`")
        source = cell.get("source")
        lines = source if isinstance(source, list) else [source]
        if not all(isinstance(line, str) for line in lines):
            raise SourceError(f"is not a notebook: cell {number} has no text as its `source`")


def _language(whole: Mapping[str, Any]) -> str | None:
    """The language of the kernel in lower case, `python` for each of its versions."""
    metadata = whole.get("metadata")
    for section, key in (("kernelspec", "language"), ("language_info", "name")):
        value = metadata.get(section) if isinstance(metadata, dict) else None
        language = value.get(key) if isinstance(value, dict) else None
        if isinstance(language, str) and language:
            lower = language.lower()
            return "python" if re.fullmatch(r"i?python[\d.]*", lower) else lower
    return None


def _language_of_cell(cell: Mapping[str, Any]) -> str:
    """The language that an editor has noted for the cell, else Python."""
    metadata = cell.get("metadata")
    noted = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = noted.get("languageId") if isinstance(noted, dict) else None
    return language if isinstance(language, str) else "python"


def _sources(text: str) -> Iterator[tuple[int, tuple[int, int], str]]:
    """Number, span and source of each cell with Python; of a valid notebook."""
    top = _members(text, _SPACE.match(text).end())  # type: ignore[union-attr]  # matches always
    for number, (start, end) in enumerate(_elements(text, top["cells"][0]), 1):
        cell = json.loads(text[start:end])
        if cell["cell_type"] == "code" and _language_of_cell(cell) == "python":
            source = cell["source"]
            joined = source if isinstance(source, str) else "".join(source)
            yield number, _members(text, start)["source"], joined


def _members(text: str, at: int) -> dict[str, tuple[int, int]]:
    """The spans of the values of the JSON object that begins there, by their keys."""
    members = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        members[key] = at, end  # of a key that is there twice, the last one holds
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return members


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The spans of the elements of the JSON array that begins there."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    """The offset behind the white space there."""
    match = _SPACE.match(text, at)
    return match.end() if match is not None else at


def _rewritten(old: str, source: str) -> str:
    """The JSON of a source in the form of the old one: a text, or lines with their white space."""

    def quoted(line: str) -> str:
        return json.dumps(line, ensure_ascii=old.isascii())

    if old.startswith('"'):
        return quoted(source)
    spans = list(_elements(old, 0))
    if not spans:
        return json.dumps(source.splitlines(keepends=True))
    raw = [old[start:end] for start, end in spans]
    from difflib import SequenceMatcher  # for fixes alone

    lines = [json.loads(each) for each in raw]
    new = source.splitlines(keepends=True)
    written = [quoted(line) for line in new]
    for same in SequenceMatcher(None, lines, new, autojunk=False).get_matching_blocks():
        written[same.b : same.b + same.size] = raw[same.a : same.a + same.size]
    head, tail = old[: spans[0][0]], old[spans[-1][1] :]
    between = old[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{head[1:]}"
    return head + between.join(written) + tail if written else "[]"
