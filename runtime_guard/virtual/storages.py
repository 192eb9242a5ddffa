"""``torch.UntypedStorage``: what saving, loading, deep copies and ``share_memory_`` ask of it."""

from __future__ import annotations

from typing import Any, cast

import torch

from runtime_guard.core.memory import recount
from runtime_guard.core.patches import Patches
from runtime_guard.core.placement import CPU, TAG, Placement, intern_device, tag_storage
from runtime_guard.core.sites import user_site
from runtime_guard.core.torch_internals import disable_torch_function, storage_base
from runtime_guard.virtual.machine import Machine, unsupported


def patch_storages(patches: Patches, machine: Machine) -> None:
    """``UntypedStorage``: what saving, loading, deep copies and ``share_memory_`` ask of it."""
    storage = torch.UntypedStorage
    real = storage_base.device.__get__

    def device(self: Any) -> torch.device:
        placement = getattr(self, TAG, None)
        found: torch.device = real(self) if placement is None else placement.device
        return found

    def copied(self: Any, placement: Placement | None) -> Any:
        with disable_torch_function():
            copy: Any = cast(Any, storage)(self.nbytes())
            if placement is not None:  # before the copy: it may be a transfer
                tag_storage(copy, placement)
            copy.copy_(self, False)
        return copy

    def clone(self: Any) -> Any:
        return copied(self, getattr(self, TAG, None))

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        target = machine.parse(device)
        if target == self.device:
            return self
        if target.type == "meta":
            return cast(Any, storage)(self.nbytes(), device="meta")
        before = getattr(self, TAG, None)
        made = None if before is None else before.made
        return copied(self, Placement(intern_device(target), made, user_site()))

    def cpu(self: Any) -> Any:
        return to(self, device=CPU)

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        return to(self, device="cuda" if device is None else torch.device("cuda", device))

    def mps(self: Any) -> Any:
        return to(self, device="mps")

    def share(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self if self.device.type != "cpu" else base_share(self, *args, **kwargs)

    def is_shared(self: Any) -> bool:
        return self.device.type != "cpu" or base_is_shared(self)

    def resize(self: Any, size: int) -> Any:
        resized = base_resize(self, size)
        recount(self)
        return resized

    base_resize: Any = storage.resize_
    patches.set(storage, "resize_", resize)
    base_share, base_is_shared = storage.share_memory_, storage.is_shared
    patches.set(storage, "is_shared", is_shared)
    no_memory = "its memory is the host's"
    patches.set(storage, "_share_cuda_", unsupported("sharing with other processes", no_memory))
    patches.set(storage, "device", property(device))
    patches.set(storage, "is_cuda", property(lambda self: self.device.type == "cuda"))
    patches.set(storage, "clone", clone)
    patches.set(storage, "to", to)
    patches.set(storage, "cpu", cpu)
    patches.set(storage, "cuda", cuda)
    patches.set(storage, "mps", mps)
    patches.set(storage, "share_memory_", share)
