"""The ledger: events counted per place, bounded in memory however long the program runs."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from runtime_guard.core.sites import Expression, Stack
from runtime_guard.recording.events import MAX_SHAPES, NOTED, Event, Kind

MAX_EVENTS = 20_000
"""Different (kind, stack, devices) that are told apart; later ones are counted per line only."""
MAX_TIMELINE = 50_000
"""The latest single happenings kept for the timeline of a report."""


class Ledger:
    """Counts events; safe to use from several threads."""

    def __init__(self) -> None:
        self._events: dict[tuple[Any, ...], Event] = {}
        self._lock = threading.Lock()
        self.started = time.perf_counter()
        self.timeline: deque[tuple[float, float, Event, int]] = deque(maxlen=MAX_TIMELINE)
        """(seconds since start, duration in seconds, event, bytes of this one)."""

    def record(
        self,
        kind: Kind,
        stack: Stack,
        what: str,
        *,
        detail: str = "",
        source: str = "",
        target: str = "",
        blocking: bool = True,
        pinned: bool = False,
        nbytes: int = 0,
        seconds: float = 0.0,
        shape: str = "",
        origins: Stack = (),
        at: Expression | None = None,
    ) -> Event:
        """Count one happening and return the event that stands for it.  ``nbytes`` in bytes."""
        key: tuple[Any, ...] = (kind, stack, what, source, target, blocking, pinned, detail)
        with self._lock:
            event = self._events.get(key)
            if event is None and len(self._events) >= MAX_EVENTS:
                key = (kind, stack[:1], what, source, target)
                event = self._events.get(key)
                stack = stack[:1]
            if event is None:
                event = Event(kind, stack, what, detail, source, target, blocking, pinned, count=0)
                event.origins = origins
                event.at = at
                self._events[key] = event
            event.count += 1
            event.bytes += nbytes
            event.seconds += seconds
            if shape and len(event.shapes) < MAX_SHAPES and shape not in event.shapes:
                event.shapes.append(shape)
            if kind not in NOTED:
                self.timeline.append((time.perf_counter() - self.started, seconds, event, nbytes))
        return event

    def __iter__(self) -> Iterator[Event]:
        with self._lock:
            return iter(list(self._events.values()))

    def __len__(self) -> int:
        return len(self._events)

    def of(self, *kinds: Kind) -> list[Event]:
        """The events of ``kinds``, in order of their first happening."""
        return [event for event in self if event.kind in kinds]

    @property
    def transfers(self) -> list[Event]:
        """Copies between devices."""
        return self.of(Kind.TRANSFER)

    @property
    def syncs(self) -> list[Event]:
        """Waits of the host for the device."""
        return self.of(Kind.SYNC)

    def count(self, kind: Kind) -> int:
        """How often ``kind`` happened."""
        return sum(event.count for event in self.of(kind))

    def bytes(self, *directions: str) -> int:
        """Bytes transferred, of ``directions`` such as ``"H2D"`` only when some are given."""
        return sum(e.bytes for e in self.transfers if not directions or e.direction in directions)

    def clear(self) -> None:
        """Forget everything: a forked process starts anew."""
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._events.clear()
        self.timeline.clear()

    def merge(self, events: Iterable[Event]) -> None:
        """Add the events of another ledger (another process's, for example)."""
        for other in events:
            key = (
                other.kind,
                other.stack,
                other.what,
                other.source,
                other.target,
                other.blocking,
                other.pinned,
                other.detail,
            )
            with self._lock:
                event = self._events.get(key)
                if event is None:
                    self._events[key] = replace(other, shapes=list(other.shapes))
                    continue
                event.count += other.count
                event.bytes += other.bytes
                event.seconds += other.seconds
