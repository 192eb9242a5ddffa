"""Races between streams, seen without a device: happens-before over virtual streams.

The order of streams and events is kept by PyTorch's own checker (``torch.cuda._sanitizer``); which
tensors a stream read and wrote is told by the hooks.  Virtual work is done at once and in program
order, so that a race changes no value here: it is reported as what a card may do.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.cuda._sanitizer import StreamSynchronizations

from runtime_guard.core.placement import CPU, placement_of, storage_of
from runtime_guard.core.sites import user_stack
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind
from runtime_guard.virtual.accesses import Access, Accesses, extent_of, in_memory, name_of
from runtime_guard.virtual.machine import Machine
from runtime_guard.virtual.reuse import Allocator

event_numbers = itertools.count(1)


class Races:
    """Who accessed which memory, and what is ordered; for one virtual machine."""

    def __init__(self, machine: Machine, policy: observers.Policy) -> None:
        self.machine = machine
        self.policy = policy
        self._order: Any = StreamSynchronizations()
        self._numbers = itertools.count(1)
        self._allocator = Allocator()
        self._accesses = Accesses(self._allocator.free, self._is_done)
        self._lock = threading.RLock()

    def stream(self, device: torch.device) -> int:
        """The number of a device's current stream; a default stream's is not positive."""
        index = device.index or 0
        current = self.machine.current_stream(device.type, index)
        return self.number_of(current) if current is not None else -index

    @staticmethod
    def number_of(stream: Any) -> int:
        """The number of a stream."""
        return int(stream.stream_id) or -stream.device_index

    def recorded(self, event: int, stream: int) -> None:
        """``event`` stands for what ``stream`` was given until now."""
        with self._lock:
            self._know(stream)
            self._order.create_event(event)
            self._order.record_state(event, stream)

    def waited(self, event: int, stream: int) -> None:
        """``stream`` goes on behind ``event``."""
        with self._lock:
            self._know(stream)
            self._order.stream_wait_for_event(stream, event)

    def ordered(self, first: int, second: int) -> None:
        """``second`` goes on behind what ``first`` was given until now."""
        event = -next(event_numbers)
        self.recorded(event, first)
        self.waited(event, second)
        with self._lock:
            self._order.delete_event(event)

    def synchronized(self) -> None:
        """The host waited for all streams: what was begun is done."""
        self.find_changed_sources()
        with self._lock:
            self._order.sync_all_streams()
            self._accesses.clear()
            self._allocator.forget_done(lambda access: True)

    def turn(self, device: torch.device) -> tuple[Races, int, int]:
        """What the current stream of ``device`` is given now, for `is_over`."""
        stream = self.stream(device)
        with self._lock:
            self._know(stream)
            self._know(_HOST)
            number = next(self._numbers)
            self._order.update_seq_num(stream, number)
        return self, stream, number

    def is_over(self, turn: tuple[Races, int, int]) -> bool:
        """Has the host waited for it?  Of what another guard's block began nothing is known."""
        races, stream, number = turn
        with self._lock:
            return races is not self or bool(self._order.is_ordered_after(_HOST, number, stream))

    def host_waited(self, *, stream: int | None = None, event: int | None = None) -> None:
        """The host waited for one stream or event, and whatever is begun from now on is behind it.

        ``.item()`` and blocking copies wait for the current stream; other streams go on.
        """
        self.find_changed_sources()
        with self._lock:
            if stream is not None:
                self._know(stream)
                self._order.all_streams_wait_for_stream(stream)
            if event is not None:
                self._order.all_streams_wait_for_event(event)
            self._accesses.forget_sources()
            self._allocator.forget_done(self._is_done)

    def find_changed_sources(self) -> None:
        """Has the host changed what copies on their way read, by NumPy for example?"""
        with self._lock:
            changed = self._accesses.changed_sources()
        for earlier in changed:
            self._tell(earlier.what, "until here the host has changed what may still be", earlier)

    def _know(self, stream: int) -> None:
        if stream not in self._order.current_sync_states:
            self._order.create_stream(stream)

    def launched(self, func: Any, args: tuple[Any, ...], kwargs: Any, result: Any) -> None:
        """An operator ran: what it read, wrote and made."""
        schema = func._schema
        if schema.name.startswith("c10d") or torch._C._current_graph_task_id() != -1:
            return  # collectives and backward have streams of their own, ordered by PyTorch
        what = schema.name.partition("::")[2]
        if what in ("copy_", "_foreach_copy_") and _are_apart(args[0], args[1]):
            return  # a transfer, which tells of itself
        made_like = what.startswith("new_") or what.endswith("_like")
        for position, argument in enumerate(schema.arguments):
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            alias = argument.alias_info
            writes = alias is not None and alias.is_write
            if (alias is not None and not writes) or made_like:
                continue  # a view, a shape
            for tensor in _tensors(value):
                self.accessed(tensor, what, writes=writes)
        results = result if isinstance(result, (tuple, list)) else (result,)
        for value, returned in zip(results, schema.returns, strict=False):
            if returned.alias_info is None:
                for tensor in _tensors(value):
                    self.made(tensor, what)

    def made(self, tensor: torch.Tensor, what: str) -> None:
        """New memory was written."""
        placement, part = placement_of(tensor), in_memory(tensor)
        if placement is None or part is None or placement.device.type in ("cpu", "meta"):
            return
        tensor = part
        stream = self.stream(placement.device)
        with self._lock:
            self._know(stream)
            self._accesses.forget(tensor)
            earlier = self._allocated(tensor, placement.device, stream)
        if earlier is not None:
            said = (
                f"{name_of(stream)} may give `{what}` memory that was freed while it may still be"
            )
            self._tell(what, said, earlier, "; `record_stream` keeps it so long")
        self.accessed(tensor, what, writes=True)

    def announced(self, tensor: torch.Tensor, stream: Any) -> None:
        """``tensor.record_stream(stream)``"""
        storage = None if in_memory(tensor) is None else storage_of(tensor)
        if storage is not None:
            with self._lock:
                self._allocator.announce(storage.data_ptr(), self.number_of(stream))

    def _allocated(self, tensor: torch.Tensor, device: torch.device, stream: int) -> Access | None:
        storage = storage_of(tensor)
        if storage is None:
            return None
        base, size = storage.data_ptr(), storage.nbytes()
        return self._allocator.allocate(base, size, device, stream, self._is_behind)

    def accessed(self, tensor: torch.Tensor, what: str, *, writes: bool) -> None:
        """The current stream of a tensor's device reads or writes it."""
        placement, part = placement_of(tensor), in_memory(tensor)
        if placement is None or part is None or not part.numel():
            return
        device, tensor = placement.device, part
        if device.type == "cpu":
            if writes:
                self._overwritten(tensor, what)
        elif device.type != "meta":
            self._access(tensor, self.stream(device), device, what, writes)

    def copied(
        self,
        source: torch.Tensor,
        result: torch.Tensor,
        what: str,
        blocking: bool,
        *,
        new: bool = True,
    ) -> None:
        """A transfer: both ends take part with the current streams of their devices.

        ``new``: the memory of ``result`` is; a buffer's is not.
        """
        parts = in_memory(source), in_memory(result)
        if parts[0] is None or parts[1] is None:
            return
        source, result = parts[0], parts[1]
        ends = [placement_of(tensor) for tensor in (source, result)]
        devices = [end.device for end in ends if end is not None and end.device.type != "cpu"]
        streams = [self.stream(device) for device in devices]
        if len(streams) == 2:  # a copy between devices waits for both (`copy_kernel_cuda`)
            self.ordered(streams[1], streams[0])
        self.accessed(source, what, writes=False)
        from_host = ends[0] is None or ends[0].device.type == "cpu"
        if from_host and devices and not blocking and source.numel():
            self._access(source, streams[0], devices[0], what, writes=False)
        if new:
            self.made(result, what)
        else:
            self.accessed(result, what, writes=True)
        if len(streams) == 2:
            self.ordered(streams[0], streams[1])
        if blocking and streams:
            self.host_waited(stream=streams[0])

    def _overwritten(self, tensor: torch.Tensor, what: str) -> None:
        """The host writes into memory that a copy may still be reading."""
        with self._lock:
            read = self._accesses.meeting(tensor, writes=True)
            unfinished = [earlier for earlier in read if not self._is_done(earlier)]
            self._accesses.told(tensor)
        for earlier in unfinished:
            self._tell(what, f"the host writes into it by `{what}` while it may still be", earlier)

    def _access(
        self, tensor: torch.Tensor, stream: int, device: torch.device, what: str, writes: bool
    ) -> None:
        stack = user_stack()
        site = stack[0] if stack else None
        of_host = device_of(tensor).type == "cpu"
        if of_host:
            self.find_changed_sources()
        with self._lock:
            self._know(stream)
            self._know(_HOST)
            number = next(self._numbers)
            access = Access(stream, number, what, site, device, writes, extent_of(tensor))
            self._order.update_seq_num(stream, number)
            before = self._accesses.meeting(tensor, writes=writes)
            self._accesses.add(tensor, access)
            if of_host:
                self._accesses.copying(tensor, access)
            apart = next((found for found in before if not self._is_behind(stream, found)), None)
        if apart is not None:
            verb = "written" if writes else "read"
            said = f"{verb} by `{what}` on {name_of(stream)} without waiting for what was"
            self._tell(what, said, apart)

    def _is_behind(self, stream: int, earlier: Access) -> bool:
        return bool(self._order.is_ordered_after(stream, earlier.number, earlier.stream))

    def _is_done(self, access: Access) -> bool:
        """Has the host waited for it?"""
        return self._is_behind(_HOST, access)

    def _tell(self, what: str, said: str, earlier: Access, cure: str = "") -> None:
        sentence = f"{said} {earlier}{cure}"
        declared = () if earlier.site is None else (earlier.site,)
        observers.problem(Kind.RACE, what, sentence, target=str(earlier.device), declared=declared)
        if self.policy == "raise":
            raise observers.DevicePolicyError(f"race between streams: {sentence}")
        if self.policy == "warn":
            text = f"race between streams: {sentence}"
            warnings.warn(text, observers.DevicePolicyWarning, stacklevel=2)


_HOST = 1 << 62
"""Stands for the host among the streams: it is behind whatever it waited for."""


def device_of(tensor: torch.Tensor) -> torch.device:
    """Where a tensor is; on the host where nothing says so."""
    placement = placement_of(tensor)
    return CPU if placement is None else placement.device


def _are_apart(written: Any, values: Any) -> bool:
    pairs = zip(_tensors(written), _tensors(values), strict=False)
    return any(device_of(one) is not device_of(other) for one, other in pairs)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


class Watch:
    """Who looks for races now; None where nobody asked for it."""

    current: Races | None = None


def record_stream(tensor: torch.Tensor, stream: Any) -> None:
    """``Tensor.record_stream``: who looks for races is told; virtual memory is not handed on."""
    if Watch.current is not None:
        Watch.current.announced(tensor, stream)
