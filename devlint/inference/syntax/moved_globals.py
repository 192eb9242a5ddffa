"""Globals that a function moves where they are: `net.to(device)` of a module.

Whoever reads such a global in another function may find it in either place: whether the function
was called before is for the program to say.
"""

from __future__ import annotations

from collections.abc import Container

import libcst as cst

from devlint.inference.syntax.text import every

MOVING_METHODS = ("to", "cuda", "cpu", "xpu", "npu")  # that move a tensor, or a module
MOVES = tuple(f".{method}(" for method in MOVING_METHODS)  # as they stand in a text


def moved_globals(function: cst.FunctionDef, names: Container[str]) -> set[str]:
    """Those of the names that a function moves, and that it does not bind to something of its own:
    `def prepare(): net.to(device)`."""
    moved = {
        call.func.value.value
        for call in every(function.body, cst.Call)
        if isinstance(call.func, cst.Attribute)
        and isinstance(call.func.value, cst.Name)
        and call.func.attr.value in MOVING_METHODS
        and call.func.value.value in names
    }
    return moved - _own(function) if moved else moved


def _own(function: cst.FunctionDef) -> set[str]:
    """The names that a function binds, but for those that it declares global."""
    bound = {parameter.name.value for parameter in every(function.params, cst.Param)}
    targets = [
        *(item.name for item in every(function.body, cst.AsName)),
        *(item.target for item in every(function.body, cst.AssignTarget)),
        *(item.target for item in every(function.body, cst.AnnAssign)),
        *(item.target for item in every(function.body, cst.For)),
        *(item.target for item in every(function.body, cst.CompFor)),
    ]
    bound |= {name.value for target in targets for name in every(target, cst.Name)}
    declared = every(function.body, cst.Global)
    return bound - {item.name.value for one in declared for item in one.names}
