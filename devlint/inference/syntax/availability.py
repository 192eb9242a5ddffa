"""What conditions are on a machine without an accelerator, by their text.

`torch.cuda.is_available()` is false there, `torch.cuda.device_count()` is 0, and no device that the
code has is of the type "cuda". So is what a file keeps of these answers: `use_cuda`,
`args.cuda`, where every assignment of it in the file is one.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from devlint.inference.syntax.text import dotted, parts

_BACKENDS = frozenset({"cuda", "mps", "xpu", "npu", "hpu", "mlu", "musa", "xla", "accelerator"})


class Availability:
    """Of one file."""

    def __init__(self, tree: cst.Module) -> None:
        self._tree = tree
        self._asked: dict[cst.CSTNode, bool | None] = {}
        self._flags: dict[str, bool] | None = None

    def without(self, test: cst.BaseExpression) -> bool | None:
        """The truth of a condition where no accelerator is; None where that is open."""
        if test not in self._asked:
            self._asked[test] = self._truth(test)
        return self._asked[test]

    def _flag(self, path: str) -> bool | None:
        """What a name or an attribute holds, where all that it is given says the same."""
        if self._flags is None:
            flags = self._flags = {}
            for given, values in self._given().items():
                known = {self._truth(value) if value is not None else None for value in values}
                if len(known) == 1 and None not in known:
                    flags[given] = True in known
        return self._flags.get(path)

    def _given(self) -> dict[str, list[cst.BaseExpression | None]]:
        """What names and attributes are given in the file; None where it is no value of a kind."""
        given: dict[str, list[cst.BaseExpression | None]] = {}
        waiting: list[cst.CSTNode] = [self._tree]
        while waiting:
            node = waiting.pop()
            if type(node) is cst.Assign:
                for target in node.targets:
                    given.setdefault(dotted(target.target), []).append(node.value)
            elif type(node) is cst.AnnAssign:
                given.setdefault(dotted(node.target), []).append(node.value)
            elif type(node) is cst.AugAssign:
                given.setdefault(dotted(node.target), []).append(None)
            elif type(node) is cst.Param:
                given.setdefault(node.name.value, []).append(None)
            elif not isinstance(node, cst.BaseExpression):
                waiting += reversed(parts(node))
        given.pop("", None)
        return given

    def _truth(self, test: cst.BaseExpression) -> bool | None:
        if isinstance(test, (cst.Name, cst.Attribute)):
            return self._flag(dotted(test))
        if isinstance(test, cst.Call):
            return False if _asks(test) else None
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            inner = self._truth(test.expression)
            return None if inner is None else not inner
        if isinstance(test, cst.BooleanOperation):
            decisive = isinstance(test.operator, cst.Or)
            sides = self._truth(test.left), self._truth(test.right)
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            return self._compared(test.left, test.comparisons[0])
        return None

    def _compared(self, left: cst.BaseExpression, target: cst.ComparisonTarget) -> bool | None:
        """`torch.cuda.device_count() > 1`, `device.type == "cuda"`."""
        right, operator = target.comparator, target.operator
        if isinstance(right, cst.SimpleString):
            is_type = isinstance(left, cst.Attribute) and left.attr.value == "type"
            if not is_type or right.evaluated_value not in _BACKENDS:
                return None
            equal = isinstance(operator, cst.Equal)
            return not equal if equal or isinstance(operator, cst.NotEqual) else None
        if not isinstance(right, cst.Integer) or self._truth(left) is not False:
            return None
        holds = _OF_ZERO.get(type(operator))
        return None if holds is None else holds(right.evaluated_value)


# How 0, the number of accelerators, compares with another number.
_OF_ZERO: dict[type[cst.BaseCompOp], Callable[[int], bool]] = {
    cst.Equal: lambda number: number == 0,
    cst.NotEqual: lambda number: number != 0,
    cst.GreaterThan: lambda number: number < 0,
    cst.GreaterThanEqual: lambda number: number <= 0,
    cst.LessThan: lambda number: number > 0,
    cst.LessThanEqual: lambda number: number >= 0,
}


def _asks(call: cst.Call) -> bool:
    """`torch.cuda.is_available()`, `torch.cuda.device_count()`, `torch.mps.is_available()`."""
    owner, _, name = dotted(call.func).rpartition(".")
    return name in ("is_available", "device_count") and owner.rpartition(".")[2] in _BACKENDS
