"""Chains of method calls: what is called on the result of a call, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from devlint.inference.domain.placement import may_be_accelerator
from devlint.inference.facts import Facts, Hotness, Move
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.wording import is_host

REDUCTIONS = frozenset(
    {"mean", "sum", "max", "min", "amax", "amin", "std", "var", "norm", "prod", "median", "any"}
    | {"all", "argmax", "argmin", "nanmean", "nansum", "logsumexp", "count_nonzero"}
)
# What may stand in between without making the tensor smaller.
_PASSES = frozenset(
    {"detach", "numpy", "float", "double", "flatten", "view", "reshape", "squeeze", "abs", "clone"}
    | {"contiguous", "view_as", "square", "sqrt", "bool", "int", "long"}
)


class Step(NamedTuple):
    """One method call of a chain."""

    call: cst.Call
    method: str


def steps_after(facts: Facts, node: cst.CSTNode) -> Iterator[Step]:
    """The method calls on a node's value, on that of the first call, and so on."""
    chain = path_to(facts.source.tree, node)
    for attribute, call in zip(chain[::2], chain[1::2], strict=False):
        if not (isinstance(attribute, cst.Attribute) and attribute.value is node):
            return
        if not (isinstance(call, cst.Call) and call.func is attribute):
            return
        yield Step(call, attribute.attr.value)
        node = call


def reduction(facts: Facts, move: Move) -> list[Step]:
    """The calls behind a hot copy to the host, up to the one that reduces; else empty. Of what is
    somewhere, the move says that it is not on the host."""
    subject = move.subject
    if move.of_module or not is_host(move.target) or not _is_hot(move):
        return []
    if subject.scalar or subject.element:
        return []
    if subject.placement is not None and not may_be_accelerator(subject.placement):
        return []
    found: list[Step] = []
    for step in steps_after(facts, move.site.node):
        found.append(step)
        if step.method in REDUCTIONS:
            return found
        if step.method not in _PASSES:
            return []
    return []


def _is_hot(move: Move) -> bool:
    looped = move.loop is not None and move.loop.hotness is Hotness.HOT
    return (looped or bool(move.in_step)) and not move.cold
