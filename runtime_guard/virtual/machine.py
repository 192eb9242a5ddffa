"""The virtual machine: which accelerators it has, and what the program set on them."""

from __future__ import annotations

import os
import re
import threading
from typing import Any

import torch

from runtime_guard.core.memory import Meter
from runtime_guard.core.placement import CPU, intern_device
from runtime_guard.core.sites import Site, Stack, user_site
from runtime_guard.core.torch_internals import disable_torch_function, without_dispatch_modes
from runtime_guard.recording import cards, observers
from runtime_guard.recording.events import Kind
from runtime_guard.recording.observers import Observer, Policy, add_observer, remove_observer
from runtime_guard.virtual.profiles import UNLIMITED, Profile, parse_profile

SYNC_DEBUG_MODES = ("default", "warn", "error")
KNOWN_TYPES = ("cuda", "mps", "xpu")
_device = torch.device
"""The real one: what the program sees in its place notes who names a device."""
_SPEC = re.compile(
    r"\s*(?:(?P<times>\d+)\s*x\s*)?(?P<kind>cuda|mps|xpu)(?::(?P<count>\d+))?\s*(?:@(?P<card>.+))?"
)


class UnsupportedVirtually(NotImplementedError):
    """Something that virtual accelerators cannot do; the message says what and why."""


class NotInThisBuild(UnsupportedVirtually, AttributeError):
    """A part of CUDA's own that this build of PyTorch has not, or a fact of a card's not told."""


_PARTS_OF_CUDA = ("_cuda_", "_nccl_", "_cudnn", "_cufft_", "_cusparse", "_xpu_", "_mps_")


def no_such_part(name: str) -> Any:
    """``torch._C.__getattr__``: raises for what the build has not."""
    sentence = f"module 'torch._C' has no attribute {name!r}"
    if name.startswith(_PARTS_OF_CUDA):
        raise NotInThisBuild(
            f"torch._C.{name} on virtual devices: it belongs to the accelerator's own library, "
            f"which this build of PyTorch has not ({sentence})"
        )
    raise AttributeError(sentence)


