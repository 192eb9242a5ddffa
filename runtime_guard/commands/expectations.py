"""What the finding of each rule looks like at run time, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from runtime_guard.recording.events import Event, Kind
from runtime_guard.recording.evidence import Process

Finding = dict[str, Any]


@dataclass(frozen=True)
class Expectation:
    """What a rule's finding looks like at run time."""

    kinds: frozenset[Kind]
    times: int = 1
    """How often it has to happen."""
    related: bool = False
    """May it happen at a related location of the finding, once its own lines have run?"""
    well_meant: frozenset[Kind] = frozenset()
    """Which of the kinds may do no harm: what a module passes by may be moved by its `forward`."""
    of_own: frozenset[Kind] = frozenset()
    """What shows it as well, where it happens to what comes from the finding's own lines."""
    holds: Callable[[Event], bool] = field(default=lambda event: True)
    says: str = ""
    unseen: Callable[[Finding], str] = field(default=lambda finding: "")
    """Why a run would not show what this finding claims; empty where it would."""
    without: str = ""
    """The accelerator that a machine must lack for it to happen."""
    meets: bool = False
    """Takes it something that is on an accelerator already?"""
    settles: bool = True
    """Is the finding wrong when it does not happen?"""
    shows_in: Callable[[Finding, Process], bool] | None = None
    """In which processes of a launched job does it happen?"""


def _kept_in_a_name(finding: Finding) -> str:
    """The guard sees what is handed in and back, not what is kept in a name."""
    message = finding.get("message", "")
    if " parameter `" in message or " the result of `" in message:
        return ""
    return "the guard does not look at variables"


_SILENT = (
    " is never true:",
    " is always true:",
    "no device is called ",
    ", which `or` takes for none:",
    " is ignored where no accelerator is:",
    ", the name of a device: it takes the numbers of cards",
)
"""What DEV110 says of mistakes at which PyTorch raises nothing."""


def _raises_nothing(finding: Finding) -> str:
    message = finding.get("message", "")
    if any(part in message for part in _SILENT):
        return "PyTorch raises nothing there: the program goes another way than it reads"
    if " is -1 on the host, " in message:
        return "it shows where the tensor is on the host"
    return ""


def _copies_many_to_host(event: Event) -> bool:
    """More than one element, on the average."""
    return event.direction == "D2H" and event.bytes > 8 * event.count


def _copies_in_vain(event: Event) -> bool:
    """A pinned source copied with a wait, or a pageable one asked not to wait."""
    return event.pinned == event.blocking


def _not_by_device(event: Event) -> bool:
    """No copy that was asked for by a device: `torch.FloatTensor(x).to(device)` moves by that."""
    return event.what not in _BY_DEVICE


_BY_DEVICE = frozenset({".to", ".cuda", ".cpu", ".xpu", ".mps"})


def _differs(finding: Finding, process: Process) -> bool:
    """A process for which the card that the finding is about is not its own."""
    if "the rank among all nodes" in finding.get("message", ""):
        return process.rank != process.local_rank
    return process.local_rank > 0


_MIXED = Expectation(
    frozenset({Kind.MIXED, Kind.GENERATOR}), meets=True, says="a mixed-device error was raised"
)
_MIXED_ELSEWHERE = replace(_MIXED, related=True)
"""Of rules that point at a cause: what comes of it meets something at a related place."""
_LOOP_TRANSFER = Expectation(frozenset({Kind.TRANSFER}), times=2, says="transferred repeatedly")
_LOOP_SYNC = Expectation(
    frozenset({Kind.SYNC}), times=2, meets=True, says="the host waited repeatedly"
)
_UNAVAILABLE = Expectation(
    frozenset({Kind.UNAVAILABLE}), without="cuda", says="the machine has no such device"
)

