"""Triton kernels that are launched where their tensors are not.

`kernel[grid](x)` runs on the current card, whatever card `x` is on, and follows the pointers that
it is given: one to memory of the host, or to that of another card, can't be followed.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.explanation import operand
from devlint.inference.conventions import holds
from devlint.inference.domain.placement import CPU, Device
from devlint.inference.domain.tensors import PINNED, Tensor
from devlint.inference.facts import KernelLaunch
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import FunctionValue
from devlint.inference.syntax.text import dotted

_JIT = frozenset({"jit", "triton.jit"})


class _Seen:
    """What one file's walk noted."""

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        self.concerned = "triton" in text and not holds("interpreted-kernel-text", text)
        self.chooses = self.concerned and holds("card-choosing-text", text)
        self.launches: dict[cst.CSTNode, KernelLaunch] = {}


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(_Seen).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Note a launch with a tensor that is elsewhere, or where nothing chooses the card."""
    node, arguments = event.node, event.arguments
    seen = frame.unit.kept(_Seen)
    if type(node.func) is not cst.Subscript or frame.control.expecting:
        return
    name = dotted(node.func.value)
    kernel = frame.lookup(name)
    if type(kernel) is not FunctionValue or not _is_kernel(kernel.function):
        return
    tensors = [(v, given) for v, given in arguments.all() if type(v) is Tensor and v.is_sure]
    stray = next((pair for pair in tensors if _strays(pair[0], seen.chooses)), None)
    beside = next((pair for pair in tensors if pair[0].place != CPU), None)
    if stray is None and (seen.chooses or beside is None):
        return
    at_fault = stray or beside
    assert at_fault is not None
    seen.launches[node] = KernelLaunch(
        frame.site(node),
        name,
        operand(frame, *at_fault),
        operand(frame, *beside) if stray is not None and beside is not None else None,
        stray is not None,
    )


def _is_kernel(function: Function) -> bool:
    return not _JIT.isdisjoint(function.decorators)


def _strays(tensor: Tensor, chooses: bool) -> bool:
    """The tensor is on the host, in memory that a card can't see, or on another card than the
    first."""
    if tensor.place == CPU:
        return not tensor.traits & PINNED
    return type(tensor.place) is Device and bool(tensor.place.index) and not chooses


def settle(unit: Unit) -> None:
    """Make facts of what was noted."""
    unit.facts.kernel_launches += unit.kept(_Seen).launches.values()
