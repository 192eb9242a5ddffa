"""What a function does itself, and the conditions and loops around it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conditions import words
from devlint.inference.text import parts

# Around a node, outermost first: a statement with a condition or a loop, and the branch of it.
Branches = tuple[tuple[cst.CSTNode, cst.CSTNode], ...]

_SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
_LOOPS = (cst.For, cst.While)


def walk(node: cst.CSTNode, around: Branches = ()) -> Iterator[tuple[cst.CSTNode, Branches]]:
    """All nodes in the order of the text, but for those of nested functions and classes, with what
    they depend on."""
    yield node, around
    if isinstance(node, _SCOPES):
        return
    for part in parts(node):
        inner = (*around, (node, part)) if _depends(node, part) else around
        yield from walk(part, inner)


def _depends(node: cst.CSTNode, part: cst.CSTNode) -> bool:
    """The part may run, or not; that a script is run as one is no question."""
    if isinstance(node, (cst.If, cst.IfExp)):
        return part is not node.test and "__name__" not in words(node.test)
    if isinstance(node, _LOOPS):
        return part is node.body
    return isinstance(part, (cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase))


def is_passed(around: Branches, then: Branches) -> bool:
    """What is in these branches has run where the other ones are reached: there is no condition
    but in a loop (`if loss < best: save()`), which has come to an end."""
    for branch in around:
        if branch not in then:
            return isinstance(branch[0], _LOOPS)
    return True
