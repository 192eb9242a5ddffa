"""What a virtual device says of itself: ``torch.cuda.get_device_properties`` and its name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from runtime_guard.virtual.machine import NotInThisBuild
from runtime_guard.virtual.profiles import Profile, device_facts


class DeviceProperties(SimpleNamespace):
    """What ``get_device_properties`` tells of a virtual device; ``total_memory`` is in bytes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotInThisBuild(
            f"get_device_properties(...).{name} of {self.name} on virtual devices: there is no "
            "device behind it"
        )


def properties(kind: str, index: int, profile: Profile) -> DeviceProperties:
    """What is known of a virtual device: its kind of card, and what all cards have in common."""
    return DeviceProperties(
        name=device_name(kind, index, profile),
        **device_facts(profile),
        warp_size=32,
        max_threads_per_block=1024,
        shared_memory_per_block=49152,
        regs_per_multiprocessor=65536,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
        pci_domain_id=0,
        pci_bus_id=index + 1,
        pci_device_id=0,
        uuid=f"virtual-{kind}-{index}",
    )


def device_name(kind: str, index: int, profile: Profile) -> str:
    """That of the card that was asked for; else ``devlint virtual cuda device 0``."""
    return profile.name or f"devlint virtual {kind} device {index}"
