"""Checks one after the other on a thread of their own; those that edits made stale are cancelled.

A document has one check, which all who ask for it wait for, until an edit or a changed setting
makes it stale: then it is cancelled, and whoever asks next begins another. So are the values of a
document, and the fix of all in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Generic, TypeVar

from devlint.server.document_check import Stale

Result = TypeVar("Result")
Work = Callable[[Event], Result]


@dataclass(slots=True)
class _Running(Generic[Result]):
    cancelled: Event
    task: asyncio.Task[Result | None]


class Schedule(Generic[Result]):
    """The checks of all documents, by URI."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._running: dict[str, _Running[Result]] = {}

    async def result(self, uri: str, work: Work[Result]) -> Result | None:
        """What the check of a document gives; None when it was made stale meanwhile.

        One that was done or begun before, and is not stale, is not begun again.
        """
        running = self._running.get(uri)
        if running is None:
            cancelled = Event()
            task = asyncio.ensure_future(self._run(work, cancelled))
            running = self._running[uri] = _Running(cancelled, task)
        # Who gives up waiting does not take the result from the others.
        return await asyncio.shield(running.task)

    async def _run(self, work: Work[Result], cancelled: Event) -> Result | None:
        def guarded() -> Result | None:
            try:
                return None if cancelled.is_set() else work(cancelled)
            except Stale:
                return None

        result = await asyncio.get_running_loop().run_in_executor(self._pool, guarded)
        return None if cancelled.is_set() else result

    def forget(self, uri: str) -> None:
        """The document has changed: what is known of it is stale."""
        running = self._running.pop(uri, None)
        if running is not None:
            running.cancelled.set()

    def forget_all(self) -> None:
        """Everything is stale."""
        for uri in list(self._running):
            self.forget(uri)

    def close(self) -> None:
        """Cancel all, and end the thread when it can."""
        self.forget_all()
        self._pool.shutdown(wait=False, cancel_futures=True)


def one_thread() -> ThreadPoolExecutor:
    """The thread of all checks: an interpreter's limits and tables are of the whole process."""
    return ThreadPoolExecutor(1, thread_name_prefix="devlint-check")
