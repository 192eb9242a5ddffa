"""Bindings: the names that statements bind, and what a value is a part of.

`net, epoch = torch.load(path)` binds two names to parts of what was loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.collect.file_paths import LOADS
from devlint.inference.syntax.text import dotted, every


def bindings(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression | None]]:
    """The names that a statement binds; None for what it does not say."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            whole = isinstance(target.target, cst.Name)
            for name in every(target.target, cst.Name) if _binds(target.target) else ():
                yield name.value, node.value if whole else None
    elif isinstance(node, (cst.NamedExpr, cst.AnnAssign, cst.AugAssign)):
        if isinstance(node.target, cst.Name):
            yield node.target.value, None if isinstance(node, cst.AugAssign) else node.value
    elif isinstance(node, cst.For) and _binds(node.target):
        for name in every(node.target, cst.Name):
            yield name.value, None
    elif isinstance(node, cst.WithItem) and node.asname is not None:
        yield dotted(node.asname.name), node.item


def owner_of(node: cst.BaseExpression) -> cst.BaseExpression:
    """`x` of `x["state"]`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node


def beginning(value: cst.CSTNode) -> cst.CSTNode:
    """What a value is a part of, or a method has made it of: `f()` of `f()["net"].eval()`."""
    while True:
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
            if dotted(value.func) in LOADS:
                return value
            value = value.func.value
        elif isinstance(value, cst.Subscript):
            value = value.value
        else:
            return value


def unpacked(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that get the parts of a value."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
        if isinstance(target, (cst.Tuple, cst.List)):
            yield from ((name.value, node.value) for name in every(target, cst.Name))


def _binds(target: cst.CSTNode) -> bool:
    return isinstance(target, (cst.Name, cst.Tuple, cst.List))
