"""Gradients that nobody gets: a leaf was moved, and only its copy is kept.

The gradient comes back to the leaf, whatever device it is on.  It is lost where nothing but the
graph holds the leaf any more, and where an optimizer or ``.grad`` is asked about the copy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch

from runtime_guard.core.placement import Move, placement_of
from runtime_guard.core.torch_internals import disable_torch_function
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind

_VIEWS = 20
"""Of more views of views than these nothing is said."""


def watch_leaf(move: Move, leaf: torch.Tensor, copy: torch.Tensor, what: str, where: str) -> None:
    """``copy``, the result of ``move``, is no leaf; ``where`` says from where to where it went."""
    move.says = (
        what,
        f"{observers.describe_tensor(leaf)} requires grad and was moved {where}: the result is not "
        "a leaf",
    )
    node = copy.grad_fn
    move.leaf = node.next_functions[0][0] if node is not None and node.next_functions else None
    _without_holder()


def on_use(move: Move, operand: torch.Tensor) -> None:
    """The copy, or what shares its memory, takes part in something: is there anybody left to get
    the gradient?"""
    if not _leads_to(operand.grad_fn, move.leaf):
        return  # a leaf was made of the copy, or it is looked at without its graph
    accumulates, move.leaf = move.leaf, None
    if torch.is_grad_enabled() and sys.getrefcount(accumulates.variable) <= _without_holder():
        _lost(move, "nothing holds the leaf, which gets the gradient")


def _leads_to(node: Any, leaf: Any) -> bool:
    """Is ``node`` of the copy of ``leaf``, or of views of that?"""
    for _ in range(_VIEWS):
        if node is None or node is leaf:
            return node is not None
        below = node.next_functions
        node = below[0][0] if below else None
    return False


@cache
def _without_holder() -> int:
    """What ``getrefcount`` says of a leaf that the graph alone holds, asked as ``on_use`` does.

    First asked where autograd still records; inside of an operation it does not.
    """
    with disable_torch_function(), observers.unobserved():
        copy = torch.ones(1, requires_grad=True).clone()
    assert copy.grad_fn is not None
    accumulates: Any = copy.grad_fn.next_functions[0][0]
    return sys.getrefcount(accumulates.variable)


def asked_about(tensors: Iterable[torch.Tensor], by: str) -> None:
    """The optimizer or the attribute ``by`` wants a leaf: is one of these the copy of one?"""
    for tensor in tensors:
        placement = placement_of(tensor)
        if placement is not None and placement.move is not None and not tensor.is_leaf:
            _lost(placement.move, f"{by} of it has no gradient")


def _lost(move: Move, why: str) -> None:
    if move.says is not None:
        (what, sentence), move.says, move.leaf = move.says, None, None
        observers.problem(Kind.NON_LEAF_MOVE, what, f"{sentence}, and {why}", stack=move.stack)
