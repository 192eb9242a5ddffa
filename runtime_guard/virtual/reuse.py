"""Memory that the caching allocator hands on while another stream still works with it.

    x = torch.ones(4, device="cuda")      # of the default stream's pool
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    del x                                 # back to that pool, which does not know of `side`
    z = torch.ones(4, device="cuda")      # may be given the memory that `side` still reads

A freed block goes to the next allocation of its stream that fits.  That is right where this stream
is behind all who used the block, or where they were announced by ``record_stream``
(``c10/cuda/CUDACachingAllocator.cpp``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch

from runtime_guard.virtual.accesses import Access

SMALL = 1 << 20
"""Bytes up to which a block is of the pool of small ones: ``kSmallSize``."""
GRANULARITY = 512


@dataclass
class _Block:
    device: torch.device
    stream: int
    """Whose pool it is of."""
    size: int
    announced: set[int] = field(default_factory=set)
    """Streams that ``record_stream`` spoke of."""


@dataclass(frozen=True)
class _Freed:
    block: _Block
    users: tuple[Access, ...]
    """What other streams did with it, unannounced."""

    def fits(self, other: _Block) -> bool:
        """May the allocator take it for ``other``?"""
        mine = self.block
        same_pool = (mine.device, mine.stream) == (other.device, other.stream)
        return same_pool and other.size <= mine.size and (mine.size > SMALL) == (other.size > SMALL)


class Allocator:
    """Which stream's pool each storage is of, by its address, and what was freed too early."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._freed: list[_Freed] = []

    def announce(self, base: int, stream: int) -> None:
        """``record_stream``: the block waits for what ``stream`` has been given, once it dies."""
        block = self._blocks.get(base)
        if block is not None:
            block.announced.add(stream)

    def free(self, base: int, accesses: Iterable[Access]) -> None:
        """The storage at ``base`` died."""
        block = self._blocks.pop(base, None)
        if block is None:
            return
        own = {block.stream, *block.announced}
        users = tuple(access for access in accesses if access.stream not in own)
        if users:
            self._freed.append(_Freed(block, users))

    def allocate(
        self,
        base: int,
        size: int,
        device: torch.device,
        stream: int,
        is_behind: Callable[[int, Access], bool],
    ) -> Access | None:
        """A new storage; what may still go on in the memory that it may be given."""
        block = _Block(device, stream, -(-size // GRANULARITY) * GRANULARITY)
        self._blocks[base] = block
        for freed in tuple(self._freed):
            if not freed.fits(block):
                continue
            self._freed.remove(freed)
            apart = next((user for user in freed.users if not is_behind(stream, user)), None)
            if apart is not None:
                return apart
        return None

    def forget_done(self, is_done: Callable[[Access], bool]) -> None:
        """The host waited: nobody works any more with what was freed, where its users are done."""
        self._freed = [freed for freed in self._freed if not all(map(is_done, freed.users))]
