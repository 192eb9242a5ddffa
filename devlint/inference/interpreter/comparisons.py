"""Comparisons of two values, and the truth of one: what the accelerated world knows of them.

`device == "cpu"` is false there, and so is `x is None` of a tensor; what is open is None.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import NONE, Const, DeviceValue, External
from devlint.inference.domain.placement import Device, Placement, Variable, VariableKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.device_functions import is_predicate
from devlint.inference.models.devices import written_device
from devlint.inference.program.values import Instance


def truth_of(value: Value) -> bool | None:
    """The truth of a value, where every alternative agrees."""
    if type(value) is Const:
        return bool(value.value)
    if type(value) in (DeviceValue, Instance) or is_predicate(value):
        return True
    if type(value) is Sequence and value.items is not None and value.kind == "tuple":
        return bool(value.items)
    return None


def compare(operator: cst.BaseCompOp, left: Value, right: Value) -> bool | None:
    """A comparison of two values whose answer the accelerated world knows, else None."""
    is_identity = isinstance(operator, (cst.Is, cst.IsNot))
    if is_identity or (right is NONE and isinstance(operator, (cst.Equal, cst.NotEqual))):
        answer = _is_none(left, right)
        asks = isinstance(operator, (cst.Is, cst.Equal))
        return answer if answer is None or asks else not answer
    by_index = _has_index(operator, left, right)
    if by_index is not None:
        return by_index
    equal = isinstance(operator, cst.Equal)
    if equal or isinstance(operator, cst.NotEqual):
        answer = _equal(left, right)
        return answer if answer is None or equal else not answer
    if isinstance(operator, (cst.In, cst.NotIn)):
        answer = _contains(left, right)
        return answer if answer is None or isinstance(operator, cst.In) else not answer
    return None


# Comparisons that tell the index of an accelerator from -1, which stands for the host.
_INDEX_TESTS: dict[tuple[type[cst.BaseCompOp], int], bool] = {
    (cst.GreaterThan, -1): True,
    (cst.GreaterThanEqual, 0): True,
    (cst.NotEqual, -1): True,
    (cst.LessThan, 0): False,
    (cst.LessThanEqual, -1): False,
    (cst.Equal, -1): False,
}


def _has_index(operator: cst.BaseCompOp, left: Value, right: Value) -> bool | None:
    """`device > -1`, `x.get_device() >= 0`: true for what is on an accelerator."""
    if type(left) is not DeviceValue or type(right) is not Const or type(right.value) is not int:
        return None
    answer = _INDEX_TESTS.get((type(operator), right.value))
    if answer is None or left.place is None:
        return None
    if type(left.place) is Device and not left.place.is_accelerator:
        return not answer
    return answer


def _is_none(left: Value, right: Value) -> bool | None:
    if type(right) is not Const or right.value is not None:
        return None
    if type(left) is Const:
        return left.value is None
    if type(left) in (DeviceValue, Instance, Sequence, External):
        return False
    if type(left) is Tensor and left.evidence is None:
        return False
    return None


def _equal(left: Value, right: Value) -> bool | None:
    if type(left) is Const and type(right) is Const:
        try:
            return bool(left.value == right.value)
        except Exception:  # constants of odd types
            return None
    a, b = _device_of(left), _device_of(right)
    if a is None or b is None:
        return None
    if a is b:
        return True
    if type(a) is Device and type(b) is Device:
        if a.type != b.type:
            return False
        return True if a.index == b.index else None
    known, other = (a, b) if type(a) is Device else (b, a)
    if (
        type(known) is Device
        and type(other) is Variable
        and other.kind is not VariableKind.FLEXIBLE
    ):
        if known.type in _OTHERS:
            return False  # in the accelerated world, which has CUDA
        if known.type == "cuda" and known.index is None:
            return True
    return None


_OTHERS = frozenset({"cpu", "meta", "mps", "xpu", "npu", "hpu", "ipu", "mlu", "musa", "xla"})


def _device_of(value: Value) -> Placement:
    return value.place if type(value) is DeviceValue else written_device(value)


def _contains(left: Value, right: Value) -> bool | None:
    """`"cuda" in device`, `device.type in ("mps", "xla")`."""
    if type(right) is DeviceValue and type(left) is Const and isinstance(left.value, str):
        return _equal(DeviceValue(right.place), left)
    if type(right) is not Sequence or right.items is None or type(left) not in (DeviceValue, Const):
        return None
    answers = {_equal(left, item) for item in right.items}
    return True if True in answers else None if None in answers else False
