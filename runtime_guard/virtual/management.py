"""``pynvml``: what a program asks NVIDIA's management library of a virtual machine's cards.

PyTorch asks it through the same module, which it imports with ``torch.cuda`` where it is installed.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from runtime_guard.core.patches import Patches
from runtime_guard.virtual.device_properties import properties
from runtime_guard.virtual.machine import Machine, unsupported
from runtime_guard.virtual.memory_figures import memory_api

_ASKS = re.compile(r"nvml(Init|Shutdown|System|Device|Unit|Event|Gpu|Vgpu)")
_NO_SUCH_CARD = 2
"""``NVML_ERROR_INVALID_ARGUMENT``"""


@dataclass(frozen=True)
class Handle:
    """Stands for a card."""

    index: int


def patch_management(patches: Patches, machine: Machine) -> None:
    """How many cards there are, what they are and how full; nothing else is known of them."""
    nvml: Any = sys.modules.get("pynvml")
    if nvml is None:
        return
    answers = _answers(machine, getattr(nvml, "NVMLError", ValueError))
    for name, function in list(vars(nvml).items()):
        if inspect.isroutine(function) and _ASKS.match(name):
            refused = unsupported(f"pynvml.{name}", "there is no device behind it")
            patches.set(nvml, name, answers.get(name, refused))


def _answers(machine: Machine, no_such_card: type[Exception]) -> dict[str, Callable[..., Any]]:
    profile = machine.profiles["cuda"]
    free_and_total = memory_api(machine, "cuda")["mem_get_info"]

    def handle(index: int) -> Handle:
        if not 0 <= index < machine.counts["cuda"]:
            raise no_such_card(_NO_SUCH_CARD)
        return Handle(index)

    def facts(of: Handle) -> Any:
        return properties("cuda", of.index, profile)

    def memory(of: Handle, version: Any = None) -> SimpleNamespace:
        free, total = free_and_total(of.index)
        return SimpleNamespace(total=total, free=free, used=total - free, reserved=0)

    return {
        "nvmlInit": lambda: None,
        "nvmlInitWithFlags": lambda flags: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: machine.counts["cuda"],
        "nvmlDeviceGetHandleByIndex": handle,
        "nvmlDeviceGetIndex": lambda of: of.index,
        "nvmlDeviceGetName": lambda of: facts(of).name,
        "nvmlDeviceGetUUID": lambda of: facts(of).uuid,
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetCudaComputeCapability": lambda of: profile.capability,
        "nvmlDeviceGetUtilizationRates": lambda of: SimpleNamespace(gpu=0, memory=0),
    }
