"""Fixes and suppressions in an editor."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from editor import BUG, CLEAN, Editor, editing
from fakes import Tree
from lsprotocol import types

from devlint.project.source import split_lines
from devlint.server.actions import FIX_ALL, edits_between
from devlint.server.positions import spliced

asynchronous = pytest.mark.asyncio(loop_scope="module")
UNSAFE = """\
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.zeros(3)

    def forward(self, x: torch.Tensor):
        return x - self.mean
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    async with editing(tmp_path_factory.mktemp("open"), like="visual_studio_code") as shared:
        yield shared


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """The text after the edits, the last one first."""
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character))[::-1]:
        change = types.TextDocumentContentChangePartial(edit.range, edit.new_text)
        text = spliced(text, change, "utf-16")
    return text


def edits_of(action: types.CodeAction, uri: str) -> list[types.TextEdit]:
    """The edits that an action makes of one document."""
    assert action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.uri == uri
    return [edit for edit in change.edits if isinstance(edit, types.TextEdit)]


@asynchronous
async def test_a_finding_is_fixed_or_suppressed(editor: Editor, tree: Tree) -> None:
    uri = (tree({}) / "head.py").as_uri()
    editor.open(uri, BUG)
    (found,) = await editor.diagnostics(uri)
    fix, suppression = await editor.actions(uri, found.range, ["quickfix"])
    assert fix.title.startswith("devlint (DEV102): make it where the other one lives")
    assert fix.is_preferred
    assert [d.code for d in fix.diagnostics or ()] == ["DEV102"]
    fixed = applied(BUG, edits_of(fix, uri))
    assert fixed == CLEAN
    editor.replace(uri, fixed)
    assert await editor.diagnostics(uri) == []

    assert suppression.title == "devlint (DEV102): suppress on this line"
    assert not suppression.is_preferred
    silent = applied(BUG, edits_of(suppression, uri))
    assert silent == BUG.replace("randn(3)", "randn(3)  # devlint: ignore[DEV102]")
    editor.replace(uri, silent)
    assert await editor.diagnostics(uri) == []


@asynchronous
async def test_no_action_where_no_finding_is(editor: Editor, tree: Tree) -> None:
    uri = (tree({}) / "head.py").as_uri()
    editor.open(uri, BUG)
    start = types.Position(0, 0)
    assert await editor.actions(uri, types.Range(start, start), ["quickfix"]) == []
    assert await editor.actions(uri, types.Range(start, start), ["refactor"]) == []


@asynchronous
async def test_all_that_is_safe_is_fixed_at_once(editor: Editor, tree: Tree) -> None:
    uri = (tree({}) / "heads.py").as_uri()
    text = (BUG + "\n\n" + BUG[BUG.index("class") :].replace("Head", "Other")).replace("\n", "\r\n")
    editor.open(uri, text)
    assert len(await editor.diagnostics(uri)) == 2
    start = types.Position(0, 0)
    (action,) = await editor.actions(uri, types.Range(start, start), ["source.fixAll"])
    assert action.kind == FIX_ALL
    assert action.edit is None
    resolved = await editor.client.code_action_resolve_async(action)
    fixed = applied(text, edits_of(resolved, uri))
    assert fixed.count("device=x.device") == 2
    assert fixed.count("\r\n") == text.count("\n") == fixed.count("\n")
    editor.replace(uri, fixed)
    assert await editor.diagnostics(uri) == []
    (action,) = await editor.actions(uri, types.Range(start, start), ["source.fixAll"])
    resolved = await editor.client.code_action_resolve_async(action)
    assert resolved.edit == types.WorkspaceEdit(changes={})


@asynchronous
async def test_an_unsafe_fix_says_so(editor: Editor, tree: Tree) -> None:
    uri = (tree({}) / "norm.py").as_uri()
    editor.open(uri, UNSAFE)
    found = next(d for d in await editor.diagnostics(uri) if d.code == "DEV205")
    fixes = await editor.actions(uri, found.range, ["quickfix"])
    fix = next(a for a in fixes if "DEV205" in a.title and "suppress" not in a.title)
    assert "(unsafe: look at what it changes)" in fix.title
    assert not fix.is_preferred


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a\n"),
        ("a\n", ""),
        ("a", "b"),
        ("a\nb", "a\nb\nc"),
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\nd"),
        ("a\fb\n\u2028\n", "a\fb\n\u2028\nx"),
        ("é😀", "é😀é"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_edits_make_one_text_of_the_other(before: str, after: str, encoding: str) -> None:
    edits = edits_between(before, after, encoding)
    for edit in reversed(edits):
        assert edit.range.start.line <= len(split_lines(before))
        change = types.TextDocumentContentChangePartial(edit.range, edit.new_text)
        before = spliced(before, change, encoding)
    assert before == after
