"""What stands where a device belongs, and is none.

A flag (`x.cuda(use_gpu)`), the context manager `torch.cuda.device(i)`, and a string that a
`torch.device` is compared with: the two are never equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from devlint.inference.conditions import parse_device
from devlint.inference.facts import Mistake, MistakenDevice
from devlint.inference.frame import Frame
from devlint.inference.text import shorten
from devlint.inference.values import (
    ASSUMED,
    Const,
    DeviceValue,
    External,
    Instance,
    Sequence,
    Tensor,
    Value,
    alternatives,
)

if TYPE_CHECKING:
    from devlint.inference.functions import Arguments, Function

# `torch.cuda.device(i)` as a value: it selects a device for a `with`, and is none.
CONTEXT = External("torch.cuda.device")


def of_call(frame: Frame, node: cst.Call, callee: Value, name: str, arguments: Arguments) -> None:
    """A call of the library that is given a device: `.to(d)`, `.cuda(d)`, `device=d`."""
    pair = arguments.keywords.get("device")
    if pair is None and name == "cuda" and arguments.positional:
        pair = arguments.positional[0]
    elif pair is None and name == "to" and arguments.positional:
        value, given = arguments.positional[0]  # here a flag is a dtype: `bool`
        pair = None if type(value) is Const else (value, given)
    if pair is None or not (name == "cuda" or _is_of_torch(callee)):
        return
    mistake = _mistake(*pair)
    if mistake is not None:
        _note(frame, node, mistake, shorten(pair[1]), shorten(node.func))


def of_argument(
    frame: Frame, node: cst.CSTNode, value: Value, given: cst.CSTNode, function: Function
) -> None:
    """A function of the project is given a device."""
    if given is node:
        return  # its own default
    mistake = _mistake(value, given)
    if mistake is not None:
        _note(frame, node, mistake, shorten(given), function.name, inferred=True)


def of_comparison(
    frame: Frame, node: cst.CSTNode, operator: cst.BaseCompOp, left: Value, right: Value
) -> None:
    """`x.device == "cuda"`, `torch.device(d) in ("cpu", "mps")`."""
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        sides = (left, right) if type(left) is DeviceValue else (right, left)
        found = _is_device(sides[0]) and _names_device(sides[1])
    elif isinstance(operator, (cst.In, cst.NotIn)) and type(right) is Sequence and right.items:
        found = _is_device(left) and all(_names_device(item) for item in right.items)
    else:
        return
    if found:
        never = isinstance(operator, (cst.Equal, cst.In))
        mistake = Mistake.NEVER_EQUAL if never else Mistake.ALWAYS_UNEQUAL
        _note(frame, node, mistake, shorten(node), "")


def _is_of_torch(callee: Value) -> bool:
    if type(callee) is External:
        return callee.name.startswith("torch.") or callee.name == "torch"
    return any(
        type(v) is Tensor or (type(v) is Instance and v.module) for v in alternatives(callee)
    )


def _mistake(value: Value, given: cst.CSTNode) -> Mistake | None:
    if value is CONTEXT:
        return Mistake.CONTEXT
    flag = type(value) is Const and type(value.value) is bool and value is not ASSUMED
    return Mistake.FLAG if flag and isinstance(given, cst.Name) else None


def _is_device(value: Value) -> bool:
    """A `torch.device` for sure, and no string that names one."""
    return type(value) is DeviceValue and value.sure


def _names_device(value: Value) -> bool:
    return (
        type(value) is Const
        and isinstance(value.value, str)
        and parse_device(value.value) is not None
    )


def _note(
    frame: Frame,
    node: cst.CSTNode,
    mistake: Mistake,
    text: str,
    callee: str,
    inferred: bool = False,
) -> None:
    fact = MistakenDevice(frame.site(node), mistake, text, callee, inferred)
    frame.unit.mistaken[node] = fact
