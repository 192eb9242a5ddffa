"""Factories that convert what is no tensor."""

from __future__ import annotations

# Functions that make a tensor of what is none.
CONVERTERS = frozenset({"tensor", "as_tensor", "asarray", "from_numpy"})
