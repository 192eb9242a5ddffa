"""The names that loops bind, and what their bodies show that they go through."""

from __future__ import annotations

import libcst as cst

from devlint.inference.syntax.text import every


def targets_of(loop: cst.CSTNode) -> set[str]:
    """The names that a loop binds itself."""
    if isinstance(loop, cst.For):
        return _names(loop.target)
    found: set[str] = set()
    clause = getattr(loop, "for_in", None)
    while isinstance(clause, cst.CompFor):
        found |= _names(clause.target)
        clause = clause.inner_for_in
    return found


def _names(target: cst.BaseExpression) -> set[str]:
    if isinstance(target, (cst.Tuple, cst.List)):
        return {name for element in target.elements for name in _names(element.value)}
    return {target.value} if isinstance(target, cst.Name) else set()


def reads_gradients(loop: cst.CSTNode) -> bool:
    """`p.grad` of each `p`: the loop goes through what is trained, and there are gradients once per
    step."""
    targets = targets_of(loop)
    written = {id(each.target) for each in every(loop, cst.AssignTarget)} if targets else ()
    return any(
        read.attr.value == "grad"
        and isinstance(read.value, cst.Name)
        and read.value.value in targets
        and id(read) not in written
        for read in (every(loop, cst.Attribute) if targets else ())
    )
