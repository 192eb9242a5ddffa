"""The control context: what else is around a place, of loops, conditions, handlers and calls."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.placement import Placement
from devlint.inference.domain.value import Value
from devlint.inference.program.contracts import Declared
from devlint.inference.program.loops import LoopState
from devlint.records import NamedTuple


class ControlContext(NamedTuple):
    """The loops, conditions, handlers and calls around a place.

    `Frame.under` replaces it for what is inside, and only ever adds: what is cold is cold all
    through, however deep a branch for devices is in it.
    """

    loops: tuple[LoopState, ...] = ()  # outermost first
    consumers: tuple[cst.Call, ...] = ()  # the calls whose arguments are being evaluated
    default_devices: tuple[Placement, ...] = ()  # `with torch.device(…)`
    contract: Declared | None = None  # of the assignment, by its comment
    conditional: bool = False  # in a suite of an `if`
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
