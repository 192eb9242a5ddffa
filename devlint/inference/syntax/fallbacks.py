"""What a function takes for a parameter that is None.

`if device is None: device = x.device`, `device = device or x.device`, and the like.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.syntax.text import code, dotted, every
from devlint.inference.syntax.words import none_test


def fallback(function: cst.FunctionDef | cst.Lambda, name: str) -> cst.BaseExpression | None:
    """The one expression that stands in for a parameter; None where there are several, or none."""
    found = list(_fallbacks(function.body, name))
    return found[0] if len({code(each) for each in found}) == 1 else None


def _fallbacks(body: cst.CSTNode, name: str) -> Iterator[cst.BaseExpression]:
    for choice in every(body, cst.If):
        if _asks(choice.test, name):
            for assign in every(choice.body, cst.Assign):
                if dotted(assign.targets[0].target) == name:
                    yield assign.value
    for chosen in every(body, cst.IfExp):
        asked = _asks(chosen.test, name)
        if asked is not None and dotted(chosen.orelse if asked else chosen.body) == name:
            yield chosen.body if asked else chosen.orelse
    for either in every(body, cst.BooleanOperation):
        if isinstance(either.operator, cst.Or) and dotted(either.left) == name:
            yield either.right


def _asks(test: cst.BaseExpression, name: str) -> bool | None:
    """True for `name is None`, False for `name is not None`."""
    if not isinstance(test, cst.Comparison) or dotted(test.left) != name:
        return None
    return none_test(test.comparisons[0])
