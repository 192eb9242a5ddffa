"""What a function does itself, and the conditions and loops around it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.syntax.text import parts
from devlint.inference.syntax.words import words

# Around a node, outermost first: a statement with a condition or a loop, and the branch of it.
Branches = tuple[tuple[cst.CSTNode, cst.CSTNode], ...]


_SCOPES = frozenset({cst.FunctionDef, cst.ClassDef, cst.Lambda})


_LOOPS = frozenset({cst.For, cst.While})


_CHOICES = frozenset({cst.If, cst.IfExp})


_CASES = frozenset({cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase})


_EXITS = frozenset({cst.Return, cst.Raise})


_DEPENDED_ON = _LOOPS | _CHOICES | {cst.Try, cst.TryStar, cst.Match}


def walk(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, Branches]]:
    """All nodes in the order of the text, but for those of nested functions and classes, with what
    they depend on."""
    waiting: list[tuple[cst.CSTNode, Branches]] = [(node, ())]
    while waiting:
        node, around = waiting.pop()
        yield node, around
        kind = type(node)
        if kind in _SCOPES:
            continue
        below = parts(node)
        below.reverse()
        if kind in _DEPENDED_ON:
            waiting += [
                (part, (*around, (node, part)) if _depends(node, part) else around)
                for part in below
            ]
        else:
            waiting += [(part, around) for part in below]


def _depends(node: cst.CSTNode, part: cst.CSTNode) -> bool:
    """The part may run, or not; that a script is run as one is no question."""
    if isinstance(node, (cst.If, cst.IfExp)):
        return part is not node.test and "__name__" not in words(node.test)
    if isinstance(node, (cst.For, cst.While)):
        return part is node.body
    return type(part) in _CASES


def is_passed(around: Branches, then: Branches) -> bool:
    """What is in these branches has run where the other ones are reached: there is no condition
    but in a loop (`if loss < best: save()`), which has come to an end."""
    same = 0  # the branches that are around both
    for mine, other in zip(around, then, strict=False):
        if mine != other:
            break
        same += 1
    for branch in around[same:]:
        if branch not in then:
            return type(branch[0]) in _LOOPS
    return True


def are_alternatives(around: Branches, other: Branches) -> bool:
    """They are in two branches of one condition, which no loop around it comes to again: what runs
    the one does not run the other."""
    for mine, others in zip(around, other, strict=False):
        if mine[0] is not others[0] or type(mine[0]) in _LOOPS:
            return False
        if mine != others:
            return True
    return False


def unconditional(body: cst.CSTNode) -> frozenset[cst.CSTNode]:
    """Its nodes that whoever runs it comes to: there is no condition around them, and no way out
    before them (`if x is None: return`)."""
    found = set()
    for node, around in walk(body):
        if not around:
            found.add(node)
        elif type(node) in _EXITS:
            break
    return frozenset(found)
