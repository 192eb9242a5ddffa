"""In which order a body is evaluated, and which loops are around each part of it."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from devlint.inference.syntax.text import parts
from devlint.records import NamedTuple

_LATER = frozenset({cst.FunctionDef, cst.Lambda, cst.ClassDef})  # whose bodies run when called

Loops = tuple[cst.For | cst.While, ...]  # outermost first


class Moment(NamedTuple):
    """When a node is evaluated: after all that it is made of, and before what stands below it."""

    number: int
    loops: Loops


@lru_cache(maxsize=1)  # several ask, each about the function that was just left
def moments(body: cst.CSTNode) -> dict[cst.CSTNode, Moment]:
    """The moment of each node of a body. What nested functions do has another time, and none here.

    `model(x).item()`: `x` comes first, then `model(x)`, then the whole.
    """
    found: dict[cst.CSTNode, Moment] = {}
    waiting: list[tuple[cst.CSTNode, Loops, bool]] = [(body, (), False)]
    while waiting:
        node, loops, is_done = waiting.pop()
        if is_done:
            found[node] = Moment(len(found), loops)
            continue
        waiting.append((node, loops, True))
        if type(node) in _LATER and node is not body:
            continue
        inside = (*loops, node) if type(node) is cst.For or type(node) is cst.While else loops
        for part in reversed(in_order(node)):
            is_header = type(node) is cst.For and part is node.iter
            waiting.append((part, loops if is_header else inside, False))
    return found


def in_order(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What a node holds; an assignment evaluates its value first."""
    if type(node) is cst.Assign:
        return [node.value, *node.targets]
    if type(node) is cst.For:
        rest = [node.orelse] if node.orelse is not None else []
        return [node.iter, node.target, node.body, *rest]
    return parts(node)
