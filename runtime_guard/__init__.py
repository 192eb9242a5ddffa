"""devlint's runtime guard: see every transfer, sync and device bug of a PyTorch program.

``DeviceGuard`` watches a block of code; ``virtual_devices`` gives a machine accelerators that hold
real values and refuse to mix as PyTorch's do.  Torch is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime_guard.contracts import BrokenContract, check_contracts
    from runtime_guard.guard import DeviceGuard
    from runtime_guard.machine import UnsupportedVirtually
    from runtime_guard.observers import DevicePolicyError, DevicePolicyWarning
    from runtime_guard.virtual import virtual_devices

_HOMES = {
    "BrokenContract": "runtime_guard.contracts",
    "DeviceGuard": "runtime_guard.guard",
    "DevicePolicyError": "runtime_guard.observers",
    "DevicePolicyWarning": "runtime_guard.observers",
    "UnsupportedVirtually": "runtime_guard.machine",
    "check_contracts": "runtime_guard.contracts",
    "virtual_devices": "runtime_guard.virtual",
}

__all__ = [
    "BrokenContract",
    "DeviceGuard",
    "DevicePolicyError",
    "DevicePolicyWarning",
    "UnsupportedVirtually",
    "check_contracts",
    "virtual_devices",
]


def __getattr__(name: str) -> Any:
    # lazily, so that the pytest plugin of a run without guard does not import torch
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)
