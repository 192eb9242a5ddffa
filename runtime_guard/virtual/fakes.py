"""Fake tensors, by which PyTorch traces: they say that they are on a card, and have no values.

``FakeTensorMode`` works on a host without a driver where it knows that it is on one, and where C++
gets an answer for the card (``core.device_guards``).
"""

from __future__ import annotations

import functools
from typing import Any

import torch._subclasses.fake_tensor

from runtime_guard.core.device_guards import lend
from runtime_guard.core.patches import Patches
from runtime_guard.virtual.machine import Machine


def patch_fakes(patches: Patches, machine: Machine) -> None:
    """Let ``FakeTensorMode`` have the machine's devices for one block."""
    fakes = torch._subclasses.fake_tensor
    mode: Any = fakes.FakeTensorMode
    enter = mode.__enter__

    @functools.wraps(enter)
    def enter_without_driver(self: Any) -> Any:
        lend(machine.counts)
        return enter(self)

    patches.set(mode, "__enter__", enter_without_driver)
    patches.set(mode, "avoid_device_init", property(lambda self: True))
    for name in ("init_cuda_context", "init_gpu_context"):
        if hasattr(fakes, name):
            patches.set(fakes, name, lambda *device: None)
