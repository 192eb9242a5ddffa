"""Loops being walked, environments, and the control context: what else is around a place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import libcst as cst

from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.value import Value
from devlint.inference.facts import Hotness
from devlint.inference.program.contracts import Declared

Flag = tuple[str, bool]  # a condition on one name, and how it came out


# By name, by "self.x", by address (what a container holds) and by module (where it is now).
Environment = dict[Any, Value]


@dataclass(slots=True, eq=False)
class LoopState:
    """A loop being walked."""

    node: cst.CSTNode
    over: cst.CSTNode | None
    hotness: Hotness
    depth: int
    feeds_device: bool = False
    outer: LoopState | None = None
    nests: bool = False  # another one is in its body
    trains: bool = False  # a backward pass or an optimizer's step is in its body
    goes_back: bool = False  # a backward pass, and in no loop inside
    evaluates: bool = False  # something in its body runs without gradients
    wraps_training: bool = False  # a hot loop in its body trains
    of_gradients: bool | None = None  # it reads those of what it goes through; once asked for
    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)
    assigned: set[str] = field(default_factory=set)  # names the body rebinds or writes in place
    rebound: set[str] = field(default_factory=set)  # names that only their own move rebinds
    # The environments before the loop, at its head, and where a turn ends: None in the first walk.
    entry: Environment | None = None
    head: Environment | None = None
    back: Environment | None = None
    differs: bool = False  # the first turn takes other branches than those behind it
    turns: PathCondition = ALWAYS  # what holds where as many turns were made as were walked
    since: int = 0  # when the turn began, by the frame's clock
    # `xs[i] = value` for each element of the list that it goes over, and what that put there.
    replacing: cst.Subscript | None = None
    replacement: Value | None = None
    # Objects of which each turn moves the entry under its own key, as they are behind the loop.
    moved_parts: Environment = field(default_factory=dict)


class ControlContext(NamedTuple):
    """The loops, conditions, handlers and calls around a place.

    `Frame.under` replaces it for what is inside, and only ever adds: what is cold is cold all
    through, however deep a branch for devices is in it.
    """

    loops: tuple[LoopState, ...] = ()  # outermost first
    branches: tuple[Flag, ...] = ()  # the branches of conditions on one name
    consumers: tuple[cst.Call, ...] = ()  # the calls whose arguments are being evaluated
    default_devices: tuple[Placement, ...] = ()  # `with torch.device(…)`
    contract: Declared | None = None  # of the assignment, by its comment
    guarded: bool = False  # by a condition on availability or on a device
    cold: bool = False  # by a condition that makes a loop's body run now and then
    evaluating: bool = False  # `torch.no_grad()`, and branches for evaluation
    caught: bool = False  # `try … except RuntimeError`
    retold: bool = False  # such a `try` that raises another error instead
    expecting: bool = False  # `with pytest.raises(…)`
    guarding: bool = False  # a test whose branch only raises or warns
    chained: bool = False  # an `if … elif …` chain
    choosing: bool = False  # a call that goes another way for a value on the host
    settling: bool = False  # the first pass over a loop
    receiver: Value | None = None  # whose alternatives are gone through, each on its own

    @property
    def loop(self) -> LoopState | None:
        """The innermost loop."""
        return self.loops[-1] if self.loops else None