def unsupported(what: str, why: str) -> Any:
    """A function that refuses to be called."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedVirtually(f"{what} on virtual devices: {why}")

    return refuse


NEEDS_A_DRIVER = (
    "_cuda_attach_out_of_memory_observer",
    "_cuda_getCurrentRawStream",
    "_cuda_isCurrentStreamCapturing",
    "_cuda_jiterator_compile_and_launch_kernel",
    "_cuda_memorySnapshot",
    "_cuda_memoryStats",
    "_cuda_record_memory_history",
    "_cuda_sleep",
    "_cuda_synchronize",
    "_cuda_tunableop_get_results",
    "_cuda_tunableop_get_validators",
    "_nccl_all_gather",
    "_nccl_all_reduce",
    "_nccl_broadcast",
    "_nccl_init_rank",
    "_nccl_reduce",
    "_nccl_reduce_scatter",
    "_nccl_unique_id",
)
"""What a build for CUDA has in ``torch._C`` and cannot do without a card."""


def parts_that_need_a_driver() -> dict[str, Any]:
    """Those of this build, refusing."""
    why = "it belongs to the accelerator's own library, which there is no driver for"
    return {
        name: unsupported(f"torch._C.{name}", why)
        for name in NEEDS_A_DRIVER
        if name in vars(torch._C)
    }


def parse_machine(spec: str) -> tuple[dict[str, int], dict[str, Profile]]:
    """``"2xcuda@T4,mps"`` -> ``{"cuda": 2, "mps": 1}`` and what kind of cards they are.

    ``cuda:2`` means two as well.
    Raises ``ValueError`` for a type that cannot be made virtual, for a count of 0, and for a kind
    of card that is unknown.
    """
    counts: dict[str, int] = {}
    profiles: dict[str, Profile] = {}
    for part in spec.split(","):
        match = _SPEC.fullmatch(part)
        if match is None:
            raise ValueError(
                f"virtual devices {spec!r}: expected a list such as '2xcuda' or '1xcuda,mps' "
                f"(types: {', '.join(KNOWN_TYPES)}; 'cuda:2' means two of them, too)"
            )
        if match["times"] and match["count"]:
            raise ValueError(f"virtual devices {spec!r}: two numbers of {match['kind']} devices")
        kind, count = match["kind"], int(match["times"] or match["count"] or 1)
        if count < 1:
            raise ValueError(f"virtual devices {spec!r}: at least one device of type {kind}")
        if kind == "mps" and count != 1:
            raise ValueError(f"virtual devices {spec!r}: a machine has one mps device")
        counts[kind] = count
        profiles[kind] = parse_profile(match["card"]) if match["card"] else UNLIMITED
    return counts, profiles


def _really_there(device: torch.device, named: Stack) -> torch.device:
    """``device`` when this computer really has it; raises PyTorch's own error when it has not.

    ``named``: where the program named devices that the machine does not have.
    """
    try:
        with disable_torch_function(), without_dispatch_modes():
            torch.empty(0, device=device)
    except Exception as error:
        observers.problem(
            Kind.UNAVAILABLE,
            "device",
            f"{device} was asked for, which this machine does not have: "
            f"{str(error).partition(chr(10))[0]}",
            target=str(device),
            declared=named,
        )
        raise
    return device


class Machine:
    """Accelerator types and counts, the current device of each thread, and the default device."""

    def __init__(self, counts: dict[str, int], profiles: dict[str, Profile]) -> None:
        self.counts = dict(counts)
        self.profiles = dict(profiles)
        self.default_type: torch.device | None = None
        """What ``set_default_tensor_type`` made of ``torch.Tensor``."""
        self.primary = next(iter(counts))
        """What ``torch.accelerator`` calls the current accelerator."""
        self.meters = {
            intern_device(torch.device(kind, index)): Meter(index, profiles[kind].limit)
            for kind, count in counts.items()
            for index in range(count)
        }
        """What is allocated on each device."""
        self.over = False
        """Has its block ended?  Threads that live on have their hooks still."""
        self.sync_debug_mode = 0
        self._sync_observer: Observer | None = None
        self._current = threading.local()
        self.pid = os.getpid()
        self.named: dict[Site, None] = {}
        """Where devices were named that the machine does not have."""
        self.own_cards = {kind: cards.own_card(count) for kind, count in counts.items()}
        """The index of this process's own card, where processes share them."""
        self.named_cards: dict[Site, torch.device] = {}
        """Where cards of other processes were named."""
        self.used = False
        """Has anything touched an accelerator (CUDA would be initialised)?"""

    def current_index(self, kind: str) -> int:
        """The calling thread's current device of type ``kind``."""
        return int(getattr(self._current, kind, 0))

    def set_current_index(self, kind: str, index: int) -> int:
        """Make ``index`` current, return what was.  Negative indices change nothing.

        Raises ``RuntimeError`` ("invalid device ordinal") as CUDA does.
        """
        before = self.current_index(kind)
        if index >= 0:
            self.check_index(kind, index)
            setattr(self._current, kind, index)
        return before

    def set_sync_debug_mode(self, mode: int | str) -> None:
        """``torch.cuda.set_sync_debug_mode``: 0 ``default``, 1 ``warn``, 2 ``error``."""
        if isinstance(mode, str):
            if mode not in SYNC_DEBUG_MODES:
                raise RuntimeError(
                    "invalid value of debug_mode, expected one of `default`, `warn`, `error`"
                )
            mode = SYNC_DEBUG_MODES.index(mode)
        if not 0 <= mode < len(SYNC_DEBUG_MODES):
            raise RuntimeError("invalid value of debug_mode, expected 0, 1 or 2")
        if self._sync_observer is not None:
            remove_observer(self._sync_observer)
            self._sync_observer = None
        self.sync_debug_mode = mode
        if mode:
            policy: Policy = "warn" if mode == 1 else "raise"
            self._sync_observer = Observer(on_sync=policy, hidden_only=True)
            add_observer(self._sync_observer)

    def current_stream(self, kind: str, index: int) -> Any | None:
        """The calling thread's stream on a device, None for the default one."""
        return getattr(self._current, f"stream of {kind}:{index}", None)

    def enter_stream(self, stream: Any) -> tuple[int, Any]:
        """Make ``stream`` and its device current; return what ``leave_stream`` needs."""
        index, kind = stream.device_index, stream.kind
        before = self.current_stream(kind, index)
        setattr(self._current, f"stream of {kind}:{index}", stream)
        return self.set_current_index(kind, index), before

    def leave_stream(self, stream: Any, before: tuple[int, Any]) -> None:
        """Undo ``enter_stream``."""
        setattr(self._current, f"stream of {stream.kind}:{stream.device_index}", before[1])
        self.set_current_index(stream.kind, before[0])

    def check_index(self, kind: str, index: int) -> None:
        """Raise CUDA's "invalid device ordinal" unless the machine has device ``index``."""
        if index >= self.counts[kind]:
            sentence = (
                f"CUDA error: invalid device ordinal. `{kind}:{index}` was asked for; this "
                f"virtual machine has {self.counts[kind]} {kind} device(s)"
            )
            observers.problem(Kind.UNAVAILABLE, "device", sentence, target=f"{kind}:{index}")
            raise RuntimeError(sentence)

    def name(self, device: torch.device) -> torch.device:
        """What ``torch.device(...)`` gives: a device that is not there may be named."""
        if device.type in KNOWN_TYPES and device.type not in self.counts:
            self.named[user_site()] = None
        own = self.own_cards.get(device.type)
        if own is not None and device.index not in (None, own):
            self.named_cards[user_site()] = device
        return device

    def is_virtual(self, device: torch.device) -> bool:
        """Is ``device`` one of this machine's accelerator types?"""
        return device.type in self.counts

    def canonical(self, device: torch.device) -> torch.device:
        """``device`` with its index, interned: ``cuda`` is the current device.

        Raises ``RuntimeError`` for an index the machine does not have, PyTorch's own error for a
        type it does not have, and ``RuntimeError`` for any use in a forked worker after the parent
        used the accelerator, as CUDA does.
        """
        if device.type == "cpu":
            return CPU
        if device.type not in self.counts:
            if device.type == "meta":
                return device
            return _really_there(device, tuple(self.named))
        index = device.index
        if index is None:
            index = self.current_index(device.type)
        else:
            self.check_index(device.type, index)
        self.touch(device.type)
        found = intern_device(_device(device.type, index))
        own = self.own_cards[device.type]
        if own is not None and index != own:
            named = tuple(site for site, card in self.named_cards.items() if card == found)
            cards.note_use(found, own, named)
        return found

    def is_in_bad_fork(self) -> bool:
        """Is this a forked child of a process that used the accelerator?"""
        return self.used and os.getpid() != self.pid

    def is_initialized(self) -> bool:
        """Has this process used the accelerator?"""
        return self.used and os.getpid() == self.pid

    def touch(self, kind: str) -> None:
        """Note that the accelerator is in use; raise in a forked child of a process that used it.

        ``torch.cuda._lazy_init`` raises there; the text is its own.
        """
        if os.getpid() != self.pid:
            if self.used and kind == "cuda":
                raise RuntimeError(
                    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
                    "multiprocessing, you must use the 'spawn' start method"
                )
            self.pid = os.getpid()
        self.used = True

    def parse(self, device: Any) -> torch.device:
        """What ``device=`` may be (``torch.device``, text, index) as a canonical device."""
        if isinstance(device, torch.device):
            return self.canonical(device)
        if isinstance(device, int) and not isinstance(device, bool):
            return self.canonical(torch.device(self.primary, device))
        return self.canonical(torch.device(device))
