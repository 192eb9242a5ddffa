"""Stretches of a step: the work that is queued between one wait for the device and the next.

    for x, y in loader:
        x = x.to(device)          # the host waits: it comes from pageable memory
        loss = model(x).mean()    # work is queued
        loss.backward()
        optimizer.step()
        total += loss.item()      # the host waits; and in the next turn at once again

A wait costs what the host could have queued meanwhile. Where nothing but numbers are handled
between it and another wait, which stays, the host gains nothing by doing without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.placement import ACCELERATORS
from devlint.inference.facts import Facts
from devlint.inference.syntax.evaluation_order import in_order
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import dotted, every, last_statement, names_in
from devlint.inference.syntax.words import is_cold
from devlint_rules.helpers.masks import mask_names
from devlint_rules.helpers.needs import asks_for_error
from devlint_rules.helpers.rewrites import argument, move_target, receiver
from devlint_rules.helpers.standing_waits import (
    Moment,
    Waits,
    callee_name,
    makes_of_data,
    rows_at,
    waits_of,
)


class Event(NamedTuple):
    """One node at which something happens, and the conditions that it stands under."""

    node: cst.CSTNode
    moment: Moment
    branches: Branches


class Timeline(NamedTuple):
    """The events of one body in the order of evaluation, with the number of each, and the number
    and the branches of every node."""

    events: list[Event]
    numbers: list[int]
    places: dict[cst.CSTNode, tuple[int, Branches]]


Branches = tuple[tuple[cst.CSTNode, int], ...]  # conditions, and which of their branches
_Part = tuple[cst.CSTNode, Branches]

_LATER = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
_LOOPS = (cst.For, cst.While, cst.CompFor)
_DISTRIBUTION = re.compile(r"(torch\.)?distributions\.(\w+\.)?[A-Z]\w*")
_READS = frozenset({"cpu", "item", "numpy", "tolist"})


@lru_cache(maxsize=1)  # the file under check
def _known(
    tree: cst.CSTNode,
) -> tuple[dict[bool, Waits], dict[tuple[cst.CSTNode, bool], Timeline | None]]:
    return {}, {}


def timeline(facts: Facts, around: cst.CSTNode, reads: bool = False) -> Timeline | None:
    """The events of a body; `reads`: any read of a number counts as a wait that stays. None in the
    midst of it: the body calls itself."""
    tree = facts.source.tree
    waits, lines = _known(tree)
    if reads not in waits:
        waits[reads] = waits_of(facts, reads)
    key = around, reads
    if key not in lines:
        lines[key] = None
        lines[key] = _walked(facts, around, reads, waits[reads], _small(facts, tree))
    return lines[key]


def _walked(
    facts: Facts, around: cst.CSTNode, reads: bool, waits: Waits, small: _Small
) -> Timeline:
    """The nodes of a body in the order of evaluation: what a node is made of comes before it."""
    events: list[Event] = []
    numbers: list[int] = []
    places: dict[cst.CSTNode, tuple[int, Branches]] = {}
    fresh, callees = _fresh_names(around), facts.callees
    masks = mask_names(around)
    waiting: list[tuple[cst.CSTNode, Branches, bool]] = [(around, (), False)]
    while waiting:
        node, branches, is_done = waiting.pop()
        if is_done:
            places[node] = len(places), branches
            called = node in callees and node not in waits
            inner = timeline(facts, callees[node], reads) if called else None
            moments = _inside(inner) if inner is not None else (_moment(node, waits, fresh, small),)
            if type(node) is cst.Subscript and node not in waits:
                moments = (rows_at(facts, node, masks),)
            if node in small.guarded and moments == (Moment.COPY,):  # `if cuda: x = x.cuda()`
                branches = branches[:-1]
            for moment in moments:
                if moment is not Moment.OTHER:
                    events.append(Event(node, moment, branches))
                    numbers.append(places[node][0])
            continue
        waiting.append((node, branches, True))
        if isinstance(node, _LATER) and node is not around:
            continue
        parts = _parts_of(node, branches, node is around)
        waiting += [(part, under, False) for part, under in reversed(parts)]
    return Timeline(events, numbers, places)


def _inside(line: Timeline) -> tuple[Moment, ...]:
    """What a call of a function of the same file does, in order: its work, and the waits that no
    condition of its own is around."""
    found = (e.moment for e in line.events if e.moment is Moment.WORK or not e.branches)
    return tuple(moment for moment, _ in groupby(found))


def _parts_of(node: cst.CSTNode, branches: Branches, is_around: bool) -> list[_Part]:
    """What a node is made of, in order, and under which conditions each part is reached."""
    if not isinstance(node, (cst.If, cst.IfExp)):
        parts = in_order(node)
        if is_around and isinstance(node, cst.For):
            parts.remove(node.iter)  # asked for once
        return [(part, branches) for part in parts]
    taken: list[_Part] = [(node.test, branches)]
    if not (is_cold(node.test) or _leaves(node.body)):  # not in the ordinary turn
        taken.append((node.body, (*branches, (node, 0))))
    if node.orelse is not None:
        taken.append((node.orelse, (*branches, (node, 1))))
    return taken


def _leaves(body: cst.CSTNode) -> bool:
    """The branch ends in `break`, `continue`, `return` or `raise`."""
    last = last_statement(body) if isinstance(body, cst.BaseSuite) else None
    return isinstance(last, (cst.Break, cst.Continue, cst.Return, cst.Raise))


class _Small(NamedTuple):
    """What is neither work nor a wait that stays."""

    criteria: frozenset[str]  # the names that a file binds to losses of `torch.nn`
    unchanging: frozenset[cst.CSTNode]  # copies of what never changes, which can be avoided, too
    guarded: frozenset[cst.CSTNode]  # copies under a condition on the device


def _small(facts: Facts, tree: cst.Module) -> _Small:
    unchanging = frozenset(copy.site.node for copy in facts.data_copies)
    guarded = frozenset(move.site.node for move in facts.moves if move.guarded)
    return _Small(_criteria(tree), unchanging, guarded)


def _moment(node: cst.CSTNode, waits: Waits, fresh: frozenset[str], small: _Small) -> Moment:
    if node in waits:
        return waits[node]
    if node in small.unchanging:
        return Moment.OTHER
    if isinstance(node, cst.Assert) and asks_for_error(node.test):
        return Moment.READ  # a check stays
    if not isinstance(node, cst.Call):
        return Moment.OTHER
    if _copies_data(node) or _brings_turn(node, fresh):
        return Moment.COPY
    name = callee_name(node)
    if _DISTRIBUTION.fullmatch(name) and argument(node, "validate_args") is None:
        return Moment.SIZED  # it asks whether its parameters are valid ones
    is_light = holds("light-callee", name) or name in small.criteria or _is_for_host(node)
    return Moment.OTHER if is_light else Moment.WORK


def names_bound(tree: cst.Module, made: Callable[[cst.Call], bool]) -> frozenset[str]:
    """The names that a file binds to what such calls make."""
    return frozenset(
        dotted(target.target)
        for each in every(tree, cst.Assign)
        if isinstance(each.value, cst.Call) and made(each.value)
        for target in each.targets
    )


@lru_cache(maxsize=1)  # the file under check
def _criteria(tree: cst.Module) -> frozenset[str]:
    """The names that a file binds to losses of `torch.nn`, each a few small kernels."""
    return names_bound(tree, _makes_criterion)


def _makes_criterion(made: cst.Call) -> bool:
    """`nn.MSELoss()`, `nn.CrossEntropyLoss(weight=w).cuda()`."""
    name = dotted(made.func)
    if not name and isinstance(made.func, cst.Attribute):
        inner = made.func.value
        return isinstance(inner, cst.Call) and _makes_criterion(inner)
    return name.endswith("Loss") and name.removeprefix("torch.").startswith("nn.")


def _is_for_host(call: cst.Call) -> bool:
    """`f1_score(labels.cpu(), found.cpu())`: all that it is given is the host's."""
    return bool(call.args) and all(map(_is_of_host, (arg.value for arg in call.args)))


