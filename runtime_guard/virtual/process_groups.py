"""Process groups on a virtual machine: NCCL needs real cards, gloo does the same on the host.

The values of virtual accelerators lie in host memory, so that gloo's results are NCCL's.  A group
says of itself what it was asked for: ``dist.get_backend()`` is ``nccl``, and tensors of the host
are refused.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.cuda.nccl
import torch.distributed as dist

from runtime_guard.core.patches import Patches
from runtime_guard.core.placement import CPU
from runtime_guard.core.torch_internals import below_dispatch_modes
from runtime_guard.recording.contradictions import refuse
from runtime_guard.virtual.communicators import communicators
from runtime_guard.virtual.compilers import say_once
from runtime_guard.virtual.copies import rebuilding
from runtime_guard.virtual.moves import device_of

__tracebackhide__ = True  # pytest shows the user's frames only

NCCL_VERSION = (2, 25, 1)
"""What ``torch.cuda.nccl.version()`` says where the build has none: that of PyTorch's builds for
CUDA 12.8."""
NCCL_TIMEOUT = datetime.timedelta(minutes=10)


def patch_process_groups(patches: Patches) -> None:
    """Groups that are made in the block use the host's backend."""
    if not dist.is_available():
        return
    api: Any = dist.distributed_c10d
    patches.set(api, "_new_process_group_helper", _on_host(api, patches))
    for name in ("_get_object_coll_device", "_get_pg_default_device"):
        if hasattr(api, name):
            patches.set(api, name, _where_objects_go(api, getattr(api, name)))
    patches.set(dist.Work, "wait", _unseen(dist.Work.wait))
    reducer = vars(dist)["Reducer"]
    patches.set(reducer, "_rebuild_buckets", rebuilding(reducer._rebuild_buckets))
    patches.set(api, "is_nccl_available", lambda: True)
    patches.set(dist, "is_nccl_available", lambda: True)
    if not isinstance(api.default_pg_nccl_timeout, datetime.timedelta):
        patches.set(api, "default_pg_nccl_timeout", NCCL_TIMEOUT)
    for module in (api, dist):
        patches.set(module, "barrier", _barrier_of_the_host(api))
        patches.set(module, "_coalescing_manager", _one_by_one(api))
    if hasattr(dist, "_verify_params_across_processes"):
        patches.set(dist, "_verify_params_across_processes", _verified_where_they_are())
    if not hasattr(torch._C, "_nccl_version"):
        patches.set(torch.cuda.nccl, "version", lambda: NCCL_VERSION)


_OF_A_CARD = ("device_id", "backend_options", "pg_options")


def _on_host(api: Any, patches: Patches) -> Any:
    """What makes every group: ``(size, rank, ranks, backend, store, name, …)``."""
    make = api._new_process_group_helper

    @functools.wraps(make)
    def on_host(size: int, rank: int, ranks: Any, backend: Any, *rest: Any, **options: Any) -> Any:
        asked = str(backend).lower()
        if "nccl" not in asked and asked != api.Backend.UNDEFINED:
            return make(size, rank, ranks, backend, *rest, **options)
        say_once("NCCL: virtual devices use gloo in its place")
        bound = options.get("device_id")
        options = {name: value for name, value in options.items() if name not in _OF_A_CARD}
        group, store = make(size, rank, ranks, api.Backend("gloo"), *rest, **options)
        if group in api._world.pg_map:
            api._world.pg_map[group] = (api.Backend(asked), store)
            communicators.join(group, store, bound)
        with contextlib.suppress(ImportError):  # elsewhere before torch 2.5
            random = importlib.import_module("torch.distributed.tensor._random")
            patches.set(random, "_rng_tracker", _RandomNumbersOfTheHost)
        return group, store

    return on_host


class _RandomNumbersOfTheHost:
    """What ``DTensor`` asks for random numbers: each rank has those of the host's generator."""

    distribute_region_enabled = False
    _manual_seed = torch.manual_seed

    @staticmethod
    def _distribute_region(spec: Any, generator: Any = None) -> AbstractContextManager[None]:
        """A block in which a rank draws its part; some releases (2.9 is one) give a generator."""
        return contextlib.nullcontext()


def _has_cards_only(api: Any, group: Any) -> bool:
    """Was the group asked for with NCCL, and with nothing beside it for the host's tensors?"""
    asked, _ = api._world.pg_map.get(group or api._get_default_group(), ("", None))
    return "nccl" in asked and "cpu" not in asked


def _where_objects_go(api: Any, where: Any) -> Any:
    """To the card, if nothing in the group serves the host: ``all_gather_object``."""

    @functools.wraps(where)
    def where_objects_go(group: Any = None) -> Any:
        found = where(group)
        return type(found)("cuda") if _has_cards_only(api, group) else found

    return where_objects_go


def check_collective(func: Any, args: Sequence[Any], tensors: Sequence[torch.Tensor]) -> None:
    """Raise what NCCL raises of the tensors that a collective is given."""
    api: Any = dist.distributed_c10d
    names = [argument.name for argument in func._schema.arguments]
    if "process_group" in names:
        group = dist.ProcessGroup.unbox(args[names.index("process_group")])
        _refuse_the_hosts(func, group, names, tensors)
    elif "group_name" in names:
        group = api._resolve_process_group(args[names.index("group_name")])
    else:
        return
    communicators.meet(group, func._schema.name.rpartition("::")[2], tensors)


def _refuse_the_hosts(
    func: Any, group: Any, names: Sequence[str], tensors: Sequence[torch.Tensor]
) -> None:
    """Raise what PyTorch raises where NCCL is handed a tensor of the host's.

    Only by a function of ``torch.distributed`` itself: what its C++ makes for its own use (as
    ``DistributedDataParallel`` does) is on the card there, and on the host here.
    """
    api: Any = dist.distributed_c10d
    if device_of(tensors[0]).type != "cpu" or _caller() != api.__name__:
        return
    if not _has_cards_only(api, group):
        return
    sentence = "No backend type associated with device type cpu"
    between = (CPU, torch.device("cuda"))
    what = str(func._schema.name)
    refuse(sentence, what, tensors[:1], names[:1], between=between, rule="DEV101")


def _caller() -> str:
    """The module whose call came to us."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _module(frame).startswith("runtime_guard."):
        frame = frame.f_back
    return _module(frame)


def _module(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", ""))


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
        communicators.meet_at_barrier(group, device_ids)
        options = dist.BarrierOptions()
        if hasattr(options, "asyncOp"):  # new after torch 2.6
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


def _verified_where_they_are() -> Any:
    """``DistributedDataParallel`` compares its parameters' shapes: its first collective."""
    api: Any = dist
    verify = api._verify_params_across_processes

    @functools.wraps(verify)
    def verified(group: Any, tensors: Any, *rest: Any) -> Any:
        communicators.meet(group, "allgather_", tensors)
        return verify(group, tensors, *rest)

    return verified


def _unseen(wait: Any) -> Any:
    """``work.wait()``: gloo copies a result from a buffer of its own then, which NCCL has not."""

    @functools.wraps(wait)
    def waited(work: Any, *args: Any, **options: Any) -> Any:
        with below_dispatch_modes():
            return wait(work, *args, **options)

    return waited


def _one_by_one(api: Any) -> Any:
    """``_coalescing_manager``: gloo launches nothing in groups, each runs when it is called."""

    @contextlib.contextmanager
    def coalescing_manager(
        group: Any = None, device: Any = None, async_ops: bool = False
    ) -> Iterator[Any]:
        yield api._CoalescingManager()

    return coalescing_manager
