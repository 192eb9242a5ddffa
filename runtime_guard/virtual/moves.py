"""Transfers on a virtual machine: a copy, a new tag, and the way back for gradients."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Any

import torch

from runtime_guard.core.placement import (
    CPU,
    TAG,
    UNTAGGED,
    Move,
    Placement,
    ThrownAway,
    intern_device,
    placement_of,
    storage_of,
    tag,
)
from runtime_guard.core.sites import Site, Stack, nearest, thrown_away_at, user_site, user_stack
from runtime_guard.core.torch_internals import (
    FAKE,
    copy_below,
    disable_torch_function,
    is_tracing,
    real_device,
    tensor_base,
    wraps_others,
)
from runtime_guard.recording import gradients, observers
from runtime_guard.recording.events import Kind
from runtime_guard.recording.module_moves import moves_a_module
from runtime_guard.virtual.gradient_nodes import note_outputs
from runtime_guard.virtual.graphs import draw_on
from runtime_guard.virtual.machine import Machine
from runtime_guard.virtual.races import Watch
from runtime_guard.virtual.whereabouts import device_of, is_pinned, mark_pinned, pin

__tracebackhide__ = True  # pytest shows the user's frames only

_to = tensor_base.to


class _Moving(threading.local):
    """The moves that the calling thread is in."""

    active = False
    """Is it inside the copy that a move is made of?"""
    whole = False
    """Is it inside the move of a tensor that wraps others, which are to move, too?"""


moving = _Moving()


def refuse_dtype(dtype: torch.dtype, device: torch.device) -> None:
    """Raise what PyTorch raises for a dtype that ``device`` does not have."""
    if device.type == "mps" and dtype is torch.float64:
        raise TypeError(
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
            "float64. Please use float32 instead."
        )


def move(
    machine: Machine,
    tensor: torch.Tensor,
    target: torch.device | None,
    *,
    what: str,
    dtype: torch.dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """``tensor.to(target, dtype, non_blocking, copy)`` on the virtual machine.

    Returns ``tensor`` itself when nothing has to change.  Across devices the result is a new tensor
    tagged ``target``; its backward brings the gradient back to where ``tensor`` is.  Raises what
    PyTorch raises for meta tensors (``NotImplementedError``).
    """
    options: dict[str, Any] = {"copy": copy}
    if dtype is not None:
        options["dtype"] = dtype
    if memory_format is not None:
        options["memory_format"] = memory_format
    if is_tracing(FAKE):
        faked: torch.Tensor = _to(tensor, target, non_blocking=non_blocking, **options)
        return faked
    placement = placement_of(tensor)
    source = placement.device if placement is not None else intern_device(real_device(tensor))
    if target is None or target is source:
        if dtype is not None:
            refuse_dtype(dtype, source)
        result: torch.Tensor = (
            _to(tensor, **options) if (dtype or copy or memory_format) else tensor
        )
        if result is not tensor and placement is not None:
            tag(result, placement)
        return result
    if target.type == "meta":
        on_meta: torch.Tensor = _to(tensor, target, **options)
        return on_meta
    if source.type == "meta":
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
            "instead of torch.nn.Module.to() when moving module from meta to a different device."
        )
    refuse_dtype(dtype or tensor.dtype, target)
    if wraps_others(tensor):
        del options["copy"]
        return _move_wrapper(tensor, target, non_blocking, options)
    result = _copied(tensor, options)
    draw_on(result, target)
    watched = _arrived(machine, tensor, result, source, target, what, non_blocking)
    if result.grad_fn is not None:
        result.grad_fn.register_hook(_GradientBack(machine, source, 0))
        note_outputs([result])
        _note_leaf(tensor, result, watched, source, target, what)
    return result


def _move_wrapper(
    tensor: torch.Tensor, target: torch.device, non_blocking: bool, options: dict[str, Any]
) -> torch.Tensor:
    """It moves what it wraps, and makes a wrapper there."""
    moving.whole = True
    try:
        moved: torch.Tensor = copy_below(
            tensor, device=target, non_blocking=non_blocking, **options
        )
    finally:
        moving.whole = False
    return moved


def _copied(tensor: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """A copy, which is on no device yet: not on the source's, not even for a moment."""
    moving.active = True
    try:
        result: torch.Tensor = _to(tensor, **{**options, "copy": True})
    finally:
        moving.active = False
    shares = (
        tensor.layout is torch.sparse_coo
        and result._values().data_ptr() == tensor._values().data_ptr()
    )
    return tensor.clone() if shares else result


