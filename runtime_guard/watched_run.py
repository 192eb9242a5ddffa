"""A whole program under a guard, on real or virtual devices: what ``run`` and ``confirm`` share."""

from __future__ import annotations

import contextlib
import gc
import re
import traceback
from collections.abc import Iterator

import torch

from runtime_guard import left_behind
from runtime_guard.cards import this_process
from runtime_guard.devicemap import ModelWatcher
from runtime_guard.events import Event, Kind
from runtime_guard.evidence import Evidence
from runtime_guard.guard import DeviceGuard
from runtime_guard.sites import Site, is_users
from runtime_guard.virtual import virtual_devices


class WatchedRun:
    """The guard around a program, and the devices it saw."""

    def __init__(self, guard: DeviceGuard, devices: str) -> None:
        self.guard = guard
        self.devices = devices
        self.models = ModelWatcher()

    def evidence(self, error: BaseException | None = None) -> Evidence:
        """What the ledger holds now, and what ``error``, which ended the program, tells."""
        events = (*self.guard.ledger, *worker_events(error))
        if not any(event.kind is Kind.UNAVAILABLE for event in events):
            events = (*events, *unavailable_events(error))
        process = this_process()
        return Evidence(events, self.devices, () if process is None else (process,))


_FORKED = "Cannot re-initialize CUDA in forked subprocess"
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')


def worker_events(error: BaseException | None) -> list[Event]:
    """The event that an exception sent over by a forked worker stands for.

    The worker's own ledger died with it; the DataLoader sends its traceback as text.
    """
    text = str(error)
    if error is None or _FORKED not in text:
        return []
    stack = tuple(
        Site(match["file"], int(match["line"]), int(match["line"]), match["function"])
        for match in reversed(list(_FRAME.finditer(text)))
        if is_users(match["file"])
    )
    return [Event(Kind.WORKER_ACCESS, stack, "DataLoader worker", _FORKED)]


_UNAVAILABLE = re.compile(
    r"not compiled with (CUDA|XPU)|not linked with support for|requires (CUDA|XPU) support"
    r"|No CUDA GPUs are available|Found no NVIDIA driver|invalid device ordinal"
    r"|without ATen_(cuda|xpu) library|has no attribute '_(cuda|xpu)_|dummy base class"
    r"|legacy constructor expects device type|when none is available"
    r"|but torch\.cuda\.is_available\(\) is False"
    r"|on CUDA device \d+ but torch\.cuda\.device_count\(\) is"
)


def unavailable_events(error: BaseException | None) -> list[Event]:
    """The event that an exception stands for which asked for a device that is not there."""
    if error is None or not _UNAVAILABLE.search(str(error)):
        return []
    frames = reversed(traceback.extract_tb(error.__traceback__))
    stack = tuple(
        Site(frame.filename, frame.lineno or 0, frame.lineno or 0, frame.name)
        for frame in frames
        if is_users(frame.filename)
    )
    return [Event(Kind.UNAVAILABLE, stack, type(error).__name__, str(error).partition("\n")[0])]


def real_devices() -> str:
    """``cuda:2`` for two real CUDA devices; empty on a machine without accelerator."""
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        if not accelerator.is_available():
            return ""
        return f"{accelerator.current_accelerator()}:{accelerator.device_count()}"
    return f"cuda:{torch.cuda.device_count()}" if torch.cuda.is_available() else ""


@contextlib.contextmanager
def watch(
    virtual: str | None, *, keep_going: bool = False, contracts: bool = False
) -> Iterator[WatchedRun]:
    """Guard the block, on the virtual machine ``virtual`` or, when None, on the real devices.

    Raises ``ValueError`` for a machine that cannot be.  ``keep_going`` only records mixed-device
    operations; real devices refuse them whatever a guard wishes.  ``contracts`` records what breaks
    a device contract.
    """
    with contextlib.ExitStack() as stack:
        if virtual is not None:
            stack.enter_context(virtual_devices(virtual))
        guard = DeviceGuard(
            on_mixed="record" if keep_going else "raise",
            on_contract="record" if contracts else None,
        )
        stack.enter_context(guard)
        watched = WatchedRun(guard, f"virtual {virtual}" if virtual else real_devices())
        stack.enter_context(left_behind.telling_of_moves(watched.models.moved))
        try:
            yield watched
            watched.models.freeze()
        finally:
            gc.collect()  # moved tensors that died unused in reference cycles
