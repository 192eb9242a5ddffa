"""Branches: what holds in one from its first line on, by its condition and by those before it.

    if x is None:
        mode = "none"
    if mode == "none":
        ...

In the second one `x` is None.
"""

from __future__ import annotations

import functools

import libcst as cst

from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, both, either
from devlint.inference.domain.value import Union, Value, possible
from devlint.inference.interpreter.comparisons import compare, truth_of
from devlint.inference.interpreter.narrowing import narrow
from devlint.inference.program import tests
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted


def enter_branch(
    frame: Frame, node: cst.BaseExpression, outcome: bool, when: PathCondition | None = None
) -> None:
    """Go on where a condition came out as `outcome`. `when`: what that says, if it was asked."""
    if when is None:
        when = tests.of_test(frame, node)[not outcome]
    tests.enter(frame, _implied(frame, node, outcome))
    tests.enter(frame, when)
    for name in frame.state.flags:
        tests.enter(frame, _settled(frame, name))
    narrow(frame, node, outcome)


def _settled(frame: Frame, name: str) -> PathCondition:
    """What a flag is here that earlier branches set: behind `if as_list: as_array = False`, of
    `as_array` where `as_list` is true."""
    value = frame.state.env.get(name)
    if type(value) is not Union:
        return ALWAYS
    held = possible(value, frame.state.when)
    outcome = truth_of(held) if held is not value else None
    return ALWAYS if outcome is None else tests.of_name(frame, name, outcome)


def _implied(frame: Frame, node: cst.BaseExpression, outcome: bool) -> PathCondition:
    """What holds besides, by the branches that gave the test's subject such a value: behind
    `if x is None: mode = "none"`, of `x` where `mode == "none"`."""
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        return _implied(frame, node.expression, not outcome)
    if type(node) is cst.BooleanOperation:
        if isinstance(node.operator, cst.And) is not outcome:
            return ALWAYS
        left = _implied(frame, node.left, outcome)
        return both(left, _implied(frame, node.right, outcome))
    subject, test = node, truth_of
    if type(node) is cst.Comparison and len(node.comparisons) == 1:
        target, subject = node.comparisons[0], node.left
        if not isinstance(target.comparator, (cst.Name, cst.SimpleString, cst.Integer)):
            return ALWAYS
        right = frame.eval(target.comparator)
        test = functools.partial(_compared, target.operator, right)
    if not dotted(subject):
        return ALWAYS
    value = frame.state.env.get(dotted(subject))
    if type(value) is not Union:
        return ALWAYS
    pairs = zip(value.alternatives, value.whens, strict=True)
    fitting = [when for v, when in pairs if test(v) is not (not outcome)]
    return functools.reduce(either, fitting) if fitting else ALWAYS


def _compared(operator: cst.BaseCompOp, right: Value, left: Value) -> bool | None:
    return compare(operator, left, right)
