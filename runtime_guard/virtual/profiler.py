"""PyTorch's profiler on a virtual machine, which has no events to time."""

from __future__ import annotations

import functools
from typing import Any

import torch

from runtime_guard.core.patches import Patches
from runtime_guard.virtual.compilers import say_once
from runtime_guard.virtual.machine import Machine


def patch_profiler(patches: Patches, machine: Machine) -> None:
    """The profiler has no events of a virtual device to time, and nobody listens to NVTX."""
    profile = torch.autograd.profiler.profile
    make: Any = profile.__init__

    @functools.wraps(make)
    def init(self: Any, *args: Any, use_device: str | None = None, **options: Any) -> None:
        if options.get("use_cuda"):  # deprecated
            options["use_cuda"], use_device = False, "cuda"
        if use_device in machine.counts:
            say_once(f"profiler: no events of the virtual {use_device} device, only the CPU's")
            use_device = None
        make(self, *args, use_device=use_device, **options)

    patches.set(profile, "__init__", init)
    emit_nvtx = torch.autograd.profiler.emit_nvtx
    patches.set(emit_nvtx, "__enter__", lambda self: self)
    patches.set(emit_nvtx, "__exit__", lambda self, *exc: None)
