"""Which bytes of which memory streams have read and written since the host last waited.

rows = tensor[2:4]              # `Extent` of two rows
with torch.cuda.stream(side):
    rows.mul_(2)                # `Access` that writes, kept in `Accesses`
tensor.sum()                    # meets it: the extents share bytes
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from runtime_guard.core.placement import plain_part, storage_of
from runtime_guard.core.sites import Site


@dataclass(frozen=True)
class Extent:
    """The bytes from a tensor's first element to its last."""

    start: int
    end: int
    dense: bool
    """Does every byte in between belong to it?"""

    def meets(self, other: Extent) -> bool:
        """Do both have a byte that is the same, for certain?"""
        if self.start == other.start:
            return True
        apart = self.end <= other.start or other.end <= self.start
        return self.dense and other.dense and not apart

    def covers(self, other: Extent) -> bool:
        """Is all of ``other`` in it?"""
        return self == other or (self.dense and self.start <= other.start and other.end <= self.end)


def in_memory(tensor: torch.Tensor) -> torch.Tensor | None:
    """What of ``tensor`` lies in memory: a sparse one's values, what a level of functorch wraps.

    None where nothing does, as of the zeros that forward mode does not write.
    """
    part = plain_part(tensor)
    if part is not None:
        return in_memory(part)
    try:
        tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):
        return None
    return tensor


def extent_of(tensor: torch.Tensor) -> Extent:
    """Where ``tensor``, which has an element at least, lies in memory."""
    reach = sum(
        (size - 1) * step for size, step in zip(tensor.size(), tensor.stride(), strict=True)
    )
    start, width = tensor.data_ptr(), tensor.element_size()
    return Extent(start, start + (reach + 1) * width, reach + 1 == tensor.numel())


@dataclass(frozen=True)
class Access:
    """A stream read or wrote a tensor."""

    stream: int
    number: int
    what: str
    site: Site | None
    device: torch.device
    writes: bool
    extent: Extent

    def __str__(self) -> str:
        verb = "written" if self.writes else "read"
        place = f" at {self.site}" if self.site is not None else ""
        return f"{verb} by `{self.what}` on {name_of(self.stream)} of {self.device}{place}"


def name_of(stream: int) -> str:
    """A stream's number, in words."""
    return "the default stream" if stream <= 0 else f"stream {stream}"


@dataclass(frozen=True)
class _Source:
    """What a copy that is on its way reads from the host, as it was when the copy began."""

    access: Access
    storage: weakref.ref[Any]
    content: bytes

    @property
    def changed(self) -> bool:
        """Does it hold something else now?"""
        return self.storage() is not None and self.content != _content(self.access.extent)


def _content(extent: Extent) -> bytes:
    return ctypes.string_at(extent.start, extent.end - extent.start)


_MANY = 16
"""Accesses of one storage, from which on it is asked which of them are done."""


class Accesses:
    """By storage; forgotten when it is freed, and when the host has waited."""

    def __init__(
        self, freed: Callable[[int, list[Access]], None], is_done: Callable[[Access], bool]
    ) -> None:
        """``freed`` is told of each storage that dies, by its address, and of who used it.
        ``is_done``: has the host waited for an access?"""
        self._tell_freed = freed
        self._is_done = is_done
        self._of: dict[int, list[Access]] = {}
        self._watched: set[int] = set()
        self._sources: list[_Source] = []

    def meeting(self, tensor: torch.Tensor, *, writes: bool) -> list[Access]:
        """Those of the same bytes of which one or the other writes; what wrote comes first."""
        storage = storage_of(tensor)
        if storage is None:
            return []
        extent = extent_of(tensor)
        found = [
            earlier
            for earlier in self._of.get(storage.data_ptr(), ())
            if (writes or earlier.writes) and earlier.extent.meets(extent)
        ]
        return sorted(found, key=lambda access: not access.writes)

    def add(self, tensor: torch.Tensor, access: Access) -> None:
        """Note ``access``.  Who is behind it is behind those that it takes the place of."""
        storage = storage_of(tensor)
        if storage is None:
            return
        base = storage.data_ptr()
        if base not in self._watched:
            self._watched.add(base)
            weakref.finalize(storage, self._freed, base)
        kept = [earlier for earlier in self._of.get(base, ()) if not _replaces(access, earlier)]
        if len(kept) > _MANY:  # a cache that is written part by part
            kept = [earlier for earlier in kept if not self._is_done(earlier)]
        self._of[base] = [*kept, access]

    def forget(self, tensor: torch.Tensor) -> None:
        """The memory of ``tensor`` is new."""
        storage = storage_of(tensor)
        if storage is not None:
            self._of.pop(storage.data_ptr(), None)

    def clear(self) -> None:
        """The host waited for all streams: whatever comes is behind all of them."""
        self._of.clear()
        self._sources.clear()

    def forget_sources(self) -> None:
        """The host waited for something: copies that it waited for are no longer on their way."""
        self._sources = [s for s in self._sources if not self._is_done(s.access)]

    def copying(self, tensor: torch.Tensor, access: Access) -> None:
        """A copy is on its way that reads ``tensor``, which is the host's."""
        if access.extent.dense:
            storage = weakref.ref(storage_of(tensor))
            self._sources.append(_Source(access, storage, _content(access.extent)))

    def changed_sources(self) -> list[Access]:
        """The copies on their way whose source holds something else by now; each once."""
        changed = [source for source in self._sources if source.changed]
        self._sources = [source for source in self._sources if source not in changed]
        return [source.access for source in changed]

    def told(self, tensor: torch.Tensor) -> None:
        """Of those that read ``tensor`` it is known that they were overwritten."""
        extent = extent_of(tensor)
        self._sources = [s for s in self._sources if not s.access.extent.meets(extent)]

    def _freed(self, base: int) -> None:
        self._watched.discard(base)
        self._tell_freed(base, self._of.pop(base, []))


def _replaces(access: Access, earlier: Access) -> bool:
    if access.writes:
        return access.extent.covers(earlier.extent)
    same = access.stream == earlier.stream and not earlier.writes
    return same and access.extent.covers(earlier.extent)
