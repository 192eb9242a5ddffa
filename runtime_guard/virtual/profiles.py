"""Cards with a size: how much memory a virtual device has, and what it says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from runtime_guard.recording.budgets import parse_size


@dataclass(frozen=True)
class Profile:
    """A kind of card."""

    memory: int
    """Bytes."""
    capability: tuple[int, int] = (8, 0)
    """CUDA's compute capability."""
    processors: int = 108
    cache: int = 40
    """MiB of the second level's."""
    name: str = ""
    """As the driver says it; empty where no kind of card was asked for."""
    limited: bool = True
    """Does an allocation beyond ``memory`` raise?"""

    @property
    def limit(self) -> int | None:
        """The bytes beyond which an allocation raises."""
        return self.memory if self.limited else None


_GIB = 1024**3
UNLIMITED = Profile(80 * _GIB, limited=False)
"""What a virtual device is without a profile: it says 80 GiB, and raises nothing."""
PROFILES = {
    "T4": Profile(16 * _GIB, (7, 5), 40, 4, "Tesla T4"),
    "V100": Profile(32 * _GIB, (7, 0), 80, 6, "Tesla V100-SXM2-32GB"),
    "A10": Profile(24 * _GIB, (8, 6), 72, 6, "NVIDIA A10"),
    "L4": Profile(24 * _GIB, (8, 9), 58, 48, "NVIDIA L4"),
    "RTX3090": Profile(24 * _GIB, (8, 6), 82, 6, "NVIDIA GeForce RTX 3090"),
    "RTX4090": Profile(24 * _GIB, (8, 9), 128, 72, "NVIDIA GeForce RTX 4090"),
    "A100": Profile(80 * _GIB, (8, 0), 108, 40, "NVIDIA A100-SXM4-80GB"),
    "A100-40GB": Profile(40 * _GIB, (8, 0), 108, 40, "NVIDIA A100-SXM4-40GB"),
    "H100": Profile(80 * _GIB, (9, 0), 132, 50, "NVIDIA H100 80GB HBM3"),
    "H200": Profile(141 * _GIB, (9, 0), 132, 60, "NVIDIA H200"),
    "B200": Profile(192 * _GIB, (10, 0), 148, 126, "NVIDIA B200"),
}
"""By name: memory as it is sold, compute capability, number of multiprocessors, cache, and name."""
_MULTIPROCESSORS = {
    (7, 0): (2048, 96, 96),
    (7, 5): (1024, 64, 64),
    (8, 0): (2048, 164, 163),
    (8, 6): (1536, 100, 99),
    (8, 9): (1536, 100, 99),
    (9, 0): (2048, 228, 227),
    (10, 0): (2048, 228, 227),
}
"""By compute capability: threads, KiB of shared memory, and how many of these a block may ask for
(the table of compute capabilities in CUDA's programming guide)."""


def device_facts(profile: Profile) -> dict[str, int]:
    """Fields of ``torch.cuda.get_device_properties`` that follow from the kind of card."""
    threads, shared, at_most = _MULTIPROCESSORS[profile.capability]
    return {
        "major": profile.capability[0],
        "minor": profile.capability[1],
        "total_memory": profile.memory,
        "multi_processor_count": profile.processors,
        "max_threads_per_multi_processor": threads,
        "shared_memory_per_multiprocessor": shared * 1024,
        "shared_memory_per_block_optin": at_most * 1024,
        "L2_cache_size": profile.cache * 1024**2,
    }


def parse_profile(text: str) -> Profile:
    """``T4``, or a size such as ``24 GiB``.  Raises ``ValueError`` for what is neither."""
    wanted = re.sub(r"[\s_]", "", text).upper()
    for name, profile in PROFILES.items():
        if wanted == name.upper():
            return profile
    try:
        return replace(UNLIMITED, memory=parse_size(text), limited=True)
    except (TypeError, ValueError):
        raise ValueError(
            f"memory {text!r}: expected a size such as '24 GiB' or one of {', '.join(PROFILES)}"
        ) from None
