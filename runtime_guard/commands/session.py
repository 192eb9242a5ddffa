"""A whole program under a guard, on real or virtual devices: what ``run`` and ``confirm`` share."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import traceback
from collections.abc import Iterable, Iterator

import torch

from devlint.contracts import DEVICE_TYPES
from runtime_guard.commands.children import heard_out
from runtime_guard.commands.program import traceback_of
from runtime_guard.core.sites import Site, is_users
from runtime_guard.guard import DeviceGuard
from runtime_guard.recording import module_moves, observers, policies
from runtime_guard.recording.cards import this_process
from runtime_guard.recording.device_map import ModelWatcher
from runtime_guard.recording.events import Event, Kind
from runtime_guard.recording.evidence import Evidence, Peak, highest, peaks_of
from runtime_guard.virtual.context import virtual_devices
from runtime_guard.virtual.machine import Machine


class WatchedRun:
    """The guard around a program, and the devices it saw."""

    def __init__(self, guard: DeviceGuard, devices: str) -> None:
        self.guard = guard
        self.devices = devices
        self.models = ModelWatcher()
        self.machine: Machine | None = None
        """The virtual machine, if it runs on one."""
        self.peaks_of_children: list[Peak] = []

    def evidence(self, error: BaseException | None = None) -> Evidence:
        """What the ledger holds now, and what ``error``, which ended the program, tells."""
        events = (*self.guard.ledger, *news_of(error, self.guard.ledger))
        process = this_process()
        died = "" if error is None else traceback_of(error)
        processes = () if process is None else (process,)
        own = () if self.machine is None else peaks_of(self.machine.meters)
        peaks = highest([*own, *self.peaks_of_children])
        return Evidence(events, self.devices, processes, died, peaks)


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
    r"|CUDA driver version is insufficient|no CUDA-capable device is detected"
    r"|without ATen_(cuda|xpu) library|has no attribute '_(cuda|xpu)_|dummy base class"
    r"|legacy constructor expects device type|when none is available"
    r"|but torch\.cuda\.is_available\(\) is False"
    r"|Invalid device id\b"
    r"|on CUDA device \d+ but torch\.cuda\.device_count\(\) is"
    # `torch.npu`, which `torch_npu` brings
    rf"|module 'torch' has no attribute '({'|'.join(sorted(DEVICE_TYPES))})'"
)
_NOT_A_DEVICE = re.compile(
    r"argument 'device'( \(position \d+\))? must be torch\.device, not "
    r"|\b(to|device)\(\) received an invalid combination of arguments - got \((bool|device)\b"
    r"|\(\) received an invalid combination of arguments - got \([^)]*\bdevice=(bool|device)\b"
    r"|\bdevice\(\): argument 'index' .* must be int, not bool"
    r"|only accepts floating point or complex dtypes, but got desired dtype=torch\.bool"
    r"|\bModule\.(cpu|cuda|ipu|mtia|xpu)\(\) (got an unexpected keyword argument|takes )"
    r"|Expected a torch\.device with a specified index or an integer, but got"
    r"|Device index must not be negative|Invalid device string|at start of device string"
)
_SIGNS = {Kind.UNAVAILABLE: _UNAVAILABLE, Kind.NOT_A_DEVICE: _NOT_A_DEVICE}


def device_events(error: BaseException | None) -> list[Event]:
    """The event that an exception stands for which asked for a device that is not there, or for
    what is no device."""
    text = str(error)
    kind = next((kind for kind, sign in _SIGNS.items() if sign.search(text)), None)
    if error is None or kind is None:
        return []
    frames = reversed(traceback.extract_tb(error.__traceback__))
    stack = tuple(
        Site(frame.filename, frame.lineno or 0, frame.lineno or 0, frame.name)
        for frame in frames
        if is_users(frame.filename)
    )
    return [Event(kind, stack, type(error).__name__, text.partition("\n")[0])]


def news_of(error: BaseException | None, known: Iterable[Event]) -> list[Event]:
    """The events that an exception stands for and that are not among the ``known`` ones."""
    known = list(known)
    return [
        event
        for event in (*worker_events(error), *device_events(error))
        if not any(seen.kind is event.kind and event.detail in seen.detail for seen in known)
    ]


def tell_of(error: BaseException) -> None:
    """Tell whoever is watching of an exception that ends a test, and not the program."""
    for observer in observers.watching():
        observer.ledger.merge(news_of(error, observer.ledger))


def real_devices() -> str:
    """``cuda:2`` for two real CUDA devices; empty on a machine without accelerator."""
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        if not accelerator.is_available():
            return ""
        return f"{accelerator.current_accelerator()}:{accelerator.device_count()}"
    return f"cuda:{torch.cuda.device_count()}" if torch.cuda.is_available() else ""


_frozen_by_others = False


def frozen_by_others() -> bool:
    """Whether somebody else keeps objects away from the collector, as they do for good. The answer
    is counted: it goes through all of them, and is asked for until there are some."""
    global _frozen_by_others
    _frozen_by_others = _frozen_by_others or gc.get_freeze_count() > 0
    return _frozen_by_others


@contextlib.contextmanager
def collecting_new_objects_only() -> Iterator[None]:
    """In the block a collection of garbage looks at what the block has made, and at nothing of what
    was there before: the modules of torch alone take it a tenth of a second."""
    keep = frozen_by_others()
    gc.freeze()
    try:
        yield
    finally:
        if not keep:
            gc.unfreeze()


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
        stack.enter_context(collecting_new_objects_only())
        machine = None if virtual is None else stack.enter_context(virtual_devices(virtual))
        guard = DeviceGuard(
            on_mixed="record" if keep_going else "raise",
            on_contract="record" if contracts else None,
            **policies.parse(os.environ.get(policies.VARIABLE, "")),
        )
        stack.enter_context(guard)
        peaks = stack.enter_context(heard_out(guard, keep_going=keep_going))
        watched = WatchedRun(guard, f"virtual {virtual}" if virtual else real_devices())
        watched.machine, watched.peaks_of_children = machine, peaks
        stack.enter_context(module_moves.telling_of_moves(watched.models.moved))
        try:
            yield watched
            watched.models.freeze()
        finally:
            gc.collect()  # moved tensors that died unused in reference cycles
