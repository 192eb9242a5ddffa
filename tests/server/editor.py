"""An editor for the tests: a real client of the protocol, and a server process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest_lsp
from lsprotocol import types
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, LanguageClient, register_lsp_features

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "devlint", "server", "--stdio")
PATIENCE = 30  # seconds until a test gives up; none waits that long

BUG = """\
import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x: torch.Tensor):
        return x + torch.randn(3)
"""
CLEAN = BUG.replace("randn(3)", "randn(3, device=x.device)")


def environment(packs: Path | None = None) -> dict[str, str]:
    """Of a process that imports devlint from where these tests are, and some rule packs."""
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "rules", *([packs] if packs else []))))
    return {**os.environ, "PYTHONPATH": paths}


class Editor:
    """A client with what an editor's user does and sees."""

    def __init__(self) -> None:
        self.client = LanguageClient()
        self.shown: dict[str, types.PublishDiagnosticsParams] = {}
        self.count = 0  # of published diagnostics
        self.news = asyncio.Condition()
        self.versions: dict[str, int] = {}
        features = dict(DEFAULT_CLIENT_FEATURES)
        features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = partial(self._published)
        features[types.WINDOW_SHOW_MESSAGE] = partial(self._messaged)
        register_lsp_features(self.client, features)

    async def _published(self, params: types.PublishDiagnosticsParams) -> None:
        async with self.news:
            self.shown[params.uri] = params
            self.count += 1
            self.news.notify_all()

    async def _messaged(self, params: types.ShowMessageParams) -> None:
        async with self.news:
            self.client.messages.append(params)
            self.news.notify_all()

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, uri: str, *changes: types.TextDocumentContentChangeEvent) -> None:
        """One notification with these changes."""
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(document, list(changes))
        )

    def replace(self, uri: str, text: str) -> None:
        self.type(uri, types.TextDocumentContentChangeWholeDocument(text))

    def save(self, uri: str) -> None:
        document = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    def close(self, uri: str) -> None:
        document = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def until(self, met: Any) -> None:
        """Wait for what the server sends."""
        async with self.news:
            await asyncio.wait_for(self.news.wait_for(met), PATIENCE)

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """What is shown for the document as it stands."""

        def met() -> bool:
            shown = self.shown.get(uri)
            return shown is not None and shown.version == self.versions.get(uri)

        await self.until(met)
        return list(self.shown[uri].diagnostics)

    async def pulled(self, uri: str, previous: str | None = None) -> Any:
        """The answer to a question for the diagnostics."""
        return await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(
                types.TextDocumentIdentifier(uri), previous_result_id=previous
            )
        )

    async def actions(
        self, uri: str, at: types.Range, only: list[str] | None = None
    ) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only=only)
        document = types.TextDocumentIdentifier(uri)
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(document, at, context)
        )
        return [each for each in found or () if isinstance(each, types.CodeAction)]


@asynccontextmanager
async def editing(
    folder: Path,
    *,
    like: str = "neovim",
    pulls: bool = False,
    encodings: list[str] | None = None,
    options: Any = None,
    settings: Any = None,
    packs: Path | None = None,
) -> AsyncIterator[Editor]:
    """An editor with a folder open.

    like: the editor whose capabilities it has. pulls: whether it asks for diagnostics, instead of
    being sent them. options: for the start. settings: the answer to a question for them.
    packs: a folder of rule packs that are installed for the server.
    """
    editor = Editor()
    if settings is not None:
        editor.client.set_configuration({"devlint": settings})
    capabilities = pytest_lsp.client_capabilities(like)
    assert capabilities.text_document is not None
    assert capabilities.workspace is not None
    capabilities.workspace.configuration = True
    if not pulls:
        capabilities.text_document.diagnostic = None
    elif capabilities.text_document.diagnostic is None:
        capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    if encodings is not None:
        capabilities.general = capabilities.general or types.GeneralClientCapabilities()
        capabilities.general.position_encodings = encodings
    await editor.client.start_io(*COMMAND, env=environment(packs), cwd=folder)
    params = types.InitializeParams(
        capabilities,
        root_uri=folder.as_uri(),
        workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
        initialization_options=options,
    )
    await editor.client.initialize_session(params)
    try:
        yield editor
    finally:
        await asyncio.wait_for(editor.client.shutdown_session(), PATIENCE)
        await editor.client.stop()
