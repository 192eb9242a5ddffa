"""The changes of files below some folders, as they come."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from types import TracebackType
from typing import Any

from devlint.project.discovery import DEFAULT_EXCLUDE, SUFFIXES

STEP = 20  # milliseconds of silence after which changes are told
MOST = 200  # milliseconds that changes are gathered for at most
TICK = 250  # milliseconds after which the thread looks whether it is still wanted
PATIENCE = 1.0  # seconds between two looks of ours


class WatchError(Exception):
    """Files that cannot be watched."""


class Changes:
    """Tells of changes; a thread of its own gathers them, from the `with` on to its end."""

    def __init__(self, folders: Sequence[Path], is_wanted: Callable[[Path], bool]) -> None:
        """Raises WatchError where watchfiles is missing."""
        try:
            self.watchfiles = importlib.import_module("watchfiles")
        except ImportError:
            raise WatchError("--watch needs watchfiles: pip install 'devlint[watch]'") from None
        self.folders = folders
        self.is_wanted = is_wanted
        self.queue: SimpleQueue[frozenset[Path] | Exception] = SimpleQueue()
        self.ready, self.ended = Event(), Event()
        self.thread = Thread(target=self._gather, name="devlint-watch", daemon=True)

    def __enter__(self) -> Changes:
        """Changes are told from here on."""
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.ended.set()

    def next(self) -> frozenset[Path]:
        """Wait for changes. Raises WatchError."""
        while True:
            try:
                found = self.queue.get(timeout=PATIENCE)  # without an end Ctrl-C would wait, too
            except Empty:
                continue
            if isinstance(found, Exception):
                raise WatchError(f"cannot watch: {found}")
            return found

    def has_more(self) -> bool:
        """Whether something has changed since the last changes that were told."""
        return not self.queue.empty()

    def _gather(self) -> None:
        try:
            for changes in self.watchfiles.watch(
                *self.folders,
                watch_filter=self._wants,
                debounce=MOST,
                step=STEP,
                rust_timeout=TICK,
                yield_on_timeout=True,
                stop_event=self.ended,
                ignore_permission_denied=True,
            ):
                self.ready.set()
                if changes:
                    self.queue.put(frozenset(Path(path) for _, path in changes))
        except Exception as error:  # too many folders for the system, a folder that went
            self.queue.put(error)
        finally:
            self.ready.set()

    def _wants(self, change: Any, path: str) -> bool:
        file = Path(path)
        folder = next((each for each in self.folders if each in file.parents), file)
        if any(part in DEFAULT_EXCLUDE for part in file.relative_to(folder).parts):
            return False
        is_folder = os.path.isdir(path) or not (file.suffix or os.path.exists(path))
        return file.suffix in SUFFIXES or is_folder or self.is_wanted(file)
