"""devlint's runtime guard: see every transfer, sync and device bug of a PyTorch program.

``DeviceGuard`` watches a block of code; ``virtual_devices`` gives a machine accelerators that hold
real values and refuse to mix as PyTorch's do.  Torch is imported on first use.

Each part may import only what stands above it (``tests/test_layers.py``).

    core: tensors' tags, source lines, what is used of torch without a public name
    agreement: which operands may meet
    recording: events, who is told of them, and where they are kept
    virtual: accelerators that are not there
    contracts: what signatures declare about devices
    guard: who watches, real devices too
    conformance: whether virtual devices do what PyTorch does
    reports: a ledger as a page, as text and as data
    commands: `devlint run`, `devlint confirm` and `devlint test`
    drive: witnesses for findings that no command was given for
    pytest_plugin: the guard in tests
    startup: the start of programs whose parent is on a virtual machine
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime_guard.contracts import BrokenContract, check_contracts
    from runtime_guard.guard import DeviceGuard
    from runtime_guard.recording.observers import DevicePolicyError, DevicePolicyWarning
    from runtime_guard.virtual.context import virtual_devices
    from runtime_guard.virtual.machine import UnsupportedVirtually

_HOMES = {
    "BrokenContract": "runtime_guard.contracts",
    "DeviceGuard": "runtime_guard.guard",
    "DevicePolicyError": "runtime_guard.recording.observers",
    "DevicePolicyWarning": "runtime_guard.recording.observers",
    "UnsupportedVirtually": "runtime_guard.virtual.machine",
    "check_contracts": "runtime_guard.contracts",
    "virtual_devices": "runtime_guard.virtual.context",
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
    return getattr(importlib.import_module(home), name)
