"""Expressions all of whose tensors are made in them: `torch.triu(torch.ones(n, n)) * 2`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import External
from devlint.inference.models.assignment_chains import assigned_before
from devlint.inference.models.number_expressions import is_number
from devlint.inference.program.frames import Assigned, Frame
from devlint.knowledge import Call, Result

# The generator, or the host's own memory, is what the numbers come from.
BOUND = frozenset({"device", "generator", "out", "pin_memory"})


class FactoryExpression:
    """Whether all tensors of an expression are made in it, or in the line before that bound them
    to the name that this one replaces. `factories`: the calls that make them."""

    def __init__(self, frame: Frame, latest: Assigned | None) -> None:
        self.frame = frame
        self.latest = latest
        self.factories: list[cst.CSTNode] = []

    def holds(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Name):
            return self._holds_name(node)
        if isinstance(node, cst.Call):
            return self._is_made_by(node)
        if isinstance(node, cst.UnaryOperation):
            return self.holds(node.expression)
        if isinstance(node, cst.BinaryOperation):
            return self._hold(node.left, node.right)
        if isinstance(node, cst.Comparison):
            return self._hold(node.left, *(each.comparator for each in node.comparisons))
        if isinstance(node, cst.Subscript):
            picked = all(is_number(self.frame, element) for element in node.slice)
            return picked and self.holds(node.value)
        return False

    def _holds_name(self, node: cst.Name) -> bool:
        """`x = torch.ones(n)`, then `x = x * 2`."""
        if self.latest is None or self.latest.name != node.value:
            return False
        earlier = FactoryExpression(self.frame, assigned_before(self.frame, self.latest))
        made = earlier.holds(self.latest.value)
        self.factories += earlier.factories
        return made

    def _hold(self, *operands: cst.BaseExpression) -> bool:
        made = [operand for operand in operands if self.holds(operand)]
        return bool(made) and all(each in made or is_number(self.frame, each) for each in operands)

    def _is_made_by(self, call: cst.Call) -> bool:
        """By a factory, or an operation on what is made here."""
        func = call.func
        known = _function(self.frame, func)
        if known is not None and known.result is Result.DEVICE:
            self.factories.append(call)
            words = {each.keyword.value for each in call.args if each.keyword is not None}
            return not words & BOUND
        operands: list[cst.BaseExpression] = []
        if known is None and isinstance(func, cst.Attribute):
            known = self.frame.unit.context.knowledge.methods.get(func.attr.value)
            operands.append(func.value)
        if known is None or known.result not in (Result.OPERANDS, Result.FIRST):
            return False
        given = _operands(known, call)
        return given is not None and self._hold(*operands, *given)


def _operands(known: Call, call: cst.Call) -> list[cst.BaseExpression] | None:
    """What is given to parameters that take tensors, the elements of a list one by one."""
    found: list[cst.BaseExpression] = []
    for index, argument in enumerate(call.args):
        if argument.star:
            return None
        params = known.params
        at = params[min(index, len(params) - 1)] if params else ""
        name = argument.keyword.value if argument.keyword is not None else at
        if name in BOUND:
            return None
        if name not in known.tensors | known.indices:
            continue
        value = argument.value
        if isinstance(value, (cst.List, cst.Tuple)):
            found += [element.value for element in value.elements]
        else:
            found.append(value)
    return found


def _function(frame: Frame, func: cst.BaseExpression) -> Call | None:
    """What is known of a function of torch, by the name that it is called by."""
    functions = frame.unit.context.knowledge.functions
    if isinstance(func, cst.Name):
        value = frame.eval(func)
        return functions.get(value.name) if type(value) is External else None
    if isinstance(func, cst.Attribute) and isinstance(func.value, (cst.Name, cst.Attribute)):
        owner = frame.eval(func.value)
        return functions.get(f"{owner.name}.{func.attr.value}") if type(owner) is External else None
    return None
