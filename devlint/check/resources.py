"""The interpreter's resources for a check: a deep stack, and no garbage collection."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

STACK_SIZES = (512 << 20, 256 << 20, 64 << 20, 0)  # bytes; 0 is the system's default
RECURSION_LIMIT = 60_000

Result = TypeVar("Result")


def cores() -> int:
    """How many processes can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Trees have no cycles, and looking for some in them takes as long as half of parsing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_recent() -> None:
    """Collect the youngest generation: all that was made since the last call.

    What it leaves, trees above all, has no cycles.
    """
    gc.collect(0)


def with_deep_stack(work: Callable[[], Result]) -> Result:
    """The result of `work`, run on a thread whose stack allows for deeply nested code."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        _start(target).join()
    finally:
        sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]


def _start(target: Callable[[], None]) -> threading.Thread:
    for size in STACK_SIZES:
        try:
            before = threading.stack_size(size)
        except ValueError:
            continue  # not a size that this system can give
        try:
            thread = threading.Thread(target=target, name="devlint", daemon=True)
            thread.start()
            return thread
        except RuntimeError:
            continue  # no memory for it: a smaller one
        finally:
            threading.stack_size(before)
    raise RuntimeError("no thread can be started")
