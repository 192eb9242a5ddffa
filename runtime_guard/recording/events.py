"""What the guard sees, as plain records.  One stands for all repetitions at one place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from runtime_guard.core.sites import Expression, Site, Stack, nearest


class Kind(str, Enum):
    """What happened.  The values are stable: reports and evidence files use them."""

    TRANSFER = "transfer"
    """A copy between devices."""
    SYNC = "sync"
    """The host waited for the device."""
    MIXED = "mixed-device"
    """An operation refused tensors of several devices."""
    HOST_READ = "host-read"
    """NumPy or another host library was given an accelerator's tensor, and PyTorch refused."""
    UNDETACHED = "undetached-read"
    """NumPy was given a tensor that requires grad, and PyTorch refused."""
    DISCARDED_MOVE = "discarded-move"
    """A moved tensor died without having been used."""
    NON_LEAF_MOVE = "non-leaf-move"
    """A leaf that requires grad was moved, and its gradient is lost: the result is not a leaf."""
    LEFT_BEHIND = "left-behind"
    """What ``Module.to`` passed by, a plain attribute, met what it had moved."""
    UNLANDED_READ = "unlanded-read"
    """The host read the result of a non-blocking copy before any synchronisation."""
    RACE = "stream-race"
    """A stream used, or the host overwrote, what another stream may not be done with."""
    SHARED_CARD = "shared-card"
    """Ranks of a group met in a collective on one card, or on another than they had said."""
    WORKER_ACCESS = "worker-access"
    """A forked worker process used the accelerator."""
    GENERATOR = "generator"
    """A random generator of another device than what it fills."""
    CONTRACT = "broken-contract"
    """A value was on another device than its annotation or comment declares."""
    UNAVAILABLE = "unavailable-device"
    """A device that the machine does not have was asked for."""
    NOT_A_DEVICE = "not-a-device"
    """What stood where a device belongs was none: a flag, a card without an index."""
    UNUSED_MOVE = "unused-move"
    """A moved tensor died without having been used, some time after the move."""
    MODULE_MOVE = "module-move"
    """``Module.to``, ``.cuda`` or ``.cpu`` went over all of a module, whatever it had to copy."""
    OPTIMIZED_MOVE = "optimized-move"
    """A module was moved after an optimizer had taken its parameters."""
    PASSED_BY = "passed-by"
    """``Module.to`` passed by a tensor that the module keeps as a plain attribute."""
    LEAF_MOVE = "leaf-move"
    """A leaf that requires grad was moved to an accelerator."""
    ELEMENT_WRITE = "element-write"
    """One element of an accelerator's tensor was written by itself."""
    FOREIGN_CARD = "foreign-card"
    """A process of a launched job used another card than the one of its local rank."""


NOTED = frozenset(
    {
        Kind.UNUSED_MOVE,
        Kind.MODULE_MOVE,
        Kind.OPTIMIZED_MOVE,
        Kind.PASSED_BY,
        Kind.LEAF_MOVE,
        Kind.ELEMENT_WRITE,
        Kind.FOREIGN_CARD,
    }
)
"""The kinds that may be well meant: evidence for ``confirm``, in no report of their own."""
PROBLEMS = frozenset(Kind) - NOTED - {Kind.TRANSFER, Kind.SYNC}
"""The kinds that are bugs in themselves; transfers and syncs are costs."""


RULES = {
    Kind.MIXED: "DEV101",
    Kind.GENERATOR: "DEV105",
    Kind.CONTRACT: "DEV108",
    Kind.NOT_A_DEVICE: "DEV110",
    Kind.DISCARDED_MOVE: "DEV201",
    Kind.NON_LEAF_MOVE: "DEV203",
    Kind.LEFT_BEHIND: "DEV205",
    Kind.HOST_READ: "DEV401",
    Kind.UNLANDED_READ: "DEV402",
    Kind.WORKER_ACCESS: "DEV403",
    Kind.UNDETACHED: "DEV404",
    Kind.RACE: "DEV406",
    Kind.SHARED_CARD: "DEV505",
}
"""The rule of ``devlint check`` that finds a kind without running, if its text names no other."""


def hint_at(rule: str) -> str:
    """How a text names the rule that would have found it."""
    return f"(devlint explain {rule})"


_RULE_SAID = re.compile(r"\(devlint explain (DEV\d+)\)")


@dataclass(slots=True)
class Event:
    """Something that happened ``count`` times with one stack of user frames."""

    kind: Kind
    stack: Stack
    """User frames, innermost first."""
    what: str
    """The operation: ``aten.add``, ``.to``, ``item``."""
    detail: str = ""
    source: str = ""
    """Device the data came from (transfers, mixed operands), as text."""
    target: str = ""
    blocking: bool = True
    pinned: bool = False
    bytes: int = 0
    """Bytes of all repetitions together."""
    seconds: float = 0.0
    """Host time of all repetitions together; 0.0 on virtual devices."""
    count: int = 1
    shapes: list[str] = field(default_factory=list)
    """Up to ``MAX_SHAPES`` different ``float32[64, 10]``."""
    origins: Stack = ()
    """Where the tensors that met were made and last moved, and where a moved copy was thrown away
    (mixed-device operations)."""
    at: Expression | None = None
    """Of the innermost line the expression that it is (bugs)."""

    @property
    def rule(self) -> str:
        """The rule of ``devlint check`` that finds it without running; empty where none does."""
        found = _RULE_SAID.search(self.detail)
        return found[1] if found else RULES.get(self.kind, "")

    @property
    def told(self) -> str:
        """``detail`` with the rule."""
        named = not self.rule or _RULE_SAID.search(self.detail)
        return self.detail if named else f"{self.detail} {hint_at(self.rule)}"

    @property
    def site(self) -> Site:
        """The user's line that stands for the event."""
        return nearest(self.stack)

    @property
    def direction(self) -> str:
        """``H2D``, ``D2H``, ``D2D`` or ``H2H``."""
        ends = [
            "H" if end.partition(":")[0] == "cpu" else "D" for end in (self.source, self.target)
        ]
        return f"{ends[0]}2{ends[1]}"


MAX_SHAPES = 4