EXPECTATIONS: dict[str, Expectation] = {
    "DEV101": _MIXED,
    "DEV102": _MIXED,
    "DEV103": _MIXED,
    "DEV104": _MIXED,
    "DEV105": _MIXED,
    "DEV106": _MIXED,
    "DEV107": _MIXED_ELSEWHERE,
    "DEV108": Expectation(
        frozenset({Kind.CONTRACT, *_MIXED.kinds}),
        related=True,
        says="the contract was broken",
        unseen=_kept_in_a_name,
    ),
    "DEV110": Expectation(
        frozenset({Kind.NOT_A_DEVICE}),
        unseen=_raises_nothing,
        says="PyTorch refused it",
    ),
    "DEV201": Expectation(frozenset({Kind.DISCARDED_MOVE}), says="the moved tensor was never used"),
    "DEV202": Expectation(
        frozenset({Kind.OPTIMIZED_MOVE}), says="an optimizer had taken the parameters"
    ),
    "DEV203": Expectation(
        frozenset({Kind.LEAF_MOVE, Kind.NON_LEAF_MOVE}),
        well_meant=frozenset({Kind.LEAF_MOVE}),
        says="a leaf that requires grad was moved",
    ),
    "DEV204": Expectation(
        frozenset({Kind.DISCARDED_MOVE, Kind.UNUSED_MOVE}), says="the moved tensor was never used"
    ),
    "DEV205": Expectation(
        frozenset({Kind.PASSED_BY, Kind.LEFT_BEHIND}),
        well_meant=frozenset({Kind.PASSED_BY}),
        of_own=frozenset({Kind.MIXED}),
        related=True,
        says="the attribute stayed where it was",
    ),
    "DEV206": Expectation(
        frozenset({Kind.PASSED_BY, Kind.LEFT_BEHIND}),
        related=True,
        says="the submodule stayed where it was",
    ),
    "DEV207": _MIXED_ELSEWHERE,
    "DEV301": _LOOP_TRANSFER,
    "DEV302": Expectation(
        frozenset({Kind.TRANSFER}), times=2, related=True, says="transferred there and back"
    ),
    "DEV303": _LOOP_SYNC,
    "DEV304": Expectation(frozenset({Kind.TRANSFER}), says="made on the host, then transferred"),
    "DEV305": Expectation(
        frozenset({Kind.SYNC, Kind.ELEMENT_WRITE}),
        times=2,
        meets=True,
        says="one element at a time",
    ),
    "DEV306": Expectation(
        frozenset({Kind.TRANSFER}), holds=_copies_in_vain, says="the copy had to wait"
    ),
    "DEV307": Expectation(
        frozenset({Kind.MODULE_MOVE}), times=2, says="all of the module was gone over repeatedly"
    ),
    "DEV309": Expectation(
        frozenset({Kind.TRANSFER}), holds=_copies_many_to_host, says="all of it went to the host"
    ),
    "DEV308": Expectation(frozenset({Kind.TRANSFER}), says="a host tensor was copied in silence"),
    "DEV310": _LOOP_SYNC,
    "DEV401": Expectation(
        frozenset({Kind.HOST_READ}), meets=True, says="PyTorch refused the conversion"
    ),
    "DEV402": Expectation(
        frozenset({Kind.UNLANDED_READ}), related=True, says="read before any synchronisation"
    ),
    "DEV403": Expectation(
        frozenset({Kind.WORKER_ACCESS}), related=True, says="a worker touched the accelerator"
    ),
    "DEV404": Expectation(frozenset({Kind.UNDETACHED}), says="PyTorch refused the conversion"),
    "DEV501": _UNAVAILABLE,
    "DEV502": _UNAVAILABLE,
    "DEV503": Expectation(
        frozenset({Kind.UNAVAILABLE, Kind.TRANSFER}),
        holds=_not_by_device,
        settles=False,
        says="the type fixes a device: it moved the tensor, or the machine lacks it",
    ),
    "DEV504": _UNAVAILABLE,
    "DEV505": Expectation(
        frozenset({Kind.FOREIGN_CARD, Kind.SHARED_CARD, Kind.UNAVAILABLE}),
        shows_in=_differs,
        says="the process used a card that is not its own, or is not there",
    ),
    "DEV508": Expectation(
        frozenset({Kind.GENERATOR, Kind.WORKER_ACCESS}),
        related=True,
        settles=False,
        says="a generator of the host met the default device, or a worker touched the accelerator",
    ),
}
"""By rule.  A rule that is missing makes no claim that a run could show."""
