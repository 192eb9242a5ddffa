"""Where the time of device work is taken while the device may still be at it.

Kernels are queued, so a clock that is read behind `model(x)` tells how long the queueing took,
unless something between the two readings waited for the device. What waits is anything that reads
a tensor, and any callee of which that can't be ruled out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import libcst as cst

from devlint.inference.collect.under_way import UnderWay, library_name, method_of
from devlint.inference.conventions import holds
from devlint.inference.domain.host import External
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Timing
from devlint.inference.models import module_places
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.places import on_accelerator
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.events import Called, HostUse
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.summaries.waits import function_site
from devlint.inference.syntax.evaluation_order import Moment, moments
from devlint.inference.syntax.text import code, dotted, every
from devlint.knowledge.model import Result
from devlint.records import dataclass

_NOWHERE = -1  # the strength of work that is on the host
_OPEN = 0  # on an accelerator if the caller's inputs are
_SURE = 1


_DEPTH = 3  # of functions that call each other


@dataclass(slots=True, eq=False)
class _Seen:
    """What one run of a function does that matters to a clock, by node."""

    clocks: set[cst.CSTNode] = field(default_factory=set)
    work: dict[cst.CSTNode, int] = field(default_factory=dict)  # how surely it is a device's
    models: set[cst.CSTNode] = field(default_factory=set)  # calls that run a whole module
    steps: set[cst.CSTNode] = field(default_factory=set)  # `backward`, `step`: where the model is
    waits: set[cst.CSTNode] = field(default_factory=set)


class Timings(UnderWay[_Seen]):
    """Of files that read a clock, and leave the timing to no event."""

    __slots__ = ()

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        super().__init__(_Seen, holds("clock-text", text) and not holds("device-timing-text", text))


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(Timings).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Note a reading of a clock, device work, or a callee that may wait for the device."""
    node, callee, arguments = event
    seen = frame.unit.kept(Timings).of(frame)
    name = method_of(node)
    last = name or dotted(node.func)
    if type(callee) is External:
        _of_library(frame, seen, node, library_name(callee, node), arguments)
        return
    given = _strength(arguments)
    if name in ("backward", "step"):
        seen.steps.add(node)
    elif holds("waiting-method", last):
        seen.waits.add(node)
    elif type(callee) is Tensor and name and callee.is_sure:
        known = frame.unit.context.knowledge.methods.get(name)
        if known is not None and known.result not in (Result.HOST, Result.NONE):
            _work(seen, node, on_accelerator(callee))
    elif type(callee) is Instance and callee.module:
        _of_module(frame, seen, node, callee, name, given)
    elif type(callee) is FunctionValue:
        _of_function(seen, node, callee.function, given)
    elif (function := _method(callee, name)) is not None:
        _of_function(seen, node, function, given)
    elif _is_named_module(last) or (not name and _is_there(callee)):
        seen.models.add(node)
        _work(seen, node, max(given, on_accelerator(callee) if type(callee) is Tensor else given))
    elif not holds("idle-method", name):
        seen.waits.add(node)


def _method(callee: Value, name: str) -> Function | None:
    """The method of an object of the project that is no module."""
    if type(callee) is not Instance or callee.info is None:
        return None
    return callee.info.method(name)


def of_product(frame: Frame, node: cst.BinaryOperation, result: Value) -> None:
    """Note `a @ b`, which takes the device some time."""
    timings = frame.unit.kept(Timings)
    if timings.concerned and type(result) is Tensor and result.is_sure:
        _work(timings.of(frame), node, on_accelerator(result))


def _of_library(frame: Frame, seen: _Seen, node: cst.Call, name: str, arguments: Arguments) -> None:
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    if holds("clock-callee", name):
        seen.clocks.add(node)
    elif root == "torch" and not holds("waiting-callee", name):
        if _strength(arguments) >= _OPEN and not last[:1].isupper():
            _work(seen, node, _strength(arguments))
    elif root == "torch" or (_strength(arguments) >= _OPEN and root != "builtins"):
        seen.waits.add(node)


def _of_module(
    frame: Frame, seen: _Seen, node: cst.Call, module: Instance, name: str, given: int
) -> None:
    """`model(x)`, where no `forward` in sight waits; its other methods may."""
    info = module.info
    function = info.method(name or "forward") if info is not None else None
    if name and function is None:
        if not holds("idle-method", name):
            seen.waits.add(node)
        return
    if function is not None and _may_wait(function):
        seen.waits.add(node)
        return
    place, _ = module_places.placed(frame, module)
    seen.models.add(node)
    _work(seen, node, max(given, on_accelerator(Tensor(place))))


def _of_function(seen: _Seen, node: cst.Call, function: Function, given: int) -> None:
    """A function of the project may do anything, but for one that hands on to a module."""
    if _hands_on(function):
        seen.models.add(node)
        _work(seen, node, given)
    else:
        seen.waits.add(node)


def _hands_on(function: Function) -> bool:
    """`def features(self, x): return self.model(x)`: modules and torch are all that it calls."""
    called = function.calls
    models = [name for name in called if _is_named_module(name.rpartition(".")[2])]
    rest = [name for name in called if name not in models]
    return (
        bool(models)
        and not function.says("waiting-text")
        and all(name.partition(".")[0] in ("torch", "F", "nn") for name in rest)
        and not any(True for _ in every(function.node.body, cst.For))
    )


