"""One turn of what repeats, a step or a pass: what it shows, what else it waits for, and what it
goes through.

    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        number = loss.item()
        bar.set_postfix(loss=number)   # each turn shows it: the host needs it in each
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.facts import Facts, Hotness, Site, Sync
from devlint.inference.syntax.text import called_name, dotted, every, owner_of
from devlint.inference.syntax.words import is_cold
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.calls import calls_of
from devlint_rules.helpers.queues import begins_with, follows, turn_around
from devlint_rules.helpers.stretches import timeline
from devlint_rules.helpers.uses import Use, names_read, use_of

_NESTED = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
_MOST = 3  # assignments from a value to where it is shown


def shown_each_turn(facts: Facts, sync: Sync, around: cst.CSTNode) -> Site | None:
    """Where each turn shows what is read, or what it is added up to; at a reader's own place, or
    under a name that the turn gives it."""
    return _shown(facts, sync.site.node, around)


def _shown(facts: Facts, value: cst.CSTNode, around: cst.CSTNode) -> Site | None:
    waiting = [value]
    known: set[str] = set()
    for _ in range(_MOST):
        found: list[str] = []
        for node in waiting:
            shown, names = _becomes(facts.source.tree, node, around)
            if shown is not None:
                return Site(facts.source, shown)
            found += [name for name in names if name not in known]
        known.update(found)
        waiting = [read for read in names_read(around) if read.value in found]
    return None


def handed_back(facts: Facts, sync: Sync, around: cst.CSTNode) -> Site | None:
    """Where the callers of a function show what it reads and returns; the function itself, where
    none is in sight: they may."""
    if use_of(facts, sync) is not Use.RETURNED or not isinstance(around, cst.FunctionDef):
        return None
    tree, calls = facts.source.tree, calls_of(facts, around)
    shown = [_shown(facts, call, turn_around(tree, call)) for call in calls]
    if not shown:
        return Site(facts.source, around.name)
    return None if None in shown else shown[0]


def _becomes(
    tree: cst.Module, node: cst.CSTNode, around: cst.CSTNode
) -> tuple[cst.CSTNode | None, list[str]]:
    """The call that shows a value in each turn, if one does; else the names that it is bound to."""
    shown: cst.CSTNode | None = None
    names: list[str] = []
    inner = node
    for step in path_to(tree, node):
        if step is around:
            return shown, names
        if isinstance(step, cst.Call) and step.func is not inner:
            if shown is None and holds("showing-callee", dotted(step.func) or called_name(step)):
                shown = step
        elif isinstance(step, (cst.Assign, cst.AugAssign)) and step.value is inner:
            targets = [step.target] if isinstance(step, cst.AugAssign) else step.targets
            names = [n.value for t in targets for n in _bound(t)]
        elif (
            isinstance(step, cst.If) and step.test is not inner and is_cold(step.test)
        ) or isinstance(step, _NESTED):
            return None, []
        inner = step
    return None, []


def _bound(target: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that an assignment binds, or of which it sets a part: `log["loss"] = …`."""
    node = owner_of(target.target if isinstance(target, cst.AssignTarget) else target)
    parts = [each.value for each in node.elements] if isinstance(node, cst.Tuple) else [node]
    return (part for part in parts if isinstance(part, cst.Name))


def loop_beside(facts: Facts, node: cst.CSTNode, around: cst.CSTNode) -> Site | None:
    """A loop in what repeats, beside a node and whenever that is reached, each turn of which waits
    for the device or goes to it for one element: one wait more is one of many."""
    line = timeline(facts, around)
    places = line.places if line is not None else {}
    loops = _waiting_loops(facts)
    inner = [loop for loop in loops if loop in places and loop is not around]
    above = set(path_to(facts.source.tree, node)) if inner else set()
    beside = (loop for loop in inner if loop not in above and follows(facts, node, loop, around))
    found = next(beside, None)
    return loops[found] if found is not None else None


@lru_cache(maxsize=1)  # the file under check
def _waiting_loops(facts: Facts) -> dict[cst.CSTNode, Site]:
    """The hot loops that wait in each turn."""
    of_reads = (s.loop for s in facts.syncs if s.loop is not None and not s.cold)
    of_elements = (access.loop for access in facts.element_accesses)
    hot = (loop for loop in (*of_reads, *of_elements) if loop.hotness is Hotness.HOT)
    return {loop.site.node: loop.site for loop in hot}


def heads_stack(facts: Facts, node: cst.CSTNode, around: cst.CSTNode) -> Site | None:
    """The loop over a module's layers that a function goes through behind a node, if the function
    has queued nothing before: it waits once for all of them, `for block in self.blocks`."""
    if not isinstance(around, cst.FunctionDef) or not begins_with(facts, node, around):
        return None
    above = set(path_to(facts.source.tree, node))
    for loop in every(around.body, cst.For):
        over = [dotted(read) for read in every(loop.iter, cst.Attribute)]
        turns = {name.value for name in every(loop.target, cst.Name)}
        goes_through = any(
            name.value in turns for call in every(loop.body, cst.Call) for name in _called(call)
        )
        is_written = isinstance(loop.iter, (cst.Tuple, cst.List))
        is_own = goes_through and not is_written and any(name.startswith("self.") for name in over)
        if is_own and loop not in above and follows(facts, node, loop, around):
            return Site(facts.source, loop)
    return None


def _called(call: cst.Call) -> Iterator[cst.Name]:
    """`layer` of `layer(x)`, and of `checkpoint(layer.__call__, x)`."""
    yield from every(call.func, cst.Name)
    for argument in call.args:
        if isinstance(argument.value, cst.Attribute) and argument.value.attr.value == "__call__":
            yield from every(argument.value, cst.Name)
