"""The queue of the device at a wait: drained just before, drained again at once, or neither.

    def step(model, x, optimizer):
        x = x.to("cuda")             # the host waits: it comes from pageable memory
        if x.min() < 0: ...          # nothing was queued since: this wait is for free
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        return loss.item()           # so is this one, where the caller asks `step` for the next

A wait costs what the host could have queued meanwhile. Beside another one that stays, with next to
nothing queued in between, the host gains nothing by doing without it. What the calls in sight do
before and behind a function belongs to its own beginning and end.
"""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.facts import Facts, Site
from devlint.inference.syntax.text import called_name, every, names_in
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.calls import calls_of
from devlint_rules.helpers.rewrites import argument
from devlint_rules.helpers.standing_waits import Moment, callee_name
from devlint_rules.helpers.stretches import (
    Branches,
    Event,
    Timeline,
    names_bound,
    timeline,
)

_LOOPS = (cst.For, cst.While, cst.CompFor)
_INNER = (cst.For, cst.While, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_MOST = 2  # calls from a wait to one that it stands beside


class Counted(enum.Enum):
    """Which waits are taken to stay."""

    NEEDED = enum.auto()  # reads that the host needs
    BATCHES = enum.auto()  # those, and the copy of the next batch
    NUMBERS = enum.auto()  # reads of any number, be they needed or DEV303's to mend
    ANY = enum.auto()  # these, and the copies of batches: all that drains a queue


class _Beside(NamedTuple):
    """The next wait in one direction, with nothing queued in between; else whether nothing was
    queued up to where the body begins or ends."""

    wait: cst.CSTNode | None
    is_open: bool = False


class _Asked(NamedTuple):
    """What is asked of a file: whether reads of any number count as waits, which moments drain the
    queue before a node, and which do behind it."""

    facts: Facts
    reads: bool
    before: frozenset[Moment]
    behind: frozenset[Moment]


_READ = frozenset({Moment.READ})
_ALL = frozenset({Moment.READ, Moment.COPY})
_OF_SIZE = frozenset({Moment.SIZED, Moment.WEIGHABLE})


def waits_anyway(
    facts: Facts, node: cst.CSTNode, around: cst.CSTNode, counted: Counted, sized: bool = False
) -> Site | None:
    """Where the host waits for the device in any case, with next to nothing queued between that and
    a node: at once behind it, or before. `around`: the loop, or the function, that repeats;
    `sized`: rows that a mask picks count, and what else the host has to ask the number of."""
    reads = counted in (Counted.NUMBERS, Counted.ANY)
    waits = _ALL if counted in (Counted.BATCHES, Counted.ANY) else _READ
    if sized:
        waits |= _OF_SIZE if reads else {Moment.SIZED}
    asked = _Asked(facts, reads, waits, waits)
    inner = _loop_within(facts.source.tree, node, around)
    for side in (_behind, _before):
        found = side(asked, node, around)
        if found is not None and _is_in(facts.source.tree, found, inner):
            return Site(facts.source, found)
    return None


def _loop_within(tree: cst.Module, node: cst.CSTNode, around: cst.CSTNode) -> cst.CSTNode | None:
    """The loop around a node inside of what repeats: each turn waits there, and has to wait for
    something else anyway."""
    for step in path_to(tree, node):
        if step is around:
            return None
        if isinstance(step, _INNER):
            return step
    return None


def _is_in(tree: cst.Module, node: cst.CSTNode, loop: cst.CSTNode | None) -> bool:
    return loop is None or loop in path_to(tree, node)


def ends_turn(facts: Facts, node: cst.CSTNode, around: cst.CSTNode) -> bool:
    """Nothing is queued behind a node in the turn, or the call, that repeats."""
    line = timeline(facts, around)
    if line is None or node not in line.places:
        return False
    return all(event.moment is not Moment.WORK for event in _later(line, node))


def begins_with(facts: Facts, node: cst.CSTNode, around: cst.CSTNode) -> bool:
    """Nothing is queued before a node in the turn, or the call, that repeats."""
    line = timeline(facts, around)
    if line is None or node not in line.places:
        return False
    before = line.events[: _beginning(line, node)]
    return all(event.moment is not Moment.WORK for event in before)


def follows(facts: Facts, node: cst.CSTNode, other: cst.CSTNode, around: cst.CSTNode) -> bool:
    """Whenever a node is reached in a turn, so is another one, before or behind."""
    line = timeline(facts, around)
    if line is None or node not in line.places or other not in line.places:
        return False
    return set(line.places[other][1]) <= set(line.places[node][1])


def _behind(
    asked: _Asked, node: cst.CSTNode, around: cst.CSTNode, calls: int = 0
) -> cst.CSTNode | None:
    """The next wait: in this turn, at the beginning of the next one, or where the callers go on."""
    line = timeline(asked.facts, around, asked.reads)
    if line is None or node not in line.places:
        return None
    own = line.places[node][1]
    found = _first(_later(line, node), own, node, asked.behind)
    if found.wait is not None or not found.is_open:
        return found.wait
    callers = calls_of(asked.facts, around) if calls < _MOST else ()
    if callers:
        turns = ((call, turn_around(asked.facts.source.tree, call)) for call in callers)
        return _of_all(_behind(asked, *turn, calls + 1) for turn in turns)
    first = line.events[: _end(line, node)]  # a call of the function begins with its own
    wait = _first(first, (), None if calls else node, asked.behind).wait
    is_next = (
        wait is not None
        and _repeats(asked.facts.source.tree, around)
        and not _fetches(asked.facts.source.tree, around)
    )
    return wait if is_next else None


def _before(
    asked: _Asked, node: cst.CSTNode, around: cst.CSTNode, calls: int = 0
) -> cst.CSTNode | None:
    """The wait right before, with nothing queued since: in this turn, in the callers, or at the end
    of the turn before."""
    line = timeline(asked.facts, around, asked.reads)
    if line is None or node not in line.places:
        return None
    own, start = line.places[node][1], _beginning(line, node)
    found = _first(line.events[:start][::-1], own, node, asked.before)
    if found.wait is not None or not found.is_open:
        return found.wait
    callers = calls_of(asked.facts, around) if calls < _MOST else ()
    if callers:
        turns = ((call, turn_around(asked.facts.source.tree, call)) for call in callers)
        return _of_all(_before(asked, *turn, calls + 1) for turn in turns)
    return _first(line.events[:start:-1], (), node, asked.before).wait


def _of_all(waits: Iterator[cst.CSTNode | None]) -> cst.CSTNode | None:
    """The first of some waits, if there is one in each place; it is not asked further than that."""
    first = next(waits, None)
    return first if first is not None and all(wait is not None for wait in waits) else None


def _repeats(tree: cst.Module, around: cst.CSTNode) -> bool:
    """The end of a turn is followed by the next one: of a loop, or of a function that takes a whole
    step. Other functions are parts of one, and work is queued between two calls."""
    return isinstance(around, _LOOPS) or around in _whole_steps(tree)


@lru_cache(maxsize=1)  # the file under check
def _whole_steps(tree: cst.Module) -> frozenset[cst.CSTNode]:
    """The functions of a file in which something goes backward."""
    passes = (call for call in every(tree, cst.Call) if called_name(call) == "backward")
    steps = (step for call in passes for step in path_to(tree, call))
    return frozenset(step for step in steps if isinstance(step, cst.FunctionDef))


def _beginning(line: Timeline, node: cst.CSTNode) -> int:
    """How many events come before a node."""
    return bisect_left(line.numbers, line.places[node][0])


def _end(line: Timeline, node: cst.CSTNode) -> int:
    """How many events come before a node, or with it."""
    return bisect_right(line.numbers, line.places[node][0])


def _later(line: Timeline, node: cst.CSTNode) -> list[Event]:
    return line.events[_end(line, node) :]


def _first(
    events: list[Event], own: Branches, node: cst.CSTNode | None, waits: frozenset[Moment]
) -> _Beside:
    """The first wait of some events, unless work comes first. `own`: the conditions around where
    one comes from; a wait under others may not be reached, nor work where they exclude it."""
    for event in events:
        if event.node is node:
            continue
        if event.moment is Moment.WORK and not _excludes(own, event):
            return _Beside(None)
        if event.moment in waits and set(event.branches) <= set(own):
            return _Beside(event.node)
    return _Beside(None, is_open=True)


def _excludes(own: Branches, other: Event) -> bool:
    """Both stand in different branches of one condition."""
    taken = dict(own)
    return any(taken.get(test, branch) != branch for test, branch in other.branches)


def turn_around(tree: cst.Module, call: cst.CSTNode) -> cst.CSTNode:
    """The loop around a call, else the function, else the file."""
    kinds = (*_LOOPS, cst.FunctionDef, cst.Lambda)
    return next((step for step in path_to(tree, call) if isinstance(step, kinds)), tree)


def _fetches(tree: cst.Module, around: cst.CSTNode) -> bool:
    """The loop goes over a loader in sight that has no worker processes: between two turns the host
    makes a batch, and the device may work meanwhile."""
    if not isinstance(around, cst.For):
        return False
    loaders = _loaders_without_workers(tree)
    direct = (call for call in every(around.iter, cst.Call) if _is_loader_without_workers(call))
    return next(direct, None) is not None or not loaders.isdisjoint(names_in(around.iter))


@lru_cache(maxsize=1)  # the file under check
def _loaders_without_workers(tree: cst.Module) -> frozenset[str]:
    """The names that a file binds to such loaders."""
    return names_bound(tree, _is_loader_without_workers)


def _is_loader_without_workers(call: cst.Call) -> bool:
    return holds("loader-class", callee_name(call)) and argument(call, "num_workers") is None
