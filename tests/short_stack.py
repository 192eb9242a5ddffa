"""Work on a short stack.

PyTorch's samplers of operators (OpInfo) look through the whole stack, frame by frame and file by
file, for each sample that they make. Below pytest that takes three times as long as the samples.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def on_a_short_stack(work: Callable[[], T]) -> T:
    """What `work` returns; it runs in a thread, whose stack begins there."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
