"""Reasons that code gives for an accelerator, or asks by way of a name.

A flag has asked before; a comment says what the host does wrong; the host and an accelerator stand
side by side, to be compared; what a card takes is measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.collect.availability_guards import Demands
from devlint.inference.conventions import holds
from devlint.inference.program.records import Function, Unit
from devlint.inference.syntax.control_dependence import is_passed
from devlint.inference.syntax.text import code, dotted
from devlint.inference.syntax.words import asks_for_accelerator

_FLAGS = 3  # from one flag to the one that it is made of


_TRUTHS = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)


_CARD = r"(gpus?|cuda)\b"


def is_asked_by_flag(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """`on_card = device.type == "cuda"` stands before the `if on_card:` around it."""
    around = unit.kept(Demands).found_around(unit, function, node)
    return any(
        _tells(unit, function, name)
        for test, branch in around
        if isinstance(test, (cst.If, cst.IfExp)) and branch is test.body
        for name in _all_true(test.test)
    )


def _all_true(test: cst.BaseExpression) -> Iterator[str]:
    """The flags that are true where a condition is."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _all_true(test.left)
        yield from _all_true(test.right)
    elif dotted(test):
        yield dotted(test)


def _tells(unit: Unit, function: Function | None, name: str, depth: int = _FLAGS) -> bool:
    """Whatever the flag is made of asks for an accelerator."""
    values = list(_values(unit, function, name)) if depth else []
    return bool(values) and all(
        (isinstance(value, _TRUTHS) and asks_for_accelerator(value))
        or (isinstance(value, cst.Call) and dotted(value.func).endswith("is_available"))
        or any(_tells(unit, function, inner, depth - 1) for inner in _all_true(value))
        for value in values
    )


def _values(unit: Unit, function: Function | None, name: str) -> Iterator[cst.BaseExpression]:
    """What a name is bound to in the function, or else in the module; an attribute in the class."""
    if name.startswith("self."):
        info = function.info if function is not None else None
        if info is not None:
            yield from (value for _, value in info.assigned.get(name[5:], ()))
        return
    places = [function, None] if function is not None else [None]
    for place in places:
        if place is not None and any(p.name == name for p in place.parameters):
            return
        bound = [
            assign.value
            for assign in unit.kept(Demands).walked(unit, place)
            if isinstance(assign, cst.Assign)
            if any(dotted(target.target) == name for target in assign.targets)
        ]
        if bound:
            yield from bound
            return


def is_beside_host(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """`for device in (torch.device("cpu"), torch.device("cuda"))`: both are meant; and a module
    may have a name for each of them, for those who choose."""
    walked = unit.kept(Demands).walked(unit, function)
    if function is None:
        named = [each.value for each in walked if isinstance(each, cst.Assign)]
        if any(value is node for value in named) and isinstance(node, cst.Call):
            maker = dotted(node.func)
            return any(code(v) in (f'{maker}("cpu")', f"{maker}('cpu')") for v in named)
    for row in walked:
        if isinstance(row, (cst.Tuple, cst.List)):
            values = [element.value for element in row.elements]
            if any(value is node for value in values):
                return any(holds("host-device", code(value)) for value in values)
    return False


def is_measured(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """The kernels of a card are what the code is there to measure."""
    if "ProfilerActivity" not in unit.source.text and "torch.cuda." not in unit.source.text:
        return False
    walked = unit.kept(Demands).walked(unit, function)
    then = walked.get(node, ())
    around = {n: branches for n, branches in walked.items() if is_passed(branches, then)}
    return any(_measures(each) for each in around) or (
        any(
            isinstance(each, cst.Call) and holds("clock-callee", dotted(each.func))
            for each in around
        )
        and sum(_is_call(each, "torch.cuda.synchronize") for each in around) > 1
    )


def _measures(node: cst.CSTNode) -> bool:
    """`ProfilerActivity.CUDA`, `torch.cuda.Event(enable_timing=True)`."""
    if isinstance(node, cst.Attribute):
        return dotted(node).endswith("ProfilerActivity.CUDA")
    return _is_call(node, "torch.cuda.Event") and "enable_timing" in code(node)


def _is_call(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Call) and dotted(node.func) == name
