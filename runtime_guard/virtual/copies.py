"""Copies between devices that C++ asks for: into an existing tensor, and ``_to_copy``."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

from runtime_guard.agreement.plans import Plan
from runtime_guard.core.placement import CPU, placement_of, tag
from runtime_guard.core.torch_internals import FAKE, is_tracing
from runtime_guard.recording import observers
from runtime_guard.virtual import moves
from runtime_guard.virtual.races import Watch
from runtime_guard.virtual.results import note_use
from runtime_guard.virtual.thread_hook import ThreadHook


def is_move(mode: ThreadHook, device: torch.device | None) -> bool:
    """Is ``_to_copy`` asked to go to ``device``?  C++ names the host where it means to stay."""
    if device is None or moves.moving.active:
        return False
    return moves.moving.whole or mode.machine.is_virtual(device)


def move_below(mode: ThreadHook, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``_to_copy`` to a device, as C++ calls it: for the parts of a ``DTensor``, for one."""
    options = dict(kwargs)
    target = mode.machine.parse(options.pop("device"))
    if target.type == "meta" or is_tracing(FAKE):
        return func(*args, **kwargs)
    return moves.move(
        mode.machine,
        args[0],
        target,
        what=".to",
        dtype=options.get("dtype"),
        non_blocking=bool(options.get("non_blocking")),
        copy=True,
        memory_format=options.get("memory_format"),
    )


def copy_into(
    mode: ThreadHook, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``copy_``: the one operation whose operands may be anywhere."""
    result = func(*args, **kwargs)
    targets, values = args[0], args[1]
    non_blocking = kwargs.get("non_blocking", args[2] if len(args) > 2 else False)
    pairs = (
        [(targets, values)]
        if isinstance(targets, torch.Tensor)
        else list(zip(targets, values, strict=True))
    )
    for written, value in pairs:
        adopt_buffers([written], [value])
        target, source = moves.device_of(written), moves.device_of(value)
        if mode.function_mode.writes_number and value.dim() == 0:
            source = target
        for tensor in (written, value):
            placement = placement_of(tensor)
            if placement is not None and placement.move is not None:
                if tensor is value:
                    note_use(placement, plan, tensor, by_host=target is CPU)
                else:
                    placement.move.used = True
        mode.latest = placement_of(written)
        if target is not source and "meta" not in (target.type, source.type):
            buffered = target is CPU and bool(non_blocking) and moves.is_pinned(written)
            moves.record_transfer(
                mode.machine,
                value,
                source,
                target,
                "__setitem__" if mode.function_mode.writes_elements else plan.name,
                # only page-locked memory is copied to behind the host's back
                non_blocking=bool(non_blocking) and (buffered or target is not CPU),
                pinned=buffered or moves.is_pinned(value),
            )
            if buffered and observers.observing():
                moves.watch_buffer(written, source)
            if Watch.current is not None:
                behind = bool(non_blocking) and (buffered or moves.is_pinned(value))
                waits = CPU in (source, target) and not behind
                Watch.current.copied(value, written, plan.name, waits, new=False)
    return result


class _Buckets(threading.local):
    """Does the calling thread make the buckets of ``DistributedDataParallel`` anew?"""

    rebuilt = False


_buckets = _Buckets()


def rebuilding(rebuild: Callable[..., Any]) -> Callable[..., Any]:
    """``Reducer._rebuild_buckets``, which copies gradients into buffers that C++ has made."""

    @functools.wraps(rebuild)
    def rebuilt(*args: Any) -> Any:
        _buckets.rebuilt = True
        try:
            return rebuild(*args)
        finally:
            _buckets.rebuilt = False

    return rebuilt


def adopt_buffers(written: list[torch.Tensor], read: list[torch.Tensor]) -> bool:
    """In backward: a buffer that C++ made out of our sight (the buckets of
    ``DistributedDataParallel``) lives where what is written into it does."""
    if torch._C._current_graph_task_id() == -1 and not _buckets.rebuilt:
        return False
    placement = next(
        (p for p in map(placement_of, read) if p is not None and p.device is not CPU), None
    )
    adopted = [t for t in written if placement_of(t) is None and not t.is_meta]
    if placement is None or not adopted:
        return False
    for tensor in adopted:
        tag(tensor, placement)
    return True
