"""Notebooks in an editor: cells that are documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor import editing
from fakes import Tree
from lsprotocol import types

from devlint.project.notebooks import read_notebook
from devlint.server.documents import Documents

CODE, MARKUP = types.NotebookCellKind.Code, types.NotebookCellKind.Markup


@pytest.mark.asyncio
async def test_cells_are_checked_in_order_and_fixed_in_place(tree: Tree) -> None:
    root = tree({})
    notebook = (root / "study.ipynb").as_uri()
    uris = [f"vscode-notebook-cell:{notebook}#{n}" for n in range(4)]
    texts = [
        "# Title",
        "import torch\n%matplotlib inline\nx = torch.ones(3).cuda()",
        "!ls",
        "y = torch.ones(3)\nz = x + y",
    ]

    def cell(number: int) -> types.NotebookCell:
        return types.NotebookCell(CODE if number else MARKUP, uris[number])

    items = [
        types.TextDocumentItem(uri, "python" if number else "markdown", 1, text)
        for number, (uri, text) in enumerate(zip(uris, texts, strict=True))
    ]
    async with editing(root, pulls=True, options={"select": ["DEV101"]}) as editor:
        editor.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                types.NotebookDocument(
                    notebook, "jupyter-notebook", 1, [cell(n) for n in range(4)]
                ),
                items,
            )
        )
        await editor.until(lambda: uris[3] in editor.shown)
        (found,) = editor.shown[uris[3]].diagnostics
        assert found.code == "DEV101"
        assert found.range == types.Range(types.Position(1, 4), types.Position(1, 9))
        assert uris[1] in {r.location.uri for r in found.related_information or ()}
        assert editor.shown[uris[1]].diagnostics in ((), [])
        titles = [a.title for a in await editor.actions(uris[3], found.range, ["quickfix"])]
        assert "devlint (DEV101): suppress on this line" in titles

        edit = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(2, uris[3]),
            [
                types.TextDocumentContentChangePartial(
                    types.Range(types.Position(0, 4), types.Position(0, 17)), "x.cpu().cuda()"
                )
            ],
        )
        event = types.NotebookDocumentChangeEvent(
            cells=types.NotebookDocumentCellChanges(text_content=[edit])
        )
        document = types.VersionedNotebookDocumentIdentifier(2, notebook)
        editor.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(document, event)
        )
        await editor.until(lambda: not editor.shown[uris[3]].diagnostics)


def test_cells_come_and_go() -> None:
    documents = Documents(folder=Path("/work"))
    uri = "file:///work/a.ipynb"
    documents.open_notebook(
        types.DidOpenNotebookDocumentParams(
            types.NotebookDocument(
                uri,
                "jupyter",
                1,
                [types.NotebookCell(CODE, "c:1"), types.NotebookCell(CODE, "c:2")],
            ),
            [
                types.TextDocumentItem("c:1", "python", 1, "one"),
                types.TextDocumentItem("c:2", "python", 1, "two"),
            ],
        )
    )
    array = types.NotebookCellArrayChange(0, 1, [types.NotebookCell(CODE, "c:3")])
    structure = types.NotebookDocumentCellChangeStructure(
        array,
        did_open=[types.TextDocumentItem("c:3", "python", 1, "three")],
        did_close=[types.TextDocumentIdentifier("c:1")],
    )
    gone = documents.change_notebook(
        types.DidChangeNotebookDocumentParams(
            types.VersionedNotebookDocumentIdentifier(2, uri),
            types.NotebookDocumentChangeEvent(
                cells=types.NotebookDocumentCellChanges(structure=structure)
            ),
        )
    )
    assert gone == ["c:1"]
    assert documents.checked() == [uri]
    assert documents.of("c:3") == uri
    (data,) = documents.snapshot().contents.values()
    assert [cell.source for cell in read_notebook(data.decode()).cells] == ["three", "two"]
    assert documents.close_notebook(uri) == ["c:3", "c:2"]
    assert documents.texts == {}