def _is_of_host(value: cst.BaseExpression) -> bool:
    """A number, a text, or what was read or copied from the device."""
    if isinstance(value, cst.Call):
        return callee_name(value).rpartition(".")[2] in _READS
    return isinstance(value, (cst.BaseNumber, cst.BaseString))


def _copies_data(node: cst.Call) -> bool:
    """`torch.tensor(labels, device=d)`: what Python holds is copied, and the host waits for it."""
    return argument(node, "device") is not None and makes_of_data(node)


def _brings_turn(node: cst.Call, fresh: frozenset[str]) -> bool:
    """`graph.to(device)`, `to_device(graph, device)`, of whatever the loop yields in each turn."""
    target, moved = move_target(node), receiver(node)
    if target is None and len(node.args) == 2:
        moved, target = node.args[0].value, _device_named(node.args[1].value)
    if target is None or moved is None or target.strip("'\"") == "cpu" or _is_dtype(target):
        return False
    if argument(node, "non_blocking") is not None:
        return False
    names = {name.partition(".")[0] for name in names_in(moved)}
    return not names.isdisjoint(fresh) and next(every(moved, cst.Call), None) is None


def _device_named(node: cst.BaseExpression) -> str | None:
    """The text of an expression that by its name is a device: `self.device`, `"cuda"`."""
    if isinstance(node, cst.SimpleString):
        kind = str(node.evaluated_value).partition(":")[0]
        return node.value if kind in ACCELERATORS else None
    name = dotted(node)
    return name if holds("device-name", name.rpartition(".")[2]) else None


def _is_dtype(target: str) -> bool:
    """`torch.long`, `x.dtype`: converted where it is."""
    is_plain = target.startswith("torch.") and "(" not in target
    return is_plain or target.endswith("dtype")


def _fresh_names(around: cst.CSTNode) -> frozenset[str]:
    """The names that a loop binds to another value in each turn: its targets, and those of loops
    over what these hold."""
    found = set(targets_of(around))
    inner: list[cst.For | cst.CompFor] = []
    if found:
        inner += [*every(around, cst.For), *every(around, cst.CompFor)]
    for each in inner:
        if each is not around and any(n.partition(".")[0] in found for n in names_in(each.iter)):
            found |= _bound_by(each)
    return frozenset(found)


def _bound_by(clause: cst.For | cst.CompFor) -> set[str]:
    return {name.value for name in every(clause.target, cst.Name)}
