"""Process groups on a virtual machine: NCCL needs real cards, gloo does the same on the host.

The values of virtual accelerators lie in host memory, so that gloo's results are NCCL's.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.cuda.nccl
import torch.distributed as dist

from runtime_guard.core.patches import Patches
from runtime_guard.core.placement import CPU
from runtime_guard.virtual.compilers import say_once

NCCL_VERSION = (2, 25, 1)
"""What ``torch.cuda.nccl.version()`` says: that of PyTorch's builds for CUDA 12.8."""


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
    for module in (api, dist):
        patches.set(module, "barrier", _barrier_of_the_host(api))
    patches.set(api, "_coalescing_manager", _one_by_one(api))
    patches.set(torch.cuda.nccl, "version", lambda: NCCL_VERSION)


def _barrier_of_the_host(api: Any) -> Any:
    """``barrier``: a collective on a tensor that C++ makes, on whatever device it is told."""

    @functools.wraps(api.barrier)
    def barrier(
        group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None
    ) -> Any:
        group = group or api._get_default_group()
        if api._rank_not_in_group(group):
            api._warn_not_in_group("barrier")
            return None
        options = dist.BarrierOptions()
        options.asyncOp = async_op
        options.device = CPU
        if timeout is not None:
            options.timeout = timeout
        work = group.barrier(opts=options)
        if async_op:
            return work
        if work is not None:
            work.wait()
        return None

    return barrier


def _one_by_one(api: Any) -> Any:
    """``_coalescing_manager``: gloo launches nothing in groups, each runs when it is called."""

    @contextlib.contextmanager
    def coalescing_manager(
        group: Any = None, device: Any = None, async_ops: bool = False
    ) -> Iterator[Any]:
        yield api._CoalescingManager()

    return coalescing_manager


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
