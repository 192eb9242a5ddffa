"""Races between streams, seen without a device: happens-before over virtual streams.

The order of streams and events is kept by PyTorch's own checker (``torch.cuda._sanitizer``); which
tensors a stream read and wrote is told by the hooks.  Virtual work is done at once and in program
order, so that a race changes no value here: it is reported as what a card may do.
"""

from __future__ import annotations

import itertools
import threading
import warnings
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.cuda._sanitizer import StreamSynchronizations

from runtime_guard.core.placement import placement_of, storage_of
from runtime_guard.core.sites import Site, user_stack
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind
from runtime_guard.virtual.machine import Machine

event_numbers = itertools.count(1)


@dataclass(frozen=True)
class Access:
    """A stream read or wrote a tensor."""

    stream: int
    number: int
    what: str
    site: Site | None
    device: torch.device
    writes: bool

    def __str__(self) -> str:
        verb = "written" if self.writes else "read"
        place = f" at {self.site}" if self.site is not None else ""
        return f"{verb} by `{self.what}` on {_name(self.stream)} of {self.device}{place}"


def _name(stream: int) -> str:
    return "the default stream" if stream <= 0 else f"stream {stream}"


class Races:
    """Who accessed which memory, and what is ordered; for one virtual machine."""

    def __init__(self, machine: Machine, policy: observers.Policy) -> None:
        self.machine = machine
        self.policy = policy
        self._order: Any = StreamSynchronizations()
        self._numbers = itertools.count(1)
        self._written: dict[int, Access] = {}
        self._read: dict[int, dict[int, Access]] = {}
        """The latest of each stream: who is behind it is behind those before it."""
        self._within: dict[int, set[int]] = {}
        """Addresses by that of the storage they lie in."""
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
        """The host waited: all that was begun is done."""
        with self._lock:
            self._order.sync_all_streams()

    def _know(self, stream: int) -> None:
        if stream not in self._order.current_sync_states:
            self._order.create_stream(stream)

    def launched(self, func: Any, args: tuple[Any, ...], kwargs: Any, result: Any) -> None:
        """An operator ran: what it read, wrote and made."""
        schema = func._schema
        if schema.name.startswith("c10d") or torch._C._current_graph_task_id() != -1:
            return  # collectives and backward have streams of their own, ordered by PyTorch
        what = schema.name.partition("::")[2]
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
        placement = placement_of(tensor)
        if placement is not None and placement.device.type not in ("cpu", "meta"):
            with self._lock:
                address = tensor.data_ptr()
                self._written.pop(address, None)
                self._read.pop(address, None)
            self.accessed(tensor, what, writes=True)

    def accessed(self, tensor: torch.Tensor, what: str, *, writes: bool) -> None:
        """The current stream of a tensor's device reads or writes it."""
        placement = placement_of(tensor)
        if placement is None or not tensor.numel():
            return
        device = placement.device
        if device.type == "cpu":
            if writes:
                self._overwritten(tensor, what)
        elif device.type != "meta":
            self._access(tensor, self.stream(device), device, what, writes)

    def copied(self, source: torch.Tensor, result: torch.Tensor, what: str, blocking: bool) -> None:
        """A transfer: both ends take part with the current streams of their devices."""
        ends = [placement_of(tensor) for tensor in (source, result)]
        devices = [end.device for end in ends if end is not None and end.device.type != "cpu"]
        streams = [self.stream(device) for device in devices]
        if len(streams) == 2:  # a copy between devices waits for both (`copy_kernel_cuda`)
            self.ordered(streams[1], streams[0])
        self.accessed(source, what, writes=False)
        if ends[0] is not None and ends[0].device.type == "cpu" and devices and not blocking:
            self._access(source, streams[0], devices[0], what, writes=False)
        self.made(result, what)
        if len(streams) == 2:
            self.ordered(streams[0], streams[1])
        if blocking:
            self.synchronized()

    def _overwritten(self, tensor: torch.Tensor, what: str) -> None:
        """The host writes into memory that a copy may still be reading."""
        with self._lock:
            read = self._read.get(tensor.data_ptr(), {}).values()
            unfinished = [earlier for earlier in read if not self._is_behind(_HOST, earlier)]
        for earlier in unfinished:
            self._tell(what, f"the host writes into it by `{what}` while it may still be", earlier)

    def _access(
        self, tensor: torch.Tensor, stream: int, device: torch.device, what: str, writes: bool
    ) -> None:
        stack = user_stack()
        address = tensor.data_ptr()
        with self._lock:
            self._know(stream)
            self._know(_HOST)
            access = Access(
                stream, next(self._numbers), what, stack[0] if stack else None, device, writes
            )
            self._order.update_seq_num(stream, access.number)
            self._watch(tensor, address)
            before = [self._written[address]] if address in self._written else []
            if writes:
                before += self._read.pop(address, {}).values()
                self._written[address] = access
            else:
                self._read.setdefault(address, {})[stream] = access
            apart = next((found for found in before if not self._is_behind(stream, found)), None)
        if apart is not None:
            verb = "written" if writes else "read"
            said = f"{verb} by `{what}` on {_name(stream)} without waiting for what was"
            self._tell(what, said, apart)

    def _is_behind(self, stream: int, earlier: Access) -> bool:
        return bool(self._order.is_ordered_after(stream, earlier.number, earlier.stream))

    def _watch(self, tensor: torch.Tensor, address: int) -> None:
        storage = storage_of(tensor)
        if storage is None:
            return
        base = storage.data_ptr()
        if base not in self._within:
            self._within[base] = set()
            weakref.finalize(storage, self._forget, base)
        self._within[base].add(address)

    def _forget(self, base: int) -> None:
        """Memory was freed, and may be another tensor's next."""
        with self._lock:
            for address in self._within.pop(base, ()):
                self._written.pop(address, None)
                self._read.pop(address, None)

    def _tell(self, what: str, said: str, earlier: Access) -> None:
        sentence = f"{said} {earlier}"
        declared = () if earlier.site is None else (earlier.site,)
        observers.problem(Kind.RACE, what, sentence, target=str(earlier.device), declared=declared)
        if self.policy == "raise":
            raise observers.DevicePolicyError(f"race between streams: {sentence}")
        if self.policy == "warn":
            text = f"race between streams: {sentence}"
            warnings.warn(text, observers.DevicePolicyWarning, stacklevel=2)


_HOST = 1 << 62
"""Stands for the host among the streams: it is behind whatever it waited for."""


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


class Watch:
    """Who looks for races now; None where nobody asked for it."""

    current: Races | None = None