def _arrived(
    machine: Machine,
    tensor: torch.Tensor,
    result: torch.Tensor,
    source: torch.device,
    target: torch.device,
    what: str,
    non_blocking: bool,
) -> Move | None:
    """``result`` is the copy on ``target``: it is told of, tagged, and watched where it is told."""
    placement, pinned = placement_of(tensor), is_pinned(tensor)
    # a non-blocking copy to the host goes into page-locked memory (at::native::_to_copy)
    landed = not (non_blocking and target is CPU)
    stack = record_transfer(
        machine,
        tensor,
        source,
        target,
        what,
        non_blocking=non_blocking,
        pinned=pinned or not landed,
    )
    site = nearest(stack) if stack else user_site()
    if not landed and result.layout is torch.strided:
        mark_pinned(result)
    watched = Move(stack, landed) if stack else None
    if watched is not None and moves_a_module():
        watched.used = True  # who throws the module away throws no moved tensor away
    made = placement.made if placement is not None else None
    tag(result, Placement(target, made, site, watched))
    if watched is not None:
        _watch_until_dead(tensor, result, watched, what)
        if not landed:
            _on_its_way(watched, source)
    if Watch.current is not None:
        behind = non_blocking and (target is CPU or pinned)  # the host's back
        Watch.current.copied(tensor, result, what, CPU in (source, target) and not behind)
    return watched


def _note_leaf(
    tensor: torch.Tensor,
    result: torch.Tensor,
    watched: Move | None,
    source: torch.device,
    target: torch.device,
    what: str,
) -> None:
    """A leaf that requires grad was moved to where it is to be trained.

    Copies to the host are made to be looked at.
    """
    if watched is None or target is CPU or not (tensor.is_leaf and tensor.requires_grad):
        return
    observers.problem(
        Kind.LEAF_MOVE, what, "", source=str(source), target=str(target), stack=watched.stack
    )
    gradients.watch_leaf(watched, tensor, result, what, f"from {source} to {target}")


def record_transfer(
    machine: Machine,
    tensor: torch.Tensor,
    source: torch.device,
    target: torch.device,
    what: str,
    *,
    non_blocking: bool,
    pinned: bool,
) -> Stack:
    """Tell the observers of a transfer, and of the sync that a blocking copy to the host is."""
    if not observers.observing():
        return ()
    stack = user_stack()
    to_host = target.type == "cpu"
    observers.transfer(
        tensor, source, target, what, blocking=not non_blocking, pinned=pinned, stack=stack
    )
    if to_host and not non_blocking:
        land_all(source)
        observers.sync(what, "a blocking copy to the host", stack=stack)
    return stack


_in_flight: list[Move] = []
"""Non-blocking copies to the host that no synchronisation has followed yet."""


def land_all(device: torch.device | None = None) -> None:
    """The host waited: copies on their way have arrived.

    It waited for the current stream of ``device``; for all streams, where that is None.
    """
    if Watch.current is not None:
        if device is None:
            Watch.current.synchronized()
        else:
            Watch.current.host_waited(stream=Watch.current.stream(device))
    arrive()


def _on_its_way(watched: Move, source: torch.device) -> None:
    if Watch.current is not None:
        watched.turn = Watch.current.turn(source)
    _in_flight.append(watched)


def arrive() -> None:
    """Copies on their way have arrived.

    Where races are looked for, those by the streams that the host has waited for; else it is not
    asked by which stream they come: to be sure, by any.
    """
    races, late = Watch.current, []
    while _in_flight:
        with contextlib.suppress(IndexError):  # another thread waited as well
            watched = _in_flight.pop()
            if races is None or watched.turn is None or races.is_over(watched.turn):
                watched.landed = True
            else:
                late.append(watched)
    _in_flight.extend(late)


