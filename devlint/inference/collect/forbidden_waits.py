"""Where the host waits although it can't: while a CUDA graph is captured, in `torch.vmap`, and in
what is compiled as one graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import libcst as cst

from devlint.inference.collect.under_way import UnderWay, library_name
from devlint.inference.conventions import holds
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import ForbiddenWait
from devlint.inference.models.places import on_accelerator
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.events import Called, HostUse, HostWaits, Tested
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.syntax.evaluation_order import moments
from devlint.inference.syntax.text import code, dotted, every, shorten
from devlint.records import dataclass

_MAPPING = frozenset({"torch.vmap", "torch.func.vmap", "functorch.vmap"})


@dataclass(frozen=True, slots=True, eq=False)
class _Wait:
    """The host waits for `tensor` at `call`; None: for the whole card."""

    call: str
    tensor: Tensor | None
    name: str
    inside: Site | None = None


@dataclass(slots=True, eq=False)
class _Seen:
    """What one run of a function waits for, and what it captures, by node."""

    waits: dict[cst.CSTNode, _Wait] = field(default_factory=dict)
    captures: set[cst.CSTNode] = field(default_factory=set)


class ForbiddenWaits(UnderWay[_Seen]):
    """Of one file, what its functions wait for, and which of them must not wait."""

    __slots__ = ("bound", "done")

    def __init__(self, unit: Unit) -> None:
        super().__init__(_Seen, holds("waitless-text", unit.source.text))
        self.done: dict[Function, dict[cst.CSTNode, _Wait]] = {}
        self.bound: dict[Function, tuple[str, cst.CSTNode]] = {}  # to what, and by which call


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(ForbiddenWaits).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Note a capture, and functions that are mapped or compiled as a whole."""
    node, callee, arguments = event
    notes = frame.unit.kept(ForbiddenWaits)
    name = library_name(callee, node)
    if name == "torch.cuda.graph":
        notes.of(frame).captures.add(node)
    elif name == "torch.cuda.synchronize":
        notes.of(frame).waits[node] = _Wait("synchronize()", None, "")
    elif arguments.positional and (
        (name in _MAPPING and not node.args[1:]) or (name == "torch.compile" and _whole(node))
    ):
        function = _function(arguments.positional[0][0])
        if function is not None and function.unit is frame.unit:
            notes.bound[function] = ("vmap" if name in _MAPPING else "compile", node)


def _function(value: Value) -> Function | None:
    if type(value) is FunctionValue:
        return value.function
    if type(value) is Instance and value.info is not None and value.module:
        return value.info.method("forward")
    return None


def _whole(call: cst.Call) -> bool:
    """`fullgraph=True`."""
    return any(
        arg.keyword is not None and arg.keyword.value == "fullgraph" and code(arg.value) == "True"
        for arg in call.args
    )


def waits(frame: Frame, event: HostUse) -> None:
    """The host reads a value."""
    notes = frame.unit.kept(ForbiddenWaits)
    if not notes.concerned or frame.control.caught:
        return
    if isinstance(event, Tested):
        call, value_node = event.keyword, event.node
    else:
        call, value_node = event.call, event.value_node
    inside = event.inside if type(event) is HostWaits else None
    for tensor in alternatives(event.value):
        if type(tensor) is Tensor and tensor.is_sure:
            notes.of(frame).waits[event.node] = _Wait(call, tensor, shorten(value_node), inside)
            return


def leave(frame: Frame) -> None:
    """The function is done: what stands in a capture is a fact, the rest waits for the file."""
    notes = frame.unit.kept(ForbiddenWaits)
    seen = notes.left(frame)
    if seen is None:
        return
    if frame.function is not None:
        notes.done[frame.function] = seen.waits
    if not seen.captures:
        return
    body = frame.unit.tree if frame.function is None else frame.function.node.body
    for block in every(body, cst.With):
        around = next((i.item for i in block.items if i.item in seen.captures), None)
        if around is not None:
            inside = set(moments(block.body))
            frame.unit.facts.forbidden_waits += _in_capture(frame, seen, around, inside)


def _in_capture(
    frame: Frame, seen: _Seen, around: cst.CSTNode, inside: set[cst.CSTNode]
) -> Iterator[ForbiddenWait]:
    for node, wait in seen.waits.items():
        if node not in inside or (wait.tensor is not None and wait.tensor.place == CPU):
            continue
        sure = wait.tensor is None or on_accelerator(wait.tensor) > 0
        yield _fact(frame.unit, node, wait, "capture", around, sure)


def _fact(
    unit: Unit, node: cst.CSTNode, wait: _Wait, where: str, around: cst.CSTNode, sure: bool
) -> ForbiddenWait:
    source = unit.source
    return ForbiddenWait(
        Site(source, node), wait.call, wait.name, where, Site(source, around), wait.inside, sure
    )


def settle(unit: Unit) -> None:
    """All of the file is known: which functions are mapped or compiled, and wait?"""
    notes = unit.kept(ForbiddenWaits)
    if not notes.concerned:
        return
    for function in functions_of(unit):
        for decorator in getattr(function.node, "decorators", ()):
            made = decorator.decorator
            if isinstance(made, cst.Call) and dotted(made.func) == "torch.compile" and _whole(made):
                notes.bound.setdefault(function, ("compile", made))
            elif dotted(made) in _MAPPING:
                notes.bound.setdefault(function, ("vmap", made))
    for function, (where, around) in notes.bound.items():
        given = {parameter.variable for parameter in function.parameters} - {None}
        for node, wait in notes.done.get(function, {}).items():
            tensor = wait.tensor
            if tensor is None or wait.inside is not None:
                continue
            if where == "vmap" and tensor.place not in given:
                continue
            unit.facts.forbidden_waits.append(_fact(unit, node, wait, where, around, True))
