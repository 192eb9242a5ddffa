"""The documents that the editor has open: their texts are right, whatever is on disk."""

from __future__ import annotations

import io
import json
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path, uri_scheme

from devlint.project.source import split_lines
from devlint.server.positions import spliced

LANGUAGE = "python"
NOTEBOOK = ".ipynb"


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a document, or of a notebook's cell."""

    uri: str
    language: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a notebook: its text, and whether it is code."""

    uri: str
    is_code: bool


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook by its cells, in order."""

    uri: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is open, at one moment.

    contents: what is to be taken for the contents of files. files: the URIs of each, one for a text
    and one for each cell of a notebook. texts: by URI.
    """

    contents: Mapping[Path, bytes]
    files: Mapping[Path, Sequence[str]]
    texts: Mapping[str, Text]

    def uri(self, file: Path, cell: int) -> str:
        """The document of a file, or of a cell of it."""
        uris = self.files.get(file)
        if uris is None:
            return from_fs_path(str(file)) or file.as_uri()
        return uris[cell - 1 if cell else 0]

    def lines(self, file: Path, cell: int) -> Sequence[str]:
        """The lines of a file that is open, or of a cell of it; none if it is not open."""
        open_text = self.texts.get(self.uri(file, cell))
        return split_lines(open_text.text) if open_text else ()


@dataclass(slots=True)
class Documents:
    """What is open, by URI. `folder` is where documents without a file are taken to be."""

    folder: Path
    encoding: str = types.PositionEncodingKind.Utf16
    texts: dict[str, Text] = field(default_factory=dict)
    notebooks: dict[str, Notebook] = field(default_factory=dict)

    def open(self, item: types.TextDocumentItem) -> None:
        self.texts[item.uri] = Text(item.uri, item.language_id, item.version, item.text)

    def change(
        self, uri: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]
    ) -> None:
        """Apply the changes to a text; one that is not open is none of ours."""
        known = self.texts.get(uri)
        if known is None:
            return
        text = known.text
        for change in changes:
            text = spliced(text, change, self.encoding)
        self.texts[uri] = replace(known, text=text, version=version)

    def close(self, uri: str) -> None:
        self.texts.pop(uri, None)

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        document = params.notebook_document
        self.notebooks[document.uri] = Notebook(document.uri, _cells(document.cells))
        for item in params.cell_text_documents:
            self.open(item)

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> Sequence[str]:
        """Apply the changes to a notebook; the cells that are gone."""
        notebook = self.notebooks.get(params.notebook_document.uri)
        changes = params.change.cells
        if notebook is None or changes is None:
            return ()
        gone: list[str] = []
        if changes.structure is not None:
            array = changes.structure.array
            cells = list(notebook.cells)
            cells[array.start : array.start + array.delete_count] = _cells(array.cells or ())
            self.notebooks[notebook.uri] = replace(notebook, cells=tuple(cells))
            for item in changes.structure.did_open or ():
                self.open(item)
            for closed in changes.structure.did_close or ():
                self.close(closed.uri)
                gone.append(closed.uri)
        for edited in changes.text_content or ():
            self.change(edited.document.uri, edited.document.version, edited.changes)
        return gone

    def close_notebook(self, uri: str) -> Sequence[str]:
        """Forget a notebook; its cells."""
        notebook = self.notebooks.pop(uri, None)
        cells = [cell.uri for cell in notebook.cells] if notebook else []
        for cell in cells:
            self.close(cell)
        return cells

    def checked(self) -> list[str]:
        """The documents that a check is of: notebooks, and Python texts that are no cells."""
        cells = {cell.uri for notebook in self.notebooks.values() for cell in notebook.cells}
        texts = [t.uri for t in self.texts.values() if t.uri not in cells and self.is_python(t)]
        return [*self.notebooks, *texts]

    def is_python(self, text: Text) -> bool:
        return text.language == LANGUAGE and not text.uri.endswith(NOTEBOOK)

    def of(self, uri: str) -> str:
        """The document to be checked for what is said of a document: a cell's notebook."""
        for notebook in self.notebooks.values():
            if any(cell.uri == uri for cell in notebook.cells):
                return notebook.uri
        return uri

    def parts(self, uri: str) -> Sequence[str]:
        """The documents that diagnostics are of: the cells of a notebook, or the text itself."""
        notebook = self.notebooks.get(uri)
        return [cell.uri for cell in notebook.cells] if notebook else [uri]

    def file(self, uri: str) -> Path:
        """The file of a document; a name in the folder for one that was never saved."""
        path = to_fs_path(uri)
        if path is not None:
            return Path(path)
        name = uri.partition(":")[2].strip("/").replace("/", "_") or uri_scheme(uri)
        suffix = NOTEBOOK if uri in self.notebooks and not f"{name}".endswith(NOTEBOOK) else ""
        return self.folder / f"{name}{suffix}"

    def snapshot(self) -> Snapshot:
        """Everything that is open now."""
        contents: dict[Path, bytes] = {}
        files: dict[Path, Sequence[str]] = {}
        for uri in self.checked():
            file = self.file(uri)
            files[file] = self.parts(uri)
            notebook = self.notebooks.get(uri)
            if notebook is not None:
                contents[file] = json.dumps(dict(_nbformat(notebook, self.texts))).encode()
            else:
                contents[file] = encoded(self.texts[uri].text)
        return Snapshot(contents, files, dict(self.texts))


def encoded(text: str) -> bytes:
    """The bytes that a text would be saved as, by its coding line."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding)
    except (SyntaxError, UnicodeEncodeError, LookupError):
        return data  # reading it says what is wrong with it


def _cells(cells: Sequence[types.NotebookCell]) -> tuple[Cell, ...]:
    return tuple(Cell(c.document, c.kind is types.NotebookCellKind.Code) for c in cells)


def _nbformat(notebook: Notebook, texts: Mapping[str, Text]) -> Iterator[tuple[str, object]]:
    """The members of the file that a notebook would be saved as, as far as a check needs them."""
    cells: list[dict[str, object]] = []
    for cell in notebook.cells:
        text = texts.get(cell.uri)
        language = text.language if text else LANGUAGE
        is_ours = cell.is_code and language == LANGUAGE
        cells.append(
            {
                "cell_type": "code" if is_ours else "markdown",
                "metadata": {},
                "source": text.text if text else "",
            }
        )
    yield "nbformat", 4
    yield "nbformat_minor", 5
    yield "metadata", {}
    yield "cells", cells
