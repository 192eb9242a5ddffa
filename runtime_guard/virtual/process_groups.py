"""Process groups on a virtual machine: NCCL needs real cards, gloo does the same on the host.

The values of virtual accelerators lie in host memory, so that gloo's results are NCCL's.
"""

from __future__ import annotations

import functools
from typing import Any

import torch.distributed as dist

from runtime_guard.core.patches import Patches
from runtime_guard.virtual.compilers import say_once


def host_backend(backend: Any) -> Any:
    """``nccl`` -> ``gloo``, ``cpu:gloo,cuda:nccl`` -> ``gloo``; others as they are."""
    text = str(backend).lower() if backend is not None else ""
    if "nccl" not in text:
        return backend
    say_once("NCCL: virtual devices use gloo in its place")
    return "gloo"


def patch_process_groups(patches: Patches) -> None:
    """Groups that are made in the block use the host's backend."""
    if not dist.is_available():
        return
    api: Any = dist.distributed_c10d
    for name in ("init_process_group", "new_group"):
        made = _on_host(getattr(api, name))
        patches.set(api, name, made)
        patches.set(dist, name, made)
    patches.set(api, "is_nccl_available", lambda: True)
    patches.set(dist, "is_nccl_available", lambda: True)


def _on_host(make: Any) -> Any:
    # `init_process_group(backend, …)` but `new_group(ranks, timeout, backend, …)`
    position = 2 if make.__name__ == "new_group" else 0

    @functools.wraps(make)
    def on_host(*args: Any, **options: Any) -> Any:
        if len(args) > position:
            args = (*args[:position], host_backend(args[position]), *args[position + 1 :])
        elif "backend" in options:
            options["backend"] = host_backend(options["backend"])
        options.pop("device_id", None)  # binds the group to a real card
        return make(*args, **options)

    return on_host
