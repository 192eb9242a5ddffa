"""devlint's runtime guard: see every transfer, sync and device bug of a PyTorch program.

``DeviceGuard`` watches a block of code; ``virtual_devices`` gives a machine accelerators that hold
real values and refuse to mix as PyTorch's do.  Torch is imported on first use.

Virtual machines
    virtual, machine: the context, and the machine that it stands for
    modes, handlers, plans: the two hooks, and what they answer to a call or an operator
    rules, device_checks: which operands may meet, and on which device the results are
    placement, moves, memory, legacy_types: where tensors live, and how they get elsewhere
    accelerator_api, patches, torch_internals: what `torch.cuda` and the others say
    late_imports, compilers, process_groups: what has to be told that it is on such a machine
    conformance: whether all of that is what PyTorch does
Watching
    guard, observers, recording: who watches, real devices too
    events, ledger, sites, explain: what happened, where, how often, and how it is said
    attributes, left_behind, devicemap, contracts: modules, and what signatures declare
    budgets, pytest_plugin: limits in tests
Programs
    runner, watched_run, run, reports: `devlint run`
    confirm, evidence: `devlint confirm`
    ranks, cards: several processes
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
