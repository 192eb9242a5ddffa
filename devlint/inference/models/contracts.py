"""Contracts that code builds: `On("cuda")`, `SameDevice("x")`."""

from __future__ import annotations

import libcst as cst

from devlint.contracts import ContractError, On, SameDevice
from devlint.inference.domain.host import Const
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Contract


def make(frame: Frame, node: cst.Call | cst.Subscript, name: str, given: list[Value]) -> Value:
    """`On(…)`, `SameDevice(…)` or `SameDevice[…]`."""
    texts = [value.value for value in given if type(value) is Const]
    if len(texts) < len(given):
        return UNKNOWN  # computed: nobody knows what it says
    try:
        if name == "On":
            if len(texts) != 1:
                raise ContractError("On() takes one device")
            return Contract(On(texts[0]))
        return Contract(SameDevice(*texts))
    except ContractError as error:
        unread(frame.unit, node, str(error))
        return UNKNOWN


def unread(unit: Unit, node: cst.CSTNode, message: str) -> None:
    """Note once what is wrong with a contract."""
    unit.unread_contracts.setdefault(node, message)