def _may_wait(function: Function, depth: int = _DEPTH) -> bool:
    """By its text, or that of what it calls in its file."""
    if function.says("waiting-text"):
        return True
    if not depth:
        return False
    return any(
        each.name in function.callees and each is not function and _may_wait(each, depth - 1)
        for each in functions_of(function.unit)
    )


def _is_named_module(name: str) -> bool:
    return holds("module-name", name) and not holds("building-function", name)


def _is_there(callee: Value) -> bool:
    """What was moved to an accelerator and is called is a module."""
    return any(type(v) is Tensor and on_accelerator(v) > _OPEN for v in alternatives(callee))


def _strength(arguments: Arguments) -> int:
    """How surely a callee gets tensors on an accelerator."""
    found = (on_accelerator(t) for value, _ in arguments.all() for t in tensors_in(value))
    return min(max(found, default=_NOWHERE), _SURE)


def _work(seen: _Seen, node: cst.CSTNode, strength: int) -> None:
    if strength > _NOWHERE:
        seen.work[node] = min(strength, _SURE)


def waits(frame: Frame, event: HostUse) -> None:
    """The host reads a value: if that is on a device, it waits."""
    node, value = event.node, event.value
    timings = frame.unit.kept(Timings)
    if timings.concerned and any(
        type(v) is Tensor and v.place != CPU and (v.is_sure or on_accelerator(v) > _OPEN)
        for v in alternatives(value)
    ):
        timings.of(frame).waits.add(node)


def leave(frame: Frame) -> None:
    """The function is done: make facts of the times that it takes."""
    seen = frame.unit.kept(Timings).left(frame)
    if seen is None or len(seen.clocks) < 2 or not seen.work:
        return
    body = frame.unit.tree if frame.function is None else frame.function.node.body
    when = moments(body)
    for start, end, name in _pairs(seen, when):
        timing = _timing(frame, seen, when, start, end, name)
        if timing is not None and not any(t.end.node is end for t in frame.unit.facts.timings):
            frame.unit.facts.timings.append(timing)


def _pairs(
    seen: _Seen, when: dict[cst.CSTNode, Moment]
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode, str]]:
    """`end - start`, where both are readings of a clock; with the name of the first."""
    bound: dict[str, list[cst.CSTNode]] = {}
    for node in when:
        if isinstance(node, cst.Assign) and node.value in seen.clocks:
            for target in node.targets:
                bound.setdefault(dotted(target.target), []).append(node.value)
    bound.pop("", None)
    compared = {
        side
        for node in when
        if isinstance(node, cst.Comparison)
        for side in (node.left, *(target.comparator for target in node.comparisons))
    }
    dead = {
        each
        for node in when
        if isinstance(node, cst.If) and code(node.test) in ("False", "0")
        for each in every(node.body, cst.BinaryOperation)
    }
    for node in when:
        if not isinstance(node, cst.BinaryOperation) or node in compared or node in dead:
            continue
        if not isinstance(node.operator, cst.Subtract):
            continue
        starts = bound.get(dotted(node.right), [])
        ends = [node.left] if node.left in seen.clocks else bound.get(dotted(node.left), [])
        for end in ends:
            before = [s for s in starts if when[s].number < when[end].number]
            is_lap = any(_follows(when[s], when[end]) for s in starts)
            if before and not is_lap:
                yield max(before, key=lambda s: when[s].number), end, dotted(node.right)


def _follows(start: Moment, end: Moment) -> bool:
    """The clock is set anew further down in the loop: from lap to lap nothing gets lost."""
    return start.number > end.number and bool(end.loops) and start.loops == end.loops


def _timing(
    frame: Frame,
    seen: _Seen,
    when: dict[cst.CSTNode, Moment],
    start: cst.CSTNode,
    end: cst.CSTNode,
    name: str,
) -> Timing | None:
    first, last = when[start], when[end]
    if first.loops != last.loops:
        return None
    begin = first.number
    for node in seen.waits:
        if node in when and begin < when[node].number < last.number:
            begin = when[node].number
    inside = range(begin + 1, last.number)
    work = [n for n in seen.work if n in when and when[n].number in inside]
    if not work or (begin > first.number and seen.models.isdisjoint(work)):
        return None  # behind a wait a few operations count for little
    depth = len(first.loops)
    inner = {when[n].loops[depth:] for n in (*work, *seen.steps) if n in when} - {()}
    if not all(map(_only_repeats, inner)):
        return None
    latest = max(work, key=lambda n: when[n].number)
    steps = [n for n in seen.steps if n in when and when[n].number in inside]
    return Timing(
        start=frame.site(start),
        end=frame.site(end),
        name=name,
        work=frame.site(max([*steps, latest], key=lambda n: when[n].number)),
        sure=any(seen.work[n] == _SURE for n in work),
        function=function_site(frame),
    )


def _only_repeats(loops: tuple[cst.For | cst.While, ...]) -> bool:
    """`for _ in range(n)` around what is measured: short, and the same each time."""
    loop = loops[0]
    return (
        len(loops) == 1
        and isinstance(loop, cst.For)
        and isinstance(loop.iter, cst.Call)
        and dotted(loop.iter.func) in ("range", "trange")
        and not holds("epoch-variable", dotted(loop.target))
    )
