"""Where two streams, or a stream and the host, work on one tensor in no order.

A copy with `non_blocking=True` reads its pinned source later: the host must not write there before
it has. What one stream makes another may use only when it was told to wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, External
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.tensors import PINNED, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import StreamRace
from devlint.inference.models.places import on_accelerator
from devlint.inference.program.records import Arguments, Frame, Instance, Unit
from devlint.inference.syntax.evaluation_order import Moment, moments
from devlint.inference.syntax.text import code, dotted, every

# What of a tensor the host knows: to ask for it is no use of the memory.
_KNOWN_TO_HOST = frozenset({"shape", "size", "device", "dtype", "ndim", "dim", "numel"})


@dataclass(slots=True, eq=False)
class _Seen:
    """What one run of a function does with streams and pinned memory, by node."""

    copies: dict[cst.CSTNode, str] = field(default_factory=dict)  # the name of their source
    written: dict[cst.CSTNode, str] = field(default_factory=dict)  # by methods: `buffer.zero_()`
    waits: set[cst.CSTNode] = field(default_factory=set)  # or perhaps
    streams: dict[cst.CSTNode, str] = field(default_factory=dict)  # `torch.cuda.stream(side)`


class StreamRaces:
    """Of one file, what was seen in the functions that are under way."""

    __slots__ = ("concerned", "seen")

    def __init__(self, unit: Unit) -> None:
        self.concerned = holds("asynchronous-text", unit.source.text)
        self.seen: dict[Frame, _Seen] = {}

    def of(self, frame: Frame) -> _Seen:
        return self.seen.setdefault(frame, _Seen())


def of_call(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> None:
    """Note copies without waiting, writes in place, streams, and what may wait."""
    races = frame.unit.kept(StreamRaces)
    if not races.concerned:
        return
    seen = races.of(frame)
    method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
    if type(callee) is External:
        name = f"{callee.name}.{method}".rstrip(".")
        if name == "torch.cuda.stream" and len(node.args) == 1:
            seen.streams[node] = dotted(node.args[0].value)
        elif not name.startswith(("torch.", "builtins.")) or holds("waiting-callee", name):
            seen.waits.add(node)
        return
    source = _copied(node, method, callee, arguments)
    if source:
        seen.copies[node] = source
    elif holds("waiting-method", method):
        seen.waits.add(node)
    elif type(callee) is Tensor and method.endswith("_") and isinstance(node.func, cst.Attribute):
        seen.written[node] = _owner(node.func.value)
    elif not (type(callee) is Tensor or _is_plain_module(callee) or holds("idle-method", method)):
        seen.waits.add(node)


def _copied(node: cst.Call, method: str, callee: Value, arguments: Arguments) -> str:
    """The pinned source of a copy that the host does not wait for."""
    waits = arguments.keywords.get("non_blocking")
    if waits is None or type(waits[0]) is not Const or waits[0].value is not True:
        return ""
    assert isinstance(node.func, cst.Attribute) or not method
    if method in ("to", "cuda") and isinstance(node.func, cst.Attribute):
        return _owner(node.func.value) if _is_pinned(callee) else ""
    if method == "copy_" and arguments.positional:
        value, given = arguments.positional[0]
        return _owner(given) if _is_pinned(value) else ""
    return ""


def _is_pinned(value: Value) -> bool:
    return type(value) is Tensor and bool(value.traits & PINNED) and value.place == CPU


def _is_plain_module(callee: Value) -> bool:
    """A module of which nothing in sight waits."""
    if type(callee) is not Instance or not callee.module:
        return False
    forward = callee.info.method("forward") if callee.info is not None else None
    return forward is None or not holds("waiting-text", forward.text)


def _owner(node: cst.CSTNode) -> str:
    """`buffer` of `buffer[:n]` and of `buffer.numpy()[:n]`."""
    while True:
        if isinstance(node, cst.Subscript):
            node = node.value
        elif (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value in ("numpy", "view", "narrow")
        ):
            node = node.func.value
        else:
            return dotted(node)


def waits(frame: Frame, node: cst.CSTNode, value: Value) -> None:
    """The host reads a value: if that is on a device, it waits."""
    races = frame.unit.kept(StreamRaces)
    if races.concerned and any(type(v) is Tensor and v.place != CPU for v in alternatives(value)):
        races.of(frame).waits.add(node)


def leave(frame: Frame) -> None:
    """The function is done: make facts of what has no order in it."""
    seen = frame.unit.kept(StreamRaces).seen.pop(frame, None)
    if seen is None or not (seen.copies or seen.streams):
        return
    when = moments(frame.unit.tree if frame.function is None else frame.function.node.body)
    found = [*_overwritten(frame, seen, when), *_between_streams(frame, seen, when)]
    known = {race.site.node for race in frame.unit.facts.stream_races}
    frame.unit.facts.stream_races += [race for race in found if race.site.node not in known]


def _overwritten(
    frame: Frame, seen: _Seen, when: dict[cst.CSTNode, Moment]
) -> Iterator[StreamRace]:
    """`on_card = buffer.to(device, non_blocking=True)`, and then `buffer[0] = 1`."""
    written = [*seen.written.items(), *_writes(when)]
    for copy, name in seen.copies.items():
        if not name or copy not in when:
            continue
        for write, target in written:
            if target == name and write in when and _follows(seen, when, copy, write, name):
                yield StreamRace(frame.site(write), name, frame.site(copy), "")
                break


def _writes(when: dict[cst.CSTNode, Moment]) -> Iterator[tuple[cst.CSTNode, str]]:
    """`buffer[:n] = values`, `buffer += 1`."""
    for node in when:
        if isinstance(node, cst.Assign):
            for target in node.targets:
                if isinstance(target.target, cst.Subscript):
                    yield node, _owner(target.target)
        elif isinstance(node, cst.AugAssign):
            yield node, _owner(node.target)


def _follows(
    seen: _Seen,
    when: dict[cst.CSTNode, Moment],
    copy: cst.CSTNode,
    write: cst.CSTNode,
    name: str,
) -> bool:
    """The write comes after the copy, in this turn of a loop or the next, and nothing waits."""
    first, last = when[copy], when[write]
    stops = [
        when[node].number
        for node in (*seen.waits, *(n for n in when if _binds(n, name)))
        if node in when
    ]
    if first.loops == last.loops and last.number > first.number:
        return not any(first.number < stop < last.number for stop in stops)
    common = [loop for loop in first.loops if loop in last.loops]
    if not common:
        return False
    body = {moment.number for moment in when.values() if common[-1] in moment.loops}
    return body.isdisjoint(stops)


def _binds(node: cst.CSTNode, name: str) -> bool:
    """The name gets another buffer."""
    if isinstance(node, cst.Assign):
        return any(dotted(target.target) == name for target in node.targets)
    return isinstance(node, cst.For) and any(n.value == name for n in every(node.target, cst.Name))


def _between_streams(
    frame: Frame, seen: _Seen, when: dict[cst.CSTNode, Moment]
) -> Iterator[StreamRace]:
    """`with torch.cuda.stream(side): y = f(x)`, and then `y + 1` on the stream outside."""
    text = frame.function.text if frame.function is not None else frame.unit.source.text
    if not seen.streams or holds("ordering-text", text):
        return
    for node in when:
        if not isinstance(node, cst.With):
            continue
        side = next((seen.streams[i.item] for i in node.items if i.item in seen.streams), "")
        if not side or not _is_own_stream(frame.unit, side):
            continue
        made = _bound_in(every(node.body, cst.Assign))
        for use in when:
            if (
                isinstance(use, cst.Name)
                and use.value in made
                and when[use].number > when[node].number
                and _is_on_card(frame, use.value)
            ):
                if _is_used(when, use):
                    yield StreamRace(frame.site(use), use.value, frame.site(made[use.value]), side)
                break


def _bound_in(assignments: Iterator[cst.Assign]) -> dict[str, cst.CSTNode]:
    return {
        target.target.value: node
        for node in assignments
        for target in node.targets
        if isinstance(target.target, cst.Name)
    }


def _is_own_stream(unit: Unit, name: str) -> bool:
    """A stream that the file made; what is handed in may be the current one."""
    made = [
        code(each.value)
        for each in every(unit.tree, cst.Assign)
        for target in each.targets
        if dotted(target.target) == name
    ]
    return bool(made) and all(text.startswith("torch.cuda.Stream(") for text in made)


def _is_on_card(frame: Frame, name: str) -> bool:
    value = frame.lookup(name)
    return type(value) is Tensor and value.is_sure and on_accelerator(value) > 0


def _is_used(when: dict[cst.CSTNode, Moment], use: cst.Name) -> bool:
    """It is read there: not bound anew, handed back, deleted or asked for its shape."""
    for node in when:
        if isinstance(node, cst.Return) and node.value is use:
            return False
        if isinstance(node, cst.AssignTarget) and node.target is use:
            return False
        if isinstance(node, cst.Del) and any(n is use for n in every(node, cst.Name)):
            return False
        if isinstance(node, cst.Attribute) and node.value is use:
            return node.attr.value not in _KNOWN_TO_HOST
    return True
