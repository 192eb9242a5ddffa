"""Virtual machines: accelerators that hold real values in host memory.

The modules:

    context, machine, profiles: the block, the machine that it stands for, and its cards
    hook_stacks: the two hooks of a thread
    function_mode, function_bodies: the hook that sees calls
    handlers, factories, conversions, host_reads, writes, composites: who answers them
    single_operations: functions that are one operation, which the second hook need not see
    dispatch_mode, thread_hook, meetings, copies, results, refusals: the hook that sees operations
    races, accesses, reuse: which streams wait for which, who does not, and what memory they share
    whereabouts, moves, legacy_types: where tensors are, and how they get from one device to another
    gradient_nodes, gradient_checks: where gradients are computed, and those that are elsewhere
    tensor_groups: tensors by device
    forward_mode: where tangents are
    autocast, autocast_policies, attention, kernels: what an accelerator computes otherwise
    accelerator_api, device_context, libraries: what `torch.cuda` and the others say
    device_properties, memory_figures, management: what a card is, how full, and who else tells it
    streams, generators, data_parallel: and what they make
    tensor_patches, storages, autograd: tensors past the hooks, what is below and behind them
    torch_imports, stand_ins, remembered, compilers, profiler: what has to be told of the machine
    fakes, exports, graphs: tensors without values, and programs that are taken down
    interprocess: tensors that go to other processes
    process_groups, collectives, communicators: NCCL by means of gloo, each rank on its own card
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime_guard.virtual.context import (
        active_machine,
        hooks_in_this_thread,
        really_available,
        virtual_devices,
    )
    from runtime_guard.virtual.machine import UnsupportedVirtually

__all__ = [
    "UnsupportedVirtually",
    "active_machine",
    "hooks_in_this_thread",
    "really_available",
    "virtual_devices",
]


def __getattr__(name: str) -> Any:
    # lazily, since the parts of this package import each other through it
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "machine" if name == "UnsupportedVirtually" else "context"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
