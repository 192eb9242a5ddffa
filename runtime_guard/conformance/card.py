"""What CUDA's own tools count while a piece of code runs on a real card.

The profiler counts copies and waits of CUDA's runtime; PyTorch's ``set_sync_debug_mode`` tells of
every operation that makes the host wait.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

SYNC_WARNING = "called a synchronizing CUDA operation"
RUNTIME_WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")


@dataclass(frozen=True)
class Count:
    """Copies by direction, and waits by who tells of them."""

    h2d: int
    d2h: int
    d2d: int
    warned: int
    """Operations that PyTorch's debug mode calls synchronizing."""
    waited: int
    """Waits of CUDA's runtime, the explicit ones too."""


def count(code: Callable[[], Any]) -> Count:
    """Run ``code`` once and count.  Needs a CUDA device; what ``code`` raises is dropped."""
    from torch.profiler import ProfilerActivity, profile  # start-up: the profiler

    torch.cuda.synchronize()
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watch:
            torch.cuda.set_sync_debug_mode("warn")
            with contextlib.suppress(Exception):
                code()
            torch.cuda.set_sync_debug_mode(mode)
    names = [event.name() for event in watch.profiler.kineto_results.events()]

    def copies(direction: str) -> int:
        return sum(name.startswith(f"Memcpy {direction}") for name in names)

    return Count(
        copies("HtoD"),
        copies("DtoH"),
        copies("PtoP"),
        sum(SYNC_WARNING in str(warning.message) for warning in said),
        # the profiler itself waits once at its end
        sum(name in RUNTIME_WAITS for name in names),
    )


def settled() -> None:
    """Wait for the card: an error of a kernel is raised here, and not at the next question."""
    torch.cuda.synchronize()
