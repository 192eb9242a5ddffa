"""Hovers and inlay hints: where values are, and why."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from editor import Editor, editing
from fakes import Tree
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROGRAM = """\
import torch
from torch import nn
from made import made

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(3, 3)

    def forward(self, x, bias=None):
        y = self.proj(x)
        return y

words = '😀', torch.ones(3).cuda()
model = Head().to("cuda")
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    folder = tmp_path_factory.mktemp("open")
    async with editing(folder, like="visual_studio_code") as shared:
        yield shared


def at(text: str, part: str, further: int = 0) -> types.Position:
    lines = text[: text.index(part) + further].split("\n")
    return types.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)


async def hovered(editor: Editor, uri: str, position: types.Position) -> str | None:
    document = types.TextDocumentIdentifier(uri)
    found = await editor.client.text_document_hover_async(types.HoverParams(document, position))
    if found is None:
        return None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


async def hinted(editor: Editor, uri: str, text: str) -> dict[tuple[int, int], str]:
    whole = types.Range(types.Position(0, 0), types.Position(text.count("\n"), 0))
    found = await editor.client.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
    )
    return {(h.position.line, h.position.character): str(h.label) for h in found or ()}


async def test_the_value_under_the_cursor(editor: Editor, tree: Tree) -> None:
    root = tree({"made.py": "import torch\n\nmade = torch.ones(3)\n"})
    uri = (root / "train.py").as_uri()
    text = PROGRAM + "made.sum()\n"
    editor.open(uri, text)
    assert await hovered(editor, uri, at(text, "y = self.proj")) == (
        "`y`: tensor on the module's device\n\n"
        f"- [line 8]({uri}#L8): made here\n- [line 11]({uri}#L11): computed here"
    )
    assert await hovered(editor, uri, at(text, "bias=None", 2)) == (
        "`bias`: tensor on the device of `bias`?\n\n"
        f"- [line 10]({uri}#L10): `bias` is handed in by the caller\n"
        "- *assuming* `bias` is a tensor"
    )
    moved = await hovered(editor, uri, at(text, "cuda()\n", 5))
    assert moved is not None and moved.startswith("`torch.ones(3).cuda()`: tensor on cuda")
    other = await hovered(editor, uri, at(text, "made.sum()", 1))
    assert other is not None and f"[made.py:3]({(root / 'made.py').as_uri()}#L3)" in other
    assert await hovered(editor, uri, types.Position(3, 0)) is None
    editor.replace(uri, "x = (\n")
    assert await hovered(editor, uri, types.Position(0, 0)) is None


async def test_devices_stand_behind_the_names(editor: Editor, tree: Tree) -> None:
    """But for those of parameters, and for modules that are just made."""
    uri = (tree({}) / "train.py").as_uri()
    editor.open(uri, PROGRAM)
    end = {name: at(PROGRAM, f"{name} = ", len(name)) for name in ("y", "words", "model")}
    assert await hinted(editor, uri, PROGRAM) == {
        (end["y"].line, end["y"].character): ": module's device",
        (end["words"].line, end["words"].character): ": cuda",
        (end["model"].line, end["model"].character): ": cuda",
    }
    editor.replace(uri, PROGRAM.replace('"cuda"', '"cpu"'))
    hints = await hinted(editor, uri, PROGRAM)
    assert hints[end["model"].line, end["model"].character] == ": cpu"


async def test_hints_can_be_turned_off(tree: Tree) -> None:
    root = tree({})
    uri = (root / "train.py").as_uri()
    async with editing(root, like="visual_studio_code", options={"inlayHints": False}) as editor:
        editor.open(uri, PROGRAM)
        assert await hinted(editor, uri, PROGRAM) == {}
