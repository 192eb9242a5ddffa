"""Memory figures of ``torch.cuda`` and its siblings: those of the live storages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from runtime_guard.core.memory import Meter
from runtime_guard.core.placement import intern_device
from runtime_guard.virtual.device_context import index_of
from runtime_guard.virtual.machine import Machine


def memory_api(machine: Machine, kind: str) -> dict[str, Callable[..., Any]]:
    """Memory figures of ``torch.cuda`` and ``torch.accelerator``: nothing is kept in reserve."""

    def meter(device: Any = None) -> Meter:
        index = index_of(machine, kind, device)
        machine.check_index(kind, index)
        return machine.meters[intern_device(torch.device(kind, index))]

    def allocated(device: Any = None) -> int:
        return meter(device).allocated

    def peak(device: Any = None) -> int:
        return meter(device).peak

    def reset(device: Any = None) -> None:
        meter(device).reset_peak()

    def info(device: Any = None) -> tuple[int, int]:
        total = machine.profiles[kind].memory
        return total - meter(device).allocated, total

    def nested(device: Any = None) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for path, value in meter(device).stats().items():
            *parents, last = path.split(".")
            branch = tree
            for parent in parents:
                branch = branch.setdefault(parent, {})
            branch[last] = value
        return tree

    def summary(device: Any = None, abbreviated: bool = False) -> str:
        figures = meter(device)
        return f"virtual device: {figures.allocated} bytes allocated, {figures.peak} at most"

    def set_fraction(fraction: float, device: Any = None) -> None:
        if not isinstance(fraction, float):
            raise TypeError("Invalid type for fraction argument, must be `float`")
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        meter(device).allow(fraction, machine.profiles[kind].memory)

    def get_fraction(device: Any = None) -> float:
        limit = meter(device).limit
        return 1.0 if limit is None else limit / machine.profiles[kind].memory

    return {
        "memory_allocated": allocated,
        "memory_reserved": allocated,
        "memory_cached": allocated,
        "max_memory_allocated": peak,
        "max_memory_reserved": peak,
        "max_memory_cached": peak,
        "reset_peak_memory_stats": reset,
        "reset_max_memory_allocated": reset,
        "reset_max_memory_cached": reset,
        "memory_stats": lambda device=None: meter(device).stats(),
        "memory_stats_as_nested_dict": nested,
        "memory_summary": summary,
        "mem_get_info": info,
        "set_per_process_memory_fraction": set_fraction,
        "get_per_process_memory_fraction": get_fraction,
        "get_memory_info": info,
    }
