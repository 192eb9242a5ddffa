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
    "T4": Profile(16 * _GIB, (7, 5), 40),
    "V100": Profile(32 * _GIB, (7, 0), 80),
    "A10": Profile(24 * _GIB, (8, 6), 72),
    "L4": Profile(24 * _GIB, (8, 9), 58),
    "RTX3090": Profile(24 * _GIB, (8, 6), 82),
    "RTX4090": Profile(24 * _GIB, (8, 9), 128),
    "A100": Profile(80 * _GIB, (8, 0), 108),
    "A100-40GB": Profile(40 * _GIB, (8, 0), 108),
    "H100": Profile(80 * _GIB, (9, 0), 132),
    "H200": Profile(141 * _GIB, (9, 0), 132),
    "B200": Profile(192 * _GIB, (10, 0), 148),
}
"""By name: memory as it is sold, compute capability and number of multiprocessors."""


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
