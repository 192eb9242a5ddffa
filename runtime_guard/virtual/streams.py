"""Streams and events of a virtual machine, on which all is done at once, in program order."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import torch

from runtime_guard.core.placement import intern_device
from runtime_guard.recording import observers
from runtime_guard.virtual import moves
from runtime_guard.virtual.device_context import index_of
from runtime_guard.virtual.machine import Machine, UnsupportedVirtually
from runtime_guard.virtual.races import Races, Watch, event_numbers


def synchronized(what: str) -> None:
    """The host waited for all streams."""
    moves.land_all()
    _told(what)


def _told(what: str) -> None:
    observers.sync(what, "an explicit synchronisation", hidden=False)


class VirtualEvent:
    """A stream event: recorded, waited for and timed on the host's clock."""

    def __init__(self, *_: Any, enable_timing: bool = False, **__: Any) -> None:
        self.enable_timing = enable_timing
        self._time: float | None = None
        self._number = next(event_numbers)
        self.device: torch.device | None = None

    def record(self, stream: Any = None) -> None:
        """Note the time, and what ``stream`` (the current one) was given until now."""
        self._time = time.perf_counter()
        if Watch.current is not None:
            Watch.current.recorded(self._number, _number_of(stream, Watch.current))

    def wait(self, stream: Any = None) -> None:
        """``stream`` (the current one) goes on behind this; virtual work is done at once."""
        if Watch.current is not None and self._time is not None:
            Watch.current.waited(self._number, _number_of(stream, Watch.current))

    def query(self) -> bool:
        """Virtual work is done at once, and by this the host knows it."""
        self._waited_for()
        return True

    def synchronize(self) -> None:
        """A host sync."""
        self._waited_for()
        _told("Event.synchronize")

    def _waited_for(self) -> None:
        if Watch.current is not None and self._time is not None:
            Watch.current.host_waited(event=self._number)
        moves.arrive()

    def ipc_handle(self) -> bytes:
        """Raises ``UnsupportedVirtually``."""
        raise UnsupportedVirtually("Event.ipc_handle on virtual devices: there is no device")

    def elapsed_time(self, end: VirtualEvent) -> float:
        """Milliseconds from this event to ``end``.

        Raises ``ValueError`` if one of them takes no time or was not recorded
        (``c10/cuda/CUDAEvent.h``).
        """
        if not (self.enable_timing and end.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end._time - self._time) * 1000.0


def _number_of(stream: Any, races: Races) -> int:
    if stream is not None:
        return races.number_of(stream)
    kind = races.machine.primary
    return races.stream(torch.device(kind, races.machine.current_index(kind)))


_stream_ids = itertools.count(1)


class VirtualStream:
    """A stream on which everything is done at once, in program order."""

    machine: Machine
    kind: str

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        index = index_of(self.machine, self.kind, device)
        self.device = intern_device(torch.device(self.kind, index))
        self.device_index = index
        self.priority = priority
        self.stream_id = next(_stream_ids)
        self.cuda_stream = self.stream_id
        self._before: dict[int, list[Any]] = {}
        """What each thread that is in it goes back to."""

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority, as PyTorch states it of CUDA's streams."""
        return 0, -5

    def synchronize(self) -> None:
        """A host sync."""
        self._waited_for()
        _told("Stream.synchronize")

    def query(self) -> bool:
        """Virtual work is done at once, and by this the host knows it."""
        self._waited_for()
        return True

    def _waited_for(self) -> None:
        if Watch.current is not None:
            Watch.current.host_waited(stream=Watch.current.number_of(self))
        moves.arrive()

    def is_capturing(self) -> bool:
        """Virtual devices capture no graphs."""
        return False

    def wait_stream(self, stream: Any) -> None:
        """Go on behind ``stream``; virtual work is done in program order anyway."""
        if Watch.current is not None:
            races = Watch.current
            races.ordered(races.number_of(stream), races.number_of(self))

    def wait_event(self, event: Any) -> None:
        """Go on behind ``event``; virtual work is done in program order anyway."""
        event.wait(self)

    def record_event(self, event: VirtualEvent | None = None) -> VirtualEvent:
        """Record and return ``event`` or a new one."""
        event = VirtualEvent() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> VirtualStream:
        before = self._before.setdefault(threading.get_ident(), [])
        before.append(self.machine.enter_stream(self))
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.leave_stream(self, self._before[threading.get_ident()].pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualStream) and (self.device, self.stream_id) == (
            other.device,
            other.stream_id,
        )

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return f"<virtual stream {self.stream_id} on {self.device}>"


class StreamContext:
    """``torch.cuda.stream(s)``: makes a stream current for a block; ``None`` does nothing."""

    def __init__(self, stream: VirtualStream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


def default_stream(stream_type: type[VirtualStream], index: int) -> VirtualStream:
    """The stream that a device has without being asked for one."""
    stream = stream_type(index)
    stream.stream_id = stream.cuda_stream = 0
    return stream
