"""Tensors of virtual devices that go to another process: through a queue, out of a loader's worker.

CUDA hands over the memory itself; here the other process gets a copy of the values, with the lines
that made and moved them.
"""

from __future__ import annotations

import multiprocessing.context
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
import torch.multiprocessing.reductions
import torch.nested._internal.nested_tensor  # else torch 2.4 does when the first tensor is sent

from runtime_guard.core.patches import Patches
from runtime_guard.core.placement import (
    CPU,
    Placement,
    computed_at,
    intern_device,
    placement_of,
    tag_storage,
)
from runtime_guard.core.sites import UNKNOWN_SITE, Site, user_site
from runtime_guard.core.torch_internals import (
    disable_torch_function,
    tensor_base,
    without_dispatch_modes,
)
from runtime_guard.virtual.machine import Machine

_reduce: Any = torch.multiprocessing.reductions.reduce_tensor


def share_between_processes(
    patches: Patches, machine: Machine, arrive: Callable[..., Any]
) -> Callable[[], None]:
    """Tensors of ``machine`` are pickled for other processes; return what undoes it.

    ``arrive`` is a function that the other process finds by its name, which calls ``rebuild``.
    """

    def reduce(tensor: torch.Tensor) -> Any:
        with disable_torch_function():
            placement = placement_of(tensor)
            if placement is None or not machine.is_virtual(placement.device):
                return _reduce(tensor)
            with without_dispatch_modes():
                copy = tensor_base.clone(tensor.detach())
            computed = computed_at(tensor)
        _keep_until_started(copy)
        lines = (computed, None) if computed is not None else (placement.made, placement.moved)
        rest = (tensor.requires_grad, type(tensor) is torch.nn.Parameter)
        return arrive, (str(placement.device), lines, *rest, *_reduce(copy))

    def new_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
        target = machine.parse(device)
        if not machine.is_virtual(target):
            return make(cls, size, device=device)
        storage = make(cls, size, device=CPU)
        tag_storage(storage, Placement(intern_device(target), user_site()))
        return storage

    make = torch.UntypedStorage._new_shared.__func__  # type: ignore[attr-defined]
    patches.set(torch.UntypedStorage, "_new_shared", classmethod(new_shared))
    table: Any = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    before = {kind: table.get(kind) for kind in (torch.Tensor, torch.nn.Parameter)}
    table.update(dict.fromkeys(before, reduce))
    return lambda: table.update(before)


def _keep_until_started(copy: torch.Tensor) -> None:
    """A process that is about to be started takes over the file of ``copy``'s memory as it starts,
    which is later than it is pickled."""
    starting: Any = multiprocessing.context.get_spawning_popen()
    if starting is not None:
        vars(starting).setdefault("_devlint_sent", []).append(copy)


def rebuild(
    machine: Machine | None,
    device: str,
    lines: tuple[Site | None, Site | None],
    requires_grad: bool,
    parameter: bool,
    make: Any,
    args: Any,
) -> torch.Tensor:
    """A tensor that another process sent, on ``device`` of the ``machine`` of this one.

    ``lines``: where that process made and moved it.
    """
    tensor: torch.Tensor = make(*args)
    if machine is not None:
        made, moved = (None if line == UNKNOWN_SITE else line for line in lines)
        if made is None and moved is None:
            made = user_site()
        with disable_torch_function():
            storage = tensor.untyped_storage()
            tag_storage(storage, Placement(machine.parse(device), made, moved))
    if parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)
