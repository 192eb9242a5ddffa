"""Tuples of positions: an index in several dimensions, as `torch.where(mask)` gives one.

    ends = torch.arange(len(rows)), (rows == stop).nonzero()[:, 1]
    out = net(rows, ends=ends)          # perhaps no more than `hidden[ends]`

An index may be on the host, whatever it picks from: a callee out of sight need not bring it
together with anything.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.syntax.text import called_name, every

# What makes positions, whatever it is given; other integers may stand for words.
_LOCATING = frozenset(
    {"nonzero", "argwhere", "argmax", "argmin", "argsort", "randperm", "searchsorted"}
    | {"tril_indices", "triu_indices"}
)


def is_index_tuple(value: Value, depth: int = 2) -> bool:
    """A tuple that holds tensors of positions and no others, or a list with one in it."""
    for each in alternatives(value):
        if type(each) is not Sequence or not each.items:
            continue
        held = [item for item in each.items if type(item) is Tensor]
        if each.kind == "tuple" and held and all(map(_is_position, held)):
            return True
        if depth and any(is_index_tuple(item, depth - 1) for item in each.items):
            return True
    return False


def _is_position(tensor: Tensor) -> bool:
    """What made it, or what it was computed of, gives positions."""
    steps = tensor.origin.chain() if tensor.origin is not None else ()
    calls = (step.node for step in steps if isinstance(step.node, cst.Call))
    return any(_gives_positions(call) for call in calls)


def _gives_positions(call: cst.Call) -> bool:
    name = called_name(call)
    if name == "where":
        return len(call.args) == 1
    if name == "arange":  # of sizes, as far as it is told no dtype
        told = any(argument.keyword is not None for argument in call.args)
        return not told and not any(True for _ in every(call, cst.Float))
    return name in _LOCATING