def watch_buffer(buffer: torch.Tensor, source: torch.device) -> None:
    """A non-blocking copy from ``source`` into the pinned host ``buffer`` is on its way."""
    before = placement_of(buffer)
    stack = user_stack()
    watched = Move(stack, landed=False)
    made = before.made if before is not None else None
    tag(buffer, Placement(CPU, made, nearest(stack) if stack else None, watched))
    _on_its_way(watched, source)


def report_read(watched: Move, what: str) -> None:
    """The host reads the result of a copy that may still be on its way."""
    watched.landed = True
    stack = user_stack()
    observers.problem(
        Kind.UNLANDED_READ,
        what,
        f"read by {what}; copied with non_blocking=True at "
        f"{nearest(watched.stack)} with no synchronisation in between",
        stack=stack + tuple(site for site in watched.stack if site not in stack),
    )


_watched: dict[int, weakref.ref[Any]] = {}


def _watch_until_dead(tensor: torch.Tensor, result: torch.Tensor, watched: Move, what: str) -> None:
    """Report ``result``, the copy of ``tensor``, where it dies unused."""
    storage, source = storage_of(result), storage_of(tensor)
    if storage is None or source is None:
        return
    key, target, origin = id(watched), device_of(result), weakref.ref(source)

    def died(_: object) -> None:
        _watched.pop(key, None)
        if watched.used:
            return
        # by a statement that made it; not by an exception or the end of a call, for example
        here = thrown_away_at()
        by = next((site for site in watched.stack if here is not None and _ends(here, site)), None)
        at_once = by is watched.stack[0]
        observers.problem(
            Kind.DISCARDED_MOVE if at_once else Kind.UNUSED_MOVE,
            what,
            "the moved tensor died without having been used",
            stack=watched.stack,
        )
        source: Any = origin()
        if by is not None and source is not None:
            before = getattr(source, TAG, None) or UNTAGGED
            note = ThrownAway(what, target, nearest(watched.stack), by)
            setattr(source, TAG, before.of_source(note))

    _watched[key] = weakref.ref(storage, died)


def _ends(here: Site, statement: Site) -> bool:
    """Is ``here`` the end of a statement that was at ``statement`` when it moved something?"""
    in_one = (here.file, here.function) == (statement.file, statement.function)
    return in_one and statement.line <= here.end_line <= statement.end_line


def forget_watched() -> None:
    """Stop watching moved tensors (the context is over; what still lives was kept, not thrown)."""
    _watched.clear()
    _in_flight.clear()


class _GradientBack:
    """Post hook of an autograd node: gradient ``position`` goes back to ``device``.

    On real devices ``ToCopyBackward`` and ``CopyBackwards`` do that themselves.
    """

    __slots__ = ("device", "machine", "position")

    def __init__(self, machine: Machine, device: torch.device, position: int) -> None:
        self.machine = machine
        self.device = device
        self.position = position

    def __call__(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> Any:
        if self.position >= len(inputs) or inputs[self.position] is None:
            return None
        with disable_torch_function():
            moved = move(
                self.machine, inputs[self.position], self.device, what="backward of a copy"
            )
        return (*inputs[: self.position], moved, *inputs[self.position + 1 :])


def gradient_goes_back(
    machine: Machine, written: torch.Tensor, value: torch.Tensor, source: torch.device
) -> None:
    """After ``written.copy_(value)`` across devices: the gradient of ``value`` returns to it."""
    node = written.grad_fn
    if (
        node is not None
        and value.requires_grad
        and node.name().rpartition("::")[2] in ("CopyBackwards", "CopySlices")
    ):
        node.register_hook(_GradientBack(machine, source, 1))
        note_outputs([written])


def tag_fresh(tensor: torch.Tensor, device: torch.device) -> None:
    """Tag what a factory made on ``device``."""
    refuse_dtype(tensor.dtype, device)
    draw_on(tensor, device)
    tag(tensor, Placement(device, user_site()))
    if Watch.current is not None:
        Watch.current.made(tensor, "factory")


__all__ = [
    "CPU",
    "TAG",
    "UNTAGGED",
    "device_of",
    "forget_watched",
    "gradient_goes_back",
    "is_pinned",
    "land_all",
    "move",
    "pin",
    "real_device",
    "record_transfer",
    "report_read",
    "tag_fresh",
    "watch_buffer",
]
