"""The guard's tests do not go through what other tests have made."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _only_new_objects_are_collected() -> Iterator[None]:
    """A guard collects garbage at its end, and so do tests of what is thrown away: a second each
    time, where pytest holds thousands of tests."""
    gc.freeze()
    yield
    gc.unfreeze()
