"""Assignments as statements: `x = value`, `x: Tensor = value` and `x += value`.

What they declare is held against the value, and what they bind to a name is noted in its order.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.interpreter import contract_checks, contracts
from devlint.inference.interpreter.assignments import assign
from devlint.inference.interpreter.operators import in_place
from devlint.inference.program.events import AddedUp
from devlint.inference.program.frames import Assigned, Frame
from devlint.inference.syntax.text import code, dotted


def run_assign(frame: Frame, node: cst.Assign) -> bool:
    """Run `x = value`."""
    if type(node.value) is cst.Call and all(_is_slice(t.target) for t in node.targets):
        frame.unit.moved_calls.add(node.value)  # copied to where that is
    value = frame.eval(node.value)
    only = node.targets[0].target
    own = _own_move(only, node.value)
    fresh = [loop for loop in frame.control.loops if own and own not in loop.assigned]
    declared = frame.control.contract
    if declared is not None:
        value = contract_checks.hold(frame, node, f"`{code(only)}`", value, node.value, declared)
    for target in node.targets:
        assign(frame, target.target, value, node.value)
        if (
            type(value) is Const
            and type(value.value) is bool
            and isinstance(target.target, cst.Name)
        ):
            frame.state.flags[target.target.value] = None
    for loop in fresh:
        loop.assigned.discard(own)
        loop.rebound.add(own)
    frame.fresh = _assigned(frame, only.value, node.value) if isinstance(only, cst.Name) else None
    return True


def _assigned(frame: Frame, name: str, value: cst.BaseExpression) -> Assigned:
    return Assigned(name, value) if frame.fresh is None else frame.fresh.then(name, value)


def _is_slice(target: cst.BaseExpression) -> bool:
    """`x[:, 1:3]`."""
    return isinstance(target, cst.Subscript) and any(
        isinstance(element.slice, cst.Slice) for element in target.slice
    )


def _own_move(target: cst.BaseExpression, value: cst.BaseExpression) -> str:
    """`x` of `x = x.to(d)`."""
    if (
        type(value) is cst.Call
        and type(value.func) is cst.Attribute
        and value.func.attr.value in ("to", "cuda", "cpu")
    ):
        path = dotted(target)
        return path if path == dotted(value.func.value) else ""
    return ""


def run_annotated(frame: Frame, node: cst.AnnAssign) -> bool:
    """Run `x: Tensor = value`."""
    if node.value is not None:
        value = frame.eval(node.value)
        declared = frame.control.contract or contracts.of_annotation(
            frame, node.annotation.annotation
        )
        if declared is not None:
            value = contract_checks.hold(
                frame, node, f"`{code(node.target)}`", value, node.value, declared
            )
        assign(frame, node.target, value, node.value)
    return True


_IN_PLACE = {
    cst.AddAssign: "+=",
    cst.SubtractAssign: "-=",
    cst.MultiplyAssign: "*=",
    cst.DivideAssign: "/=",
    cst.FloorDivideAssign: "//=",
    cst.ModuloAssign: "%=",
    cst.PowerAssign: "**=",
    cst.MatrixMultiplyAssign: "@=",
    cst.BitAndAssign: "&=",
    cst.BitOrAssign: "|=",
    cst.BitXorAssign: "^=",
    cst.LeftShiftAssign: "<<=",
    cst.RightShiftAssign: ">>=",
}


def run_augmented(frame: Frame, node: cst.AugAssign) -> bool:
    """Run `x += value`."""

    before = frame.eval(node.target)
    operator = _IN_PLACE.get(type(node.operator), "+=")
    value = frame.eval(node.value)
    if operator == "+=":
        frame.emit(AddedUp(node, value))
    result = in_place(frame, node, operator, before, value)
    assign(frame, node.target, result, node.value)
    frame.fresh = None
    return True
