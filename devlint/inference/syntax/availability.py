"""What conditions are on a machine without an accelerator, by their text.

`torch.cuda.is_available()` is false there, `torch.cuda.device_count()` is 0, and no device that the
code has is of the type "cuda". So is what a file keeps of these answers: `use_cuda`,
`args.cuda`, where every assignment of it in the file is one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import libcst as cst

from devlint.inference.syntax.text import dotted, every

_BACKENDS = frozenset({"cuda", "mps", "xpu", "npu", "hpu", "mlu", "musa", "xla", "accelerator"})


class Availability:
    """Of one file."""

    def __init__(self, tree: cst.Module) -> None:
        self._tree = tree
        self._asked: dict[cst.CSTNode, bool | None] = {}

    def without(self, test: cst.BaseExpression) -> bool | None:
        """The truth of a condition where no accelerator is; None where that is open."""
        if test not in self._asked:
            self._asked[test] = self._truth(test, self._flags)
        return self._asked[test]

    @cached_property
    def _flags(self) -> dict[str, bool]:
        """What names and attributes hold, where all that they are given says the same."""
        given: dict[str, list[cst.BaseExpression | None]] = {}
        for assign in every(self._tree, cst.Assign):
            for target in assign.targets:
                path = dotted(target.target)
                given.setdefault(path, []).append(assign.value)
        for declared in every(self._tree, cst.AnnAssign):
            given.setdefault(dotted(declared.target), []).append(declared.value)
        for changed in every(self._tree, cst.AugAssign):
            given.setdefault(dotted(changed.target), []).append(None)
        for parameter in every(self._tree, cst.Param):
            given.setdefault(parameter.name.value, []).append(None)
        given.pop("", None)
        flags: dict[str, bool] = {}
        for path, values in given.items():
            known = {self._truth(v, flags) if v is not None else None for v in values}
            if len(known) == 1 and None not in known:
                flags[path] = known == {True}
        return flags

    def _truth(self, test: cst.BaseExpression, flags: dict[str, bool]) -> bool | None:
        if isinstance(test, (cst.Name, cst.Attribute)):
            return flags.get(dotted(test))
        if isinstance(test, cst.Call):
            return False if _asks(test) else None
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            inner = self._truth(test.expression, flags)
            return None if inner is None else not inner
        if isinstance(test, cst.BooleanOperation):
            decisive = isinstance(test.operator, cst.Or)
            sides = self._truth(test.left, flags), self._truth(test.right, flags)
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            return self._compared(test.left, test.comparisons[0], flags)
        return None

    def _compared(
        self, left: cst.BaseExpression, target: cst.ComparisonTarget, flags: dict[str, bool]
    ) -> bool | None:
        """`torch.cuda.device_count() > 1`, `device.type == "cuda"`."""
        right, operator = target.comparator, target.operator
        if isinstance(right, cst.SimpleString):
            is_type = isinstance(left, cst.Attribute) and left.attr.value == "type"
            if not is_type or right.evaluated_value not in _BACKENDS:
                return None
            equal = isinstance(operator, cst.Equal)
            return not equal if equal or isinstance(operator, cst.NotEqual) else None
        if not isinstance(right, cst.Integer) or self._truth(left, flags) is not False:
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
