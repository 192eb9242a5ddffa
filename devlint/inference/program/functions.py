"""Parameters, arguments and summaries: how functions are seen by those who call them."""

from __future__ import annotations

from dataclasses import field

import libcst as cst

from devlint.inference.domain.placement import Placement, Variable
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.value import Value
from devlint.inference.program.meetings import Pending
from devlint.inference.program.outcomes import MovedEntry
from devlint.records import dataclass


class Arguments:
    """The arguments of one call, evaluated."""

    __slots__ = ("callee", "keywords", "open", "positional", "spread")

    def __init__(
        self,
        positional: list[tuple[Value, cst.CSTNode]],
        keywords: dict[str, tuple[Value, cst.CSTNode]],
        is_open: bool = False,
        spread: int | None = None,
        callee: cst.BaseExpression | None = None,
    ) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = is_open  # `*args` or `**kwargs` of unknown content may give more
        self.spread = spread  # the position of the one `*args` of unknown length
        self.callee = callee  # what another call calls with them: `net` of `checkpoint(net, x)`

    def called_by(self, node: cst.Call) -> cst.BaseExpression:
        """What is called with them, as it is written."""
        return self.callee or node.func

    def fitted(self, required: int) -> list[tuple[Value, cst.CSTNode]]:
        """The positional arguments of a call that gives as many as there have to be: what stands
        behind `*xs` of unknown length comes last, `locations(*x.shape[-2:], stride)`."""
        missing = required - len(self.positional)
        if self.spread is None or missing <= 0:
            return self.positional
        before, rest = self.positional[: self.spread], self.positional[self.spread :]
        return [*before, *rest[:1] * missing, *rest]

    def get(self, index: int, name: str) -> Value | None:
        """The argument at a position or by a keyword."""
        if name in self.keywords:
            return self.keywords[name][0]
        if 0 <= index < len(self.positional):
            return self.positional[index][0]
        return None

    def node(self, index: int, name: str) -> cst.CSTNode | None:
        if name in self.keywords:
            return self.keywords[name][1]
        if 0 <= index < len(self.positional):
            return self.positional[index][1]
        return None

    def all(self) -> list[tuple[Value, cst.CSTNode]]:
        return [*self.positional, *self.keywords.values()]


@dataclass(slots=True, eq=False)
class Parameter:
    """A parameter: its device variable, its value inside, its default for the caller."""

    name: str
    variable: Variable | None
    value: Value
    default: Value | None
    keyword_only: bool
    is_device: bool = False
    handles_none: bool = False  # a device that may be None, which has a meaning of its own
    fallback: Placement = None  # the device that stands in for None


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What a function does, in terms of its parameters' devices."""

    parameters: tuple[Parameter, ...]
    result: Value
    pendings: tuple[Pending, ...] = ()
    syncs: tuple[Site, ...] = ()
    fresh: tuple[Value, ...] = ()  # modules in the result: others with each call
    left_default: Placement = None  # the default device, where the function sets it
    # What a method leaves in the attributes of its object; of some only in some of its branches.
    left: dict[str, Value] = field(default_factory=dict)
    kept: dict[str, Value] = field(default_factory=dict)  # the same, as the object keeps it
    moved_entries: tuple[MovedEntry, ...] = ()  # of its arguments, in place
    rest: Parameter | None = None  # `*args`: what no other parameter takes
    named_rest: Parameter | None = None  # `**kwargs`
