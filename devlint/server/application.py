"""The messages of the protocol, each with its handler."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import to_fs_path

from devlint.server import actions, places
from devlint.server.diagnostics import diagnostics
from devlint.server.document_check import Checked, check
from devlint.server.documents import Documents
from devlint.server.places import Inferred
from devlint.server.schedule import Schedule, one_thread
from devlint.server.settings import (
    SECTION,
    Settings,
    SettingsError,
    configured,
    is_library,
    read_settings,
)
from devlint.version import __version__

NAME = "devlint"
WATCHED = ("**/*.py", "**/pyproject.toml", "**/devlint.toml", "**/.devlint-baseline")
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="*", cells=[types.NotebookCellLanguage(language="python")]
        )
    ],
    save=True,
)

OURS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)


class Protocol(LanguageServerProtocol):
    """pygls without its own store of texts, which takes form feeds and the like for line ends and
    moves positions that do not fit: these messages are ours alone."""

    def _register_builtin_features(self) -> None:
        super()._register_builtin_features()  # type: ignore[no-untyped-call]
        for method in OURS:
            del self.fm.builtin_features[method]


class Superseded(JsonRpcException):
    """The answer to a question whose document has changed since."""


class Server:
    """The state of a session with one client, and what is done on each of its messages."""

    def __init__(self) -> None:
        self.protocol = LanguageServer(
            NAME,
            __version__,
            notebook_document_sync=NOTEBOOKS,
            protocol_cls=Protocol,
            converter_factory=default_converter,
        )
        self.documents = Documents(Path.cwd())
        self.settings = Settings()
        thread = one_thread()
        self.checks: Schedule[Checked] = Schedule(thread)
        self.inferred: Schedule[Inferred | None] = Schedule(thread)
        self.fixed: Schedule[types.WorkspaceEdit | None] = Schedule(thread)
        self.folders: tuple[Path, ...] = ()
        self.waiting: dict[str, asyncio.TimerHandle] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.said: dict[str, str] = {}  # errors by the document or else that they are of
        self.pulls = False
        self.knows_versions = False
        self._listen()

    def _listen(self) -> None:
        handlers: dict[str, Callable[..., Any]] = {
            types.INITIALIZE: self.initialize,
            types.INITIALIZED: self.initialized,
            types.SHUTDOWN: self.shutdown,
            types.TEXT_DOCUMENT_DID_OPEN: self.did_open,
            types.TEXT_DOCUMENT_DID_CHANGE: self.did_change,
            types.TEXT_DOCUMENT_DID_SAVE: self.did_save,
            types.TEXT_DOCUMENT_DID_CLOSE: self.did_close,
            types.NOTEBOOK_DOCUMENT_DID_OPEN: self.did_open_notebook,
            types.NOTEBOOK_DOCUMENT_DID_CHANGE: self.did_change_notebook,
            types.NOTEBOOK_DOCUMENT_DID_SAVE: self.did_save,
            types.NOTEBOOK_DOCUMENT_DID_CLOSE: self.did_close_notebook,
            types.TEXT_DOCUMENT_DIAGNOSTIC: self.diagnostic,
            types.TEXT_DOCUMENT_CODE_ACTION: self.code_actions,
            types.TEXT_DOCUMENT_HOVER: self.hover,
            types.TEXT_DOCUMENT_INLAY_HINT: self.inlay_hints,
            types.CODE_ACTION_RESOLVE: self.resolve_action,
            types.WORKSPACE_DID_CHANGE_CONFIGURATION: self.did_change_configuration,
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES: self.did_change_files,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self.did_change_folders,
        }
        options = {
            types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(True, False, identifier=NAME),
            types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
                code_action_kinds=actions.KINDS, resolve_provider=True
            ),
        }
        for method, handler in handlers.items():
            # pygls notes on each handler what it is for, and a method has no room for that
            self.protocol.feature(method, options.get(method))(partial(handler))

    # ------------------------------------------------------------------ the session

    def initialize(self, params: types.InitializeParams) -> None:
        """What the client can do, and what it wants."""
        workspace = self.protocol.workspace
        self.documents.encoding = str(workspace.position_encoding)
        self._take_folders()
        self.pulls = self._can("text_document.diagnostic")
        self.knows_versions = self._can("workspace.workspace_edit.document_changes")
        self._take_settings(params.initialization_options)

    async def initialized(self, _: types.InitializedParams) -> None:
        """Ask to be told of changed files and settings, and ask for the settings."""
        registrations = []
        if self._can("workspace.did_change_watched_files.dynamic_registration"):
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registrations.append(types.Registration("devlint-files", method, options))
        if self._can("workspace.did_change_configuration.dynamic_registration"):
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            wanted = {"section": SECTION}
            registrations.append(types.Registration("devlint-settings", method, wanted))
        if registrations:
            await self.protocol.client_register_capability_async(
                types.RegistrationParams(registrations)
            )
        await self._ask_settings()

    def shutdown(self, _: None) -> None:
        """Let no check hold up the end of the process."""
        for timer in self.waiting.values():
            timer.cancel()
        self.inferred.close()
        self.fixed.close()
        self.checks.close()

    def _can(self, capability: str) -> bool:
        return bool(get_capability(self.protocol.client_capabilities, capability))

    def _take_folders(self) -> None:
        workspace = self.protocol.workspace
        uris = list(workspace.folders) or [workspace.root_uri or ""]
        paths = (to_fs_path(uri) for uri in uris)
        self.folders = tuple(Path(path) for path in paths if path)
        if self.folders:
            self.documents.folder = self.folders[0]

    def _take_settings(self, given: object) -> None:
        before = self.settings
        self.settings, wrong = read_settings(given)
        for message in wrong:
            self._say("settings", message)
        if self.settings != before:
            self._renew()

    async def _ask_settings(self) -> None:
        if not self._can("workspace.configuration"):
            return
        item = types.ConfigurationItem(section=SECTION)
        answer = await self.protocol.workspace_configuration_async(
            types.ConfigurationParams([item])
        )
        if answer and answer[0] is not None:
            self._take_settings(answer[0])

    async def did_change_configuration(self, params: types.DidChangeConfigurationParams) -> None:
        """A client sends its settings, or says that they are to be asked for."""
        if self._can("workspace.configuration"):
            await self._ask_settings()
        elif params.settings is not None:
            self._take_settings(params.settings)

    def did_change_folders(self, _: types.DidChangeWorkspaceFoldersParams) -> None:
        self._take_folders()
        self._renew()

    def did_change_files(self, _: types.DidChangeWatchedFilesParams) -> None:
        """A configuration or another file of the project has changed on disk."""
        self._renew()

    # ------------------------------------------------------------------ documents

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self.documents.open(params.text_document)
        self._changed(params.text_document.uri, delay=0)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        self.documents.change(document.uri, document.version, params.content_changes)
        self._changed(document.uri, delay=self.settings.delay)

    def did_save(
        self, params: types.DidSaveTextDocumentParams | types.DidSaveNotebookDocumentParams
    ) -> None:
        """The other documents may be affected: they are checked anew, behind the saved one."""
        document = (
            params.text_document
            if isinstance(params, types.DidSaveTextDocumentParams)
            else params.notebook_document
        )
        self._renew(first=document.uri)

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self.documents.close(uri)
        self._gone(uri, [uri])

    def did_open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        self.documents.open_notebook(params)
        self._changed(params.notebook_document.uri, delay=0)

    def did_change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        for cell in self.documents.change_notebook(params):
            self._publish(cell, [])
        self._changed(params.notebook_document.uri, delay=self.settings.delay)

    def did_close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        self._gone(uri, self.documents.close_notebook(uri))

    def _changed(self, uri: str, delay: int) -> None:
        """A document is another one: check it when its user pauses."""
        self._forget(uri)
        self._stop_waiting(uri)
        if self._is_pushed(uri):
            self.waiting[uri] = asyncio.get_running_loop().call_later(
                delay / 1000, lambda: self._start(self._push([uri]))
            )

    def _gone(self, uri: str, parts: Iterable[str]) -> None:
        self._forget(uri)
        self._stop_waiting(uri)
        for part in parts:
            self._publish(part, [])

    def _renew(self, first: str | None = None) -> None:
        """All that is open is checked anew, one after the other."""
        self.checks.forget_all()
        self.inferred.forget_all()
        self.fixed.forget_all()
        uris = sorted(self.documents.checked(), key=lambda uri: uri != first)
        pushed = [uri for uri in uris if self._is_pushed(uri)]
        if pushed:
            self._start(self._push(pushed))
        if uris and self.pulls and self._can("workspace.diagnostics.refresh_support"):
            self.protocol.workspace_diagnostic_refresh(None)
        if uris and self._can("workspace.inlay_hint.refresh_support"):
            self.protocol.workspace_inlay_hint_refresh(None)

    def _forget(self, uri: str) -> None:
        self.checks.forget(uri)
        self.inferred.forget(uri)
        self.fixed.forget(uri)

    def _stop_waiting(self, uri: str) -> None:
        timer = self.waiting.pop(uri, None)
        if timer is not None:
            timer.cancel()

    def _is_pushed(self, uri: str) -> bool:
        """Whether the diagnostics are sent unasked. Clients do not ask for those of notebooks."""
        return uri in self.documents.notebooks or not self.pulls

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)  # asyncio itself keeps no task alive
        task.add_done_callback(self.tasks.discard)

    # ------------------------------------------------------------------ diagnostics

    async def _push(self, uris: Sequence[str]) -> None:
        for uri in uris:
            self._stop_waiting(uri)
            if uri not in self.documents.checked():
                continue
            checked = await self._checked(uri)
            if checked is not None:
                found = diagnostics(checked, self.settings, self.documents.encoding)
                for part, some in found.items():
                    self._publish(part, some)
            elif not self._is_to_be_checked(uri):
                for part in self.documents.parts(uri):
                    self._publish(part, [])

    def _publish(self, uri: str, some: list[types.Diagnostic]) -> None:
        known = self.documents.texts.get(uri)
        if self.pulls and self.documents.of(uri) == uri and known is not None:
            return
        self.protocol.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, some, known.version if known else None)
        )

    async def diagnostic(
        self, params: types.DocumentDiagnosticParams
    ) -> types.DocumentDiagnosticReport:
        """The diagnostics of a document, for a client that asks."""
        uri = params.text_document.uri
        items: list[types.Diagnostic] = []
        if self.documents.of(uri) == uri and self._is_to_be_checked(uri):
            checked = await self._checked(uri)
            if checked is None and self._is_to_be_checked(uri):
                raise Superseded(
                    "the document has changed",
                    types.LSPErrorCodes.ServerCancelled.value,
                    {"retriggerRequest": True},
                )
            if checked is not None:
                items = diagnostics(checked, self.settings, self.documents.encoding)[uri]
        result = hashlib.sha256(repr(items).encode("utf-8", "backslashreplace")).hexdigest()[:16]
        if result == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(result)
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=result)

    def _is_to_be_checked(self, uri: str) -> bool:
        return (
            self.settings.enable
            and uri in self.documents.checked()
            and not is_library(self.documents.file(uri), self.folders)
        )

    async def _checked(self, uri: str) -> Checked | None:
        """What the check of a document says; None if there is none, or it is stale by now."""
        if not self._is_to_be_checked(uri):
            return None
        file, snapshot = self.documents.file(uri), self.documents.snapshot()
        settings, folders = self.settings, self.folders

        def work(cancelled: Event) -> Checked:
            return check(file, snapshot, configured(file, settings, folders), cancelled)

        try:
            result = await self.checks.result(uri, work)
        except SettingsError as error:
            self._say(uri, str(error))
            return None
        self.said.pop(uri, None)
        return result

    def _say(self, subject: str, message: str) -> None:
        """Tell the user, once: many documents may have the same to say."""
        is_new = message not in self.said.values()
        self.said[subject] = message
        if is_new:
            self.protocol.window_show_message(
                types.ShowMessageParams(types.MessageType.Error, f"{NAME}: {message}")
            )

    # ------------------------------------------------------------------ places

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Where the value under the cursor is, and why."""
        uri, encoding = params.text_document.uri, self.documents.encoding
        inferred = await self._inferred(self.documents.of(uri))
        return places.hover(inferred, uri, params.position, encoding) if inferred else None

    async def inlay_hints(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        """The devices of the names that are bound in a range."""
        uri, encoding = params.text_document.uri, self.documents.encoding
        if not self.settings.inlay_hints:
            return []
        inferred = await self._inferred(self.documents.of(uri))
        if inferred is None:
            return []
        return list(places.inlay_hints(inferred, uri, params.range, encoding))

    async def _inferred(self, uri: str) -> Inferred | None:
        """The values of a document; None if it cannot be parsed, or was changed meanwhile."""
        if not self._is_to_be_checked(uri):
            return None
        file, snapshot = self.documents.file(uri), self.documents.snapshot()
        settings, folders = self.settings, self.folders

        def work(cancelled: Event) -> Inferred | None:
            return places.infer(file, snapshot, configured(file, settings, folders), cancelled)

        try:
            return await self.inferred.result(uri, work)
        except SettingsError as error:
            self._say(uri, str(error))
            return None

    # ------------------------------------------------------------------ code actions

    async def code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Fixes and suppressions of the findings in a range, and a fix of all in the document."""
        uri = params.text_document.uri
        only = params.context.only
        checked = await self._checked(self.documents.of(uri))
        if checked is None:
            return []
        found: list[types.CodeAction] = []
        if _wants(only, types.CodeActionKind.QuickFix.value):
            fixes = actions.quick_fixes(checked, uri, params.range, self.documents.encoding)
            found += map(self._shown, fixes)
        if _wants(only, actions.FIX_ALL):
            found.append(
                types.CodeAction("devlint: fix all that is safe", actions.FIX_ALL, data=uri)
            )
        return found

    async def resolve_action(self, action: types.CodeAction) -> types.CodeAction:
        """The edits of the fix of all, which take a few checks to find."""
        if action.kind != actions.FIX_ALL or not isinstance(action.data, str):
            return action
        uri = self.documents.of(action.data)
        checked = await self._checked(uri)
        if checked is not None:
            encoding = self.documents.encoding
            action.edit = await self.fixed.result(
                uri, lambda cancelled: actions.fix_all(checked, encoding, cancelled)
            )
            action = self._shown(action)
        if action.edit is None:
            action.edit = types.WorkspaceEdit(changes={})
        return action

    def _shown(self, action: types.CodeAction) -> types.CodeAction:
        if not self.knows_versions:
            action.edit = actions.plainly(action.edit)
        return action


def _wants(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether a kind of action is asked for: by itself, or by one that it is a part of."""
    wanted = [str(getattr(each, "value", each)) for each in only or ()]
    return not wanted or any(kind == each or kind.startswith(f"{each}.") for each in wanted)


def serve() -> None:
    """Serve one client over standard input and output, until it is gone."""
    source, sink = sys.stdin.buffer, _private_output()
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_news)
    server = Server()
    server.protocol.start_io(source, sink)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line of the log says more than that an answer came too late."""
    return not (record.exc_info and isinstance(record.exc_info[1], Superseded))


def _private_output() -> BinaryIO:
    """Standard output for the protocol alone: what anything else prints goes to the errors."""
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sink
