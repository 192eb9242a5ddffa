"""How often a place runs, compared with the work around it, as its function's text shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.placement import may_be_accelerator
from devlint.inference.facts import DataCopy, DataKind, Facts, Loop, Site
from devlint.inference.syntax.text import dotted, parts
from devlint.inference.syntax.words import words
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.sizes import is_count

_LOOPS = (cst.For, cst.While)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef)


def is_set_up(facts: Facts, node: cst.CSTNode) -> bool:
    """In a script and outside of the loops of its function: paid once for all their turns."""
    if not facts.is_script:
        return False  # others may call the function again and again
    for step in path_to(facts.source.tree, node):
        if isinstance(step, (*_LOOPS, *_COMPREHENSIONS)):
            return False
        if isinstance(step, _SCOPES):
            return isinstance(step, cst.FunctionDef) and _has_loop(step)
    return False


def serves_a_loop(facts: Facts, node: cst.CSTNode) -> bool:
    """A loop behind it in the same function calls something in each turn: `state = torch.zeros(n)`,
    and then `for t in steps: state = cell(x[t], state)`. It is paid once for all its turns."""
    inner = node
    for step in path_to(facts.source.tree, node):
        if isinstance(step, (*_LOOPS, *_COMPREHENSIONS, cst.Lambda, cst.ClassDef)):
            return False
        if isinstance(step, cst.BaseSuite) and inner in _before_last_loop(step):
            return True
        if isinstance(step, cst.FunctionDef):
            return False
        inner = step
    return False


@lru_cache(maxsize=8)  # the blocks around one place
def _before_last_loop(block: cst.BaseSuite) -> frozenset[cst.CSTNode]:
    """The statements of a block with one behind them that has such a loop."""
    body: list[cst.CSTNode] = list(block.body)
    last = next((i for i in reversed(range(len(body))) if _works(body[i])), 0)
    return frozenset(body[:last])


def _works(statement: cst.CSTNode) -> bool:
    """There is a loop in a statement, each turn of which calls something."""
    loops = (each for each in _own(statement) if isinstance(each, _LOOPS) and not _is_short(each))
    return any(isinstance(part, cst.Call) for loop in loops for part in _own(loop.body))


def _is_short(loop: cst.For | cst.While) -> bool:
    """By its names a loop over a few layers or modules: it hides nothing."""
    heads = (loop.target, loop.iter) if isinstance(loop, cst.For) else ()
    return any(holds("short-loop", words(head)) for head in heads)


def is_kept_for_later(facts: Facts, node: cst.CSTNode) -> bool:
    """`self.ids = torch.arange(n).to(d)`: the object keeps it for the steps that use it."""
    for step in path_to(facts.source.tree, node):
        if isinstance(step, (*_LOOPS, *_COMPREHENSIONS, *_SCOPES)):
            return False
        if isinstance(step, cst.Assign):
            return all(isinstance(each.target, cst.Attribute) for each in step.targets)
    return False


def stands_for_nothing(facts: Facts, node: cst.CSTNode) -> bool:
    """It is made where there is nothing to compute with, `if count == 0: z = torch.zeros(8)`, or in
    the first turn of several."""
    inner = node
    for step in path_to(facts.source.tree, node):
        if isinstance(step, cst.If):
            is_zero = _compares_with_zero(facts, step.test)
            return is_zero is not None and (step.body if is_zero else step.orelse) is inner
        if isinstance(step, (*_LOOPS, *_SCOPES)):
            return False
        inner = step
    return False


def _compares_with_zero(facts: Facts, test: cst.BaseExpression) -> bool | None:
    """True for `x == 0`, False for `x > 0` and `x != 0`, and for `if count:`, None for any other
    question."""
    if isinstance(test, (cst.Name, cst.Attribute)):
        return False if is_count(facts, test, dotted(test)) else None
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    (target,) = test.comparisons
    if not isinstance(target.comparator, cst.Integer) or target.comparator.value != "0":
        return None
    if isinstance(target.operator, cst.Equal):
        return True
    return False if isinstance(target.operator, (cst.GreaterThan, cst.NotEqual)) else None


def _has_loop(function: cst.FunctionDef) -> bool:
    return any(isinstance(node, _LOOPS) for node in _own(function.body))


def _own(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of a body, but for those of functions and classes inside."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += [part for part in parts(current) if not isinstance(part, _SCOPES)]


def wait_in_turn(facts: Facts, loop: Loop) -> Site | None:
    """Where the host waits for the device in every turn of a loop, if it does."""
    for sync in facts.syncs:
        if not sync.cold and sync.loop is not None and sync.loop.site.node is loop.site.node:
            return sync.site
    for call in facts.card_wide_calls:
        in_loop = call.loop is not None and call.loop.site.node is loop.site.node
        if in_loop and not call.cold and call.call.endswith("synchronize"):
            return call.site
    return None


def goes_through_host(facts: Facts, loop: Loop | None) -> bool:
    """Each turn of the loop hands a tensor as a whole to the host, which works on with it there."""
    return loop is not None and any(
        sync.call == ".cpu()"
        and sync.needed
        and not sync.cold
        and sync.loop is not None
        and sync.loop.site.node is loop.site.node
        for sync in facts.syncs
    )


def is_copied_each_step(copy: DataCopy) -> bool:
    """`torch.tensor(self.rows, device=d)` wherever one call is one step, or one input; how to do
    without data, for one number, is another question."""
    per_input = copy.of_tensor and copy.function is not None and copy.kind is DataKind.KEPT
    return (
        (bool(copy.in_step) or per_input)
        and copy.kind is not DataKind.NUMBER
        and not copy.cold
        and may_be_accelerator(copy.target)
    )
