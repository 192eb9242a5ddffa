"""Findings in an editor: on opening, typing, saving; for texts that no file has."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from editor import BUG, CLEAN, Editor, editing
from fakes import Tree
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    """An editor that was sent nothing about the folders of the tests."""
    async with editing(tmp_path_factory.mktemp("open")) as shared:
        yield shared


def position_in(text: str, part: str) -> types.Position:
    """Where the part begins in a text of ASCII."""
    lines = text[: text.index(part)].split("\n")
    return types.Position(len(lines) - 1, len(lines[-1]))


async def test_a_document_is_checked_as_it_is_typed(editor: Editor, tree: Tree) -> None:
    root = tree({"head.py": CLEAN})
    uri = (root / "head.py").as_uri()
    editor.open(uri, BUG)  # not what is on disk
    (found,) = await editor.diagnostics(uri)
    assert found.code == "DEV102"
    assert found.source == "devlint"
    assert found.severity is types.DiagnosticSeverity.Error
    line = BUG.splitlines()[found.range.start.line]
    assert line[found.range.start.character : found.range.end.character] == ("x + torch.randn(3)")
    made = next(r for r in found.related_information or () if "default device" in r.message)
    assert made.location.uri == uri
    assert made.location.range.start == position_in(BUG, "torch.randn")

    editor.type(
        uri,
        types.TextDocumentContentChangePartial(
            types.Range(position_in(BUG, "3)\n"), position_in(BUG, ")\n")),
            "3, device=x.device",
        ),
        types.TextDocumentContentChangePartial(
            types.Range(types.Position(0, 0), types.Position(0, 0)), "# one more line\n"
        ),
    )
    assert await editor.diagnostics(uri) == []

    editor.replace(uri, BUG)
    assert len(await editor.diagnostics(uri)) == 1
    editor.close(uri)
    await editor.until(lambda: not editor.shown[uri].diagnostics)


async def test_what_is_typed_quickly_is_checked_once(editor: Editor, tree: Tree) -> None:
    root = tree({"head.py": BUG})
    uri = (root / "head.py").as_uri()
    editor.open(uri, BUG)
    await editor.diagnostics(uri)
    before = editor.count
    for number in range(20):
        editor.replace(uri, f"{BUG}\n{number}\n")
    assert len(await editor.diagnostics(uri)) == 1
    assert editor.count == before + 1


async def test_an_unsaved_text_counts_in_the_files_that_import_it(
    editor: Editor, tree: Tree
) -> None:
    root = tree({"made.py": "import torch\n\ndef made():\n    return torch.ones(3).cuda()\n"})
    user = "import torch\nfrom made import made\n\nx = made() + torch.ones(3)\n"
    made, using = (root / "made.py").as_uri(), (root / "using.py").as_uri()
    editor.open(using, user)
    assert [d.code for d in await editor.diagnostics(using)] == ["DEV101"]
    editor.open(made, (root / "made.py").read_text().replace(".cuda()", ""))
    await editor.diagnostics(made)
    editor.save(made)
    await editor.until(lambda: not editor.shown[using].diagnostics)


async def test_documents_without_a_file_or_a_project(tree: Tree) -> None:
    root = tree({"project/pyproject.toml": "[tool.devlint]\n", "elsewhere/a.py": BUG})
    outside = (root / "elsewhere/a.py").as_uri()
    installed = (root / "env/site-packages/torch/nn/head.py").as_uri()
    async with editing(root / "project") as editor:
        editor.open("untitled:Untitled-1", BUG)
        editor.open(outside, BUG)
        editor.open(installed, BUG)
        for uri in ("untitled:Untitled-1", outside):
            (found,) = await editor.diagnostics(uri)
            assert found.code == "DEV102"
            assert {r.location.uri for r in found.related_information or ()} == {uri}
        assert await editor.diagnostics(installed) == []


async def test_a_broken_text_says_so_and_comes_back(editor: Editor, tree: Tree) -> None:
    root = tree({})
    uri = (root / "head.py").as_uri()
    editor.open(uri, BUG + "x = (\n")
    (found,) = await editor.diagnostics(uri)
    assert "syntax error" in found.message
    assert found.severity is types.DiagnosticSeverity.Warning
    assert found.range.start == types.Position(BUG.count("\n"), 4)
    editor.replace(uri, "\0\ud800")
    (found,) = await editor.diagnostics(uri)
    assert "not checked" in found.message
    editor.replace(uri, BUG)
    assert [d.code for d in await editor.diagnostics(uri)] == ["DEV102"]
    editor.open((root / "notes.txt").as_uri(), BUG, "plaintext")
    editor.replace(uri, CLEAN)
    assert await editor.diagnostics(uri) == []
    assert (root / "notes.txt").as_uri() not in editor.shown


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_positions_are_in_the_encoding_agreed_on(tree: Tree, encoding: str) -> None:
    """Also behind a form feed and a line separator, which are no ends of lines."""
    root = tree({})
    uri = (root / "wide.py").as_uri()
    text = "import torch\n\f\nlabel = '\u2028'\nx = {'é😀': torch.ones(3).cuda() + torch.ones(3)}\n"

    def width(part: str) -> int:
        return len(part.encode()) if encoding == "utf-8" else len(part.encode("utf-16-le")) // 2

    async with editing(root, encodings=[encoding], options={"select": ["DEV101"]}) as editor:
        editor.open(uri, text)
        (found,) = await editor.diagnostics(uri)
        line = text.split("\n")[3]
        assert found.range.start == types.Position(3, width(line[: line.index("torch")]))
        assert found.range.end == types.Position(3, width(line[: line.index("}")]))
        end = types.Position(3, width(line[: line.index(" + ")]))
        editor.type(
            uri,
            types.TextDocumentContentChangePartial(
                types.Range(end, types.Position(3, width(line[: line.index("}")]))), ""
            ),
        )
        assert await editor.diagnostics(uri) == []


async def test_nothing_of_the_checked_code_runs(tree: Tree) -> None:
    bomb = "raise SystemExit('it ran')\nprint('it ran')\n"
    root = tree(
        {
            "lsprotocol.py": bomb,
            "pygls.py": bomb,
            "devlint_rules.py": bomb,
            "sitecustomize.py": bomb,
            "head.py": BUG,
        }
    )
    uri = (root / "head.py").as_uri()
    async with editing(root) as editor:
        editor.open(uri, "import lsprotocol, pygls, devlint_rules\n" + BUG)
        assert [d.code for d in await editor.diagnostics(uri)] == ["DEV102"]


async def test_a_client_that_asks_is_not_sent_any(tree: Tree) -> None:
    root = tree({})
    uri = (root / "head.py").as_uri()
    async with editing(root, pulls=True) as editor:
        editor.open(uri, BUG)
        first = await editor.pulled(uri)
        assert [d.code for d in first.items] == ["DEV102"]
        again = await editor.pulled(uri, first.result_id)
        assert again.kind == "unchanged"
        editor.replace(uri, CLEAN)
        third = await editor.pulled(uri, first.result_id)
        assert list(third.items) == []
        assert editor.shown == {}
