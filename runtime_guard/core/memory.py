"""How much memory the live tensors of a virtual device take.

What is counted are storages, from when they are tagged with a device until they die, each rounded
up as CUDA's caching allocator does.  The workspaces of kernels are not seen, and a storage that an
operation resizes counts with the size that it had when it was tagged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch

from runtime_guard.core.sites import UNKNOWN_SITE, Site, user_site

BLOCK = "_devlint_block"
GRANULARITY = 512
"""``kMinBlockSize`` of ``c10/cuda/CUDACachingAllocator.h``."""


class Meter:
    """Bytes allocated on one device, now and at most."""

    __slots__ = ("allocated", "capacity", "highest", "index", "limit", "noted", "peak", "peak_at")

    def __init__(self, index: int = 0, limit: int | None = None) -> None:
        self.index = index
        """Of the device among those of its type."""
        self.limit = limit
        """The memory that may be taken, where an allocation beyond it raises."""
        self.capacity = limit
        """The device's memory, of which the program may have allowed itself a part."""
        self.allocated = 0
        self.peak = 0
        """The most since the program last reset it."""
        self.highest = 0
        """The most of all."""
        self.noted = 0
        self.peak_at: Site | None = None
        """The user's line that brought it there, to a hundredth."""

    def add(self, size: int, origin: Site | None = None) -> None:
        """Allocate, or free when ``size`` is negative.

        Where no line of the user's runs (a tensor arrives from another process, a loader's worker
        makes a batch) the peak is at ``origin``, or stays at the last line that brought it up.
        Raises ``torch.OutOfMemoryError`` where the device has no such memory left.
        """
        if self.limit is not None:
            self.room_for(size)
        # No lock, since every operation comes by here: there is no call between what is read and
        # what is written, and no thread gives the interpreter up elsewhere.
        self.allocated += size
        if self.allocated > self.peak:
            self.peak = self.allocated
            if self.peak > self.highest:
                self.highest = self.peak
                if self.highest > self.noted * 1.01:
                    self.noted = self.highest
                    known = (s for s in (user_site(), origin) if s and s is not UNKNOWN_SITE)
                    self.peak_at = next(known, self.peak_at)

    def room_for(self, size: int) -> None:
        """Raise ``torch.OutOfMemoryError`` where the device has no ``size`` bytes left."""
        if size > 0 and self.limit is not None and self.allocated + size > self.limit:
            raise out_of_memory(self, size)

    def allow(self, part: float, capacity: int) -> None:
        """``part`` of the device's memory may be taken."""
        self.capacity = capacity
        self.limit = int(part * capacity)

    def reset_peak(self) -> None:
        """The peak counts from what is allocated now."""
        self.peak = self.allocated

    def stats(self) -> dict[str, int]:
        """What ``torch.cuda.memory_stats`` tells, as far as it is known."""
        return {
            f"{what}_bytes.all.{when}": value
            for what in ("allocated", "active", "reserved")
            for when, value in (("current", self.allocated), ("peak", self.peak))
        }


def out_of_memory(meter: Meter, size: int) -> BaseException:
    """PyTorch's error (``c10/cuda/CUDACachingAllocator.cpp``), with nothing kept in reserve."""
    kind: type[Exception] = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)
    capacity, used = meter.capacity or 0, _size(meter.allocated)
    allowed = f"{_size(meter.limit or 0)} allowed; " if meter.limit != meter.capacity else ""
    return kind(
        f"CUDA out of memory. Tried to allocate {_size(size)}. GPU {meter.index} has a total "
        f"capacity of {_size(capacity)} of which {_size(capacity - meter.allocated)} is free. "
        f"Including non-PyTorch memory, this process has {used} memory in use. {allowed}Of the "
        f"allocated memory "
        f"{used} is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. If "
        "reserved but unallocated memory is large try setting "
        "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation "
        "for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


def _size(count: int) -> str:
    """``format_size`` of ``c10``: two decimals, ``bytes`` below a KiB."""
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count} bytes"


class Block:
    """An attribute of a storage that frees its bytes when the storage dies.

    Of bytes that are allocated already.  It has no ``__init__``: one call less for each operation.
    """

    __slots__ = ("meter", "size")
    meter: Meter
    size: int

    def __del__(self) -> None:
        self.meter.allocated -= self.size


new_block = cast("Callable[[type[Block]], Block]", object.__new__)


_meters: dict[torch.device, Meter] = {}
"""Of the devices of the virtual machine in force; empty outside of one."""


def meter_of(device: torch.device) -> Meter | None:
    """The meter of a virtual device, None for others."""
    return _meters.get(device)


def install_meters(meters: dict[torch.device, Meter]) -> None:
    """Count with ``meters`` from now on."""
    global _meters
    _meters = meters


def count(storage: Any, meter: Meter | None, origin: Site | None = None) -> None:
    """``storage``, which was made at ``origin``, now lives on the device of ``meter``, on none that
    is counted when None."""
    block: Block | None = getattr(storage, BLOCK, None)
    if block is not None:
        if block.meter is meter:
            return
        delattr(storage, BLOCK)
    if meter is None:
        return
    size = storage.nbytes()
    if type(size) is int and size:  # a symbol, for a fake tensor
        size = -(-size // GRANULARITY) * GRANULARITY
        meter.add(size, origin)
        storage._devlint_block = block = new_block(Block)
        block.meter = meter
        block.size = size


def recount(storage: Any) -> None:
    """``storage`` was resized by name, as ``fully_shard`` does to free and to fetch parameters."""
    block: Block | None = getattr(storage, BLOCK, None)
    if block is not None:
        size = -(-storage.nbytes() // GRANULARITY) * GRANULARITY
        block.meter.add(size - block.size)
        block.size = size
