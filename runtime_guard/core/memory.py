"""How much memory the live tensors of a virtual device take.

What is counted are storages, from when they are tagged with a device until they die, each rounded
up as CUDA's caching allocator does.  The workspaces of kernels are not seen, and a storage that is
resized counts with the size that it had when it was tagged.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

BLOCK = "_devlint_block"
GRANULARITY = 512
"""``kMinBlockSize`` of ``c10/cuda/CUDACachingAllocator.h``."""


class Meter:
    """Bytes allocated on one device, now and at most."""

    __slots__ = ("allocated", "lock", "peak")

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0
        self.lock = threading.RLock()  # a storage may die while this very thread holds it

    def add(self, size: int) -> None:
        """Allocate, or free when ``size`` is negative."""
        with self.lock:
            self.allocated += size
            if self.allocated > self.peak:
                self.peak = self.allocated

    def reset_peak(self) -> None:
        """The peak counts from what is allocated now."""
        with self.lock:
            self.peak = self.allocated

    def stats(self) -> dict[str, int]:
        """What ``torch.cuda.memory_stats`` tells, as far as it is known."""
        return {
            f"{what}_bytes.all.{when}": value
            for what in ("allocated", "active", "reserved")
            for when, value in (("current", self.allocated), ("peak", self.peak))
        }


class Block:
    """An attribute of a storage that frees its bytes when the storage dies."""

    __slots__ = ("meter", "size")

    def __init__(self, meter: Meter, size: int) -> None:
        self.meter = meter
        self.size = size
        meter.add(size)

    def __del__(self) -> None:
        self.meter.add(-self.size)


_meters: dict[torch.device, Meter] = {}
"""Of the devices of the virtual machine in force; empty outside of one."""


def meter_of(device: torch.device) -> Meter | None:
    """The meter of a virtual device, None for others."""
    return _meters.get(device)


def install_meters(meters: dict[torch.device, Meter]) -> None:
    """Count with ``meters`` from now on."""
    global _meters
    _meters = meters


def count(storage: Any, meter: Meter | None) -> None:
    """``storage`` now lives on the device of ``meter``, on none that is counted when None."""
    block: Block | None = getattr(storage, BLOCK, None)
    if block is not None:
        if block.meter is meter:
            return
        delattr(storage, BLOCK)
    if meter is not None:
        size = storage.nbytes()
        if type(size) is int and size:  # a symbol, for a fake tensor
            setattr(storage, BLOCK, Block(meter, -(-size // GRANULARITY) * GRANULARITY))
