"""Masks: tensors that, by the text of a function, say yes or no for each element.

near = distance < 1
rows = x[near]       # how many rows there are only the values say: the host waits for them
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.syntax.text import called_name, every

_ORDERS = (
    cst.LessThan,
    cst.LessThanEqual,
    cst.GreaterThan,
    cst.GreaterThanEqual,
    cst.Equal,
    cst.NotEqual,
)
_ASKING = frozenset(
    {"isnan", "isinf", "isfinite", "isin", "isclose", "eq", "ne", "gt", "lt", "ge", "le", "bool"}
    | {"logical_not", "logical_and", "logical_or", "logical_xor"}
)


def mask_names(scope: cst.CSTNode) -> frozenset[str]:
    """The names that a scope binds to a comparison, or to what is made of one."""
    found: set[str] = set()
    for each in every(scope, cst.Assign):
        if is_mask(each.value, found):
            found.update(t.target.value for t in each.targets if isinstance(t.target, cst.Name))
    return frozenset(found)


def is_mask(node: cst.BaseExpression, names: Collection[str]) -> bool:
    """`x > 0`, `~seen`, `(x == y).all(dim=1)`, a name that was bound to one, or that says so."""
    while True:
        if isinstance(node, cst.Name):
            return node.value in names or holds("mask-name", node.value)
        if isinstance(node, cst.Attribute):
            return holds("mask-name", node.attr.value)
        if isinstance(node, cst.Comparison):
            return all(isinstance(each.operator, _ORDERS) for each in node.comparisons)
        if isinstance(node, cst.UnaryOperation):
            if not isinstance(node.operator, cst.BitInvert):
                return False
            node = node.expression
        elif isinstance(node, cst.Subscript):  # `masks[i]`
            node = node.value
        elif isinstance(node, cst.BinaryOperation):
            if not isinstance(node.operator, (cst.BitAnd, cst.BitOr)):
                return False
            node = node.left
        elif isinstance(node, cst.Call):
            if called_name(node) in _ASKING:
                return True
            func = node.func
            if not (isinstance(func, cst.Attribute) and func.attr.value in ("all", "any")):
                return False
            if not node.args:  # one answer for all of it
                return False
            node = func.value
        else:
            return False


def is_picked_by_mask(node: cst.Subscript, names: Collection[str]) -> bool:
    """`x[mask]`, `x[i, masks[i]]`."""
    parts = [element.slice for element in node.slice]
    return any(isinstance(part, cst.Index) and is_mask(part.value, names) for part in parts)
