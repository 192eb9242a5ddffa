"""Functions that are fed from the host, as far as all the calls in sight show.

A parameter's device is the caller's to choose, so a tensor made on the CPU that meets it is out of
place for the ordinary caller. Where every caller hands in what it read on the host or brought
there, that is not the ordinary one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from devlint.findings import Confidence
from devlint.inference.facts import HostRead, Meeting, StepKind
from devlint.inference.frame import Frame
from devlint.inference.placement import CPU, Device, Placement, Variable
from devlint.inference.text import dotted
from devlint.inference.values import CONVERTERS, LITERAL, LOADED, Tensor

if TYPE_CHECKING:
    from devlint.inference.functions import Function
    from devlint.inference.unit import Unit

Fact = TypeVar("Fact", Meeting, HostRead)


def note(frame: Frame, function: Function, handed: Iterable[Tensor]) -> None:
    """A call of a function: whether what it is handed comes from the host or is elsewhere."""
    if frame.function is None or frame.function is function or frame.unit.is_test:
        return  # a demonstration at the end of a file says nothing of the ordinary caller
    for tensor in handed:
        if _comes_from_host(tensor):
            function.fed_from_host = function.fed_from_host is not False
        elif tensor.place != CPU and (type(tensor.place) is Device or _is_input(tensor)):
            function.fed_from_host = False


def _is_input(tensor: Tensor) -> bool:
    """A tensor, and no number, of which the caller does not know where it is."""
    return type(tensor.place) is Variable and tensor.is_sure


def _comes_from_host(tensor: Tensor) -> bool:
    """Read or converted there, or brought there: more than a factory's tensor."""
    if tensor.place != CPU or tensor.origin is None or tensor.traits & LITERAL:
        return False
    if tensor.traits & LOADED:
        return True
    made = tensor.origin.root.node
    name = dotted(made.func).rpartition(".")[2] if isinstance(made, cst.Call) else ""
    return name in CONVERTERS or any(s.kind is StepKind.MOVED for s in tensor.origin.chain())


def settle(unit: Unit) -> None:
    """Leave open what such functions do with their parameters."""
    fed: set[Placement] = set()
    for function in unit.functions:
        if function.fed_from_host and function.summary is not None:
            fed.update(p.variable for p in function.summary.parameters if p.variable is not None)
    if not fed:
        return
    facts = unit.facts
    facts.meetings[:] = [
        _doubted(m, fed, m.left.placement, m.right.placement) for m in facts.meetings
    ]
    facts.host_reads[:] = [_doubted(r, fed, r.operand.placement) for r in facts.host_reads]


def _doubted(fact: Fact, fed: set[Placement], *places: Placement) -> Fact:
    if not any(type(place) is Variable and place in fed for place in places):
        return fact
    return replace(fact, confidence=Confidence.POSSIBLE)
