"""What is different in the first turn of a loop: `if first: out = x`, `else: out = cat((out, x))`.

What a name held before the loop is not what a branch sees that only later turns can take.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.domain.tensors import DEFAULT, SCALAR, Tensor
from devlint.inference.domain.value import Value, alternatives, union
from devlint.inference.program.frames import Frame
from devlint.inference.program.loops import Environment, LoopState
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import dotted
from devlint.inference.syntax.words import none_test

_COMPARE: dict[type[cst.BaseCompOp], Callable[[Any, Any], bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
}


def first(frame: Frame, node: cst.BaseExpression) -> bool | None:
    """Whether a condition on a loop's own counter holds, while its first turn is walked."""
    for loop in frame.control.loops:
        if loop.entry is None or loop.back is not None or _counter(loop, node) is None:
            continue
        answer = _in_first_turn(loop, node)
        if answer is not None:
            loop.differs = True
            return answer
    return None


def narrow(frame: Frame, node: cst.BaseExpression, outcome: bool) -> None:
    """In a branch that the first turn does not take, names hold what a turn before left there."""
    for loop in frame.control.loops:
        if (
            loop.back is None
            or loop.head is None
            or _in_first_turn(loop, node) is not (not outcome)
        ):
            continue
        path = _subject(node)
        if frame.state.env.get(path) is not loop.head.get(path):
            continue  # this turn changed it
        loop.differs = True
        for name, value in loop.back.items():
            if frame.state.env.get(name) is loop.head.get(name):
                frame.state.env[name] = value


def leave(before: Environment, left: Environment, after: Environment) -> None:
    """Behind a loop whose first turn differs: a tensor on the default device that every turn
    replaces was a placeholder, since whoever wrote that counts on a first turn."""
    for name, old in before.items():
        if type(old) is not Tensor or not old.traits & DEFAULT or old.origin is None:
            continue
        root = old.origin.root
        now = left.get(name)
        if now is not None and not any(
            type(v) is Tensor and v.origin is not None and v.origin.root is root
            for v in alternatives(now)
        ):
            after[name] = now


def add_up(before: Environment, left: Environment, after: Environment) -> None:
    """Behind a loop that adds to a 0-dim tensor: the sum is where its terms are, or somewhere."""
    for name, old in before.items():
        if type(old) is not Tensor or not old.traits & SCALAR or not old.traits & DEFAULT:
            continue
        terms = [v for v in alternatives(left.get(name, old)) if v is not old]
        if terms and all(type(v) is Tensor and v.place != old.place for v in terms):
            after[name] = union(terms)


def _subject(node: cst.BaseExpression) -> str:
    return dotted(node.left if isinstance(node, cst.Comparison) else node)


def _counter(loop: LoopState, node: cst.BaseExpression) -> str | None:
    """The counter of `for i in range(n)`, `for i, x in enumerate(xs)` that a condition is on."""
    over = loop.over
    if not isinstance(loop.node, cst.For) or not isinstance(over, cst.Call) or len(over.args) != 1:
        return None
    target: cst.BaseExpression = loop.node.target
    kind = dotted(over.func)
    if kind == "enumerate" and isinstance(target, cst.Tuple) and target.elements:
        target = target.elements[0].value
    elif kind != "range":
        return None
    name = dotted(target)
    return name if name and name in targets_of(loop.node) and name == _subject(node) else None


def _in_first_turn(loop: LoopState, node: cst.BaseExpression) -> bool | None:
    """Whether a condition holds at the first turn, by what its subject is then."""
    path = _subject(node)
    if not path or loop.entry is None:
        return None
    held: Value | None = Const(0) if _counter(loop, node) is not None else loop.entry.get(path)
    if type(held) is not Const:
        return None
    if not isinstance(node, cst.Comparison):
        return bool(held.value)
    if len(node.comparisons) != 1:
        return None
    target = node.comparisons[0]
    right = target.comparator
    asks_none = none_test(target)
    if asks_none is not None:
        return (held.value is None) is asks_none
    if isinstance(target.operator, (cst.Is, cst.IsNot)):
        return None
    compare = _COMPARE.get(type(target.operator))
    if compare is None or not isinstance(right, cst.Integer) or type(held.value) is not int:
        return None
    return compare(held.value, int(right.value.replace("_", ""), 0))
