"""Plain values: numbers and texts, which are on no device.

`{"epoch": 3, "loss": loss.item()}` holds nothing else.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.file_paths import LOADS
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.syntax.text import dotted, every

_PLAIN = ("int", "float", "len", "str", "bool", "round", *LOADS)


_PLAIN_METHODS = ("item", "tolist", "numel", "size")


def is_number(node: cst.BaseExpression, info: ClassInfo | None) -> bool:
    """A number, a text, or a literal of such; or an attribute that never holds anything else."""
    if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString)):
        return True
    if isinstance(node, cst.UnaryOperation):
        return is_number(node.expression, info)
    if isinstance(node, (cst.Dict, cst.Tuple)):
        return bool(node.elements) and all(is_number(e.value, info) for e in node.elements)
    if isinstance(node, cst.Call):
        method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        return dotted(node.func) in _PLAIN or method in _PLAIN_METHODS
    owner, _, name = dotted(node).partition(".")
    if owner != "self" or not name or info is None:
        return False
    values = [value for _, value in info.assigned.get(name, ())]
    values += [
        each.value
        for each in every(info.node, cst.AugAssign)
        if dotted(each.target) == dotted(node)
    ]
    return bool(values) and all(
        not isinstance(value, cst.Attribute) and is_number(value, info) for value in values
    )
