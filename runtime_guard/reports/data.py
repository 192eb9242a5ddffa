"""What every report is made of: events by source line, and where parameters live."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from runtime_guard.core.sites import Site
from runtime_guard.recording.events import NOTED, PROBLEMS, Event, Kind


@dataclass
class LineCost:
    """One source line and what happened there."""

    file: str
    line: int
    function: str
    source: str
    transfers: int = 0
    bytes: int = 0
    syncs: int = 0
    seconds: float = 0.0
    problems: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def cost(self) -> tuple[int, int, int, float]:
        """What lines are ordered by: bugs, then bytes, then syncs and transfers, then time."""
        return (len(self.problems), *self.traffic)

    @property
    def traffic(self) -> tuple[int, int, float]:
        """What lines are ordered by when bugs do not matter."""
        return self.bytes, self.syncs + self.transfers, self.seconds


def costs_by_line(events: Iterable[Event]) -> list[LineCost]:
    """The lines of ``events``, the most expensive first."""
    lines: dict[tuple[str, int], LineCost] = {}
    for event in events:
        if event.kind in NOTED:
            continue
        site = event.site
        key = (site.file, site.line)
        cost = lines.get(key)
        if cost is None:
            source = linecache.getline(site.file, site.line).strip()
            cost = lines[key] = LineCost(site.file, site.line, site.function, source)
        cost.events.append(event)
        cost.seconds += event.seconds
        if event.kind is Kind.TRANSFER:
            cost.transfers += event.count
            cost.bytes += event.bytes
        elif event.kind is Kind.SYNC:
            cost.syncs += event.count
        elif event.kind in PROBLEMS:
            cost.problems.append(event)
    return sorted(lines.values(), key=lambda c: (c.cost, c.file, -c.line), reverse=True)


@dataclass
class LoopCost:
    """One loop of the user's, with what happened in it and in all that it calls."""

    file: str
    line: int
    source: str
    transfers: int = 0
    bytes: int = 0
    syncs: int = 0

    @property
    def traffic(self) -> tuple[int, int]:
        """What loops are ordered by."""
        return self.bytes, self.syncs + self.transfers


def costs_by_loop(events: Iterable[Event]) -> list[LoopCost]:
    """The innermost loops around transfers and syncs, the most expensive first."""
    loops: dict[tuple[str, int], LoopCost] = {}
    for event in events:
        if event.kind not in (Kind.TRANSFER, Kind.SYNC):
            continue
        key = next((loop for loop in map(_loop_around, event.stack) if loop is not None), None)
        if key is None:
            continue
        cost = loops.get(key)
        if cost is None:
            cost = loops[key] = LoopCost(*key, linecache.getline(*key).strip())
        if event.kind is Kind.TRANSFER:
            cost.transfers += event.count
            cost.bytes += event.bytes
        else:
            cost.syncs += event.count
    return sorted(loops.values(), key=lambda c: (c.traffic, c.file, -c.line), reverse=True)


def _loop_around(site: Site) -> tuple[str, int] | None:
    """File and line of the innermost loop that repeats ``site``, in its own function."""
    inside = [scope for scope in _scopes_of(site.file) if scope.first <= site.line <= scope.last]
    innermost = max(inside, key=lambda scope: scope.first, default=None)
    if innermost is None or not innermost.is_loop:
        return None
    return site.file, innermost.line


@dataclass(frozen=True)
class _Scope:
    """Lines that a loop repeats, or those of a function: its body is not repeated where it is."""

    line: int
    first: int
    last: int
    is_loop: bool


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _scopes_of(file: str) -> list[_Scope]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    scopes = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor, *_FUNCTIONS)):
            first = node.body[0].lineno
        elif isinstance(node, ast.While):  # its condition is repeated, too
            first = node.lineno
        else:
            continue
        last = node.body[-1].end_lineno or first
        scopes.append(_Scope(node.lineno, first, last, not isinstance(node, _FUNCTIONS)))
    return scopes
