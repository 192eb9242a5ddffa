"""Where two streams, or a stream and the host, work on one tensor in no order.

A copy with `non_blocking=True` reads its pinned source later: the host must not write there before
it has. What one stream makes another may use only when it was told to wait for it.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import field

import libcst as cst

from devlint.inference.collect.under_way import UnderWay, library_name, method_of
from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, External
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.tensors import PINNED, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import StreamRace
from devlint.inference.models.places import on_accelerator
from devlint.inference.program.events import Called, HostUse
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Instance
from devlint.inference.syntax.evaluation_order import Moment, moments
from devlint.inference.syntax.text import code, dotted, every
from devlint.records import NamedTuple, dataclass

# What of a tensor the host knows: to ask for it is no use of the memory.
_KNOWN_TO_HOST = frozenset({"shape", "size", "device", "dtype", "ndim", "dim", "numel"})


@dataclass(slots=True, eq=False)
class _Seen:
    """What one run of a function does with streams and pinned memory, by node."""

    copies: dict[cst.CSTNode, str] = field(default_factory=dict)  # the name of their source
    written: dict[cst.CSTNode, str] = field(default_factory=dict)  # by methods: `buffer.zero_()`
    waits: set[cst.CSTNode] = field(default_factory=set)  # or perhaps
    streams: dict[cst.CSTNode, str] = field(default_factory=dict)  # `torch.cuda.stream(side)`


class StreamRaces(UnderWay[_Seen]):
    """Of files with streams, or with copies that do not wait."""

    __slots__ = ()

    def __init__(self, unit: Unit) -> None:
        super().__init__(_Seen, holds("asynchronous-text", unit.source.text))


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(StreamRaces).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Note copies without waiting, writes in place, streams, and what may wait."""
    node, callee, arguments = event
    seen = frame.unit.kept(StreamRaces).of(frame)
    method = method_of(node)
    if type(callee) is External:
        name = library_name(callee, node)
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
    return forward is None or not forward.says("waiting-text")


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


def waits(frame: Frame, event: HostUse) -> None:
    """The host reads a value: if that is on a device, it waits."""
    node, value = event.node, event.value
    races = frame.unit.kept(StreamRaces)
    if races.concerned and any(type(v) is Tensor and v.place != CPU for v in alternatives(value)):
        races.of(frame).waits.add(node)


def leave(frame: Frame) -> None:
    """The function is done: make facts of what has no order in it."""
    seen = frame.unit.kept(StreamRaces).left(frame)
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
    names = {name for name in seen.copies.values() if name}
    if not names:
        return
    order = _Order(seen, when, names)
    for copy, name in seen.copies.items():
        if copy in when and name:
            write = order.write_behind(copy, name)
            if write is not None:
                yield StreamRace(frame.site(write), name, frame.site(copy), "")


class _Order:
    """What happens to a few buffers, and what may wait, in the order of their moments."""

    def __init__(self, seen: _Seen, when: dict[cst.CSTNode, Moment], names: set[str]) -> None:
        self._when = when
        self._waits = sorted(when[node].number for node in seen.waits if node in when)
        self._writes: dict[str, list[cst.CSTNode]] = {name: [] for name in names}
        self._bound: dict[str, list[int]] = {name: [] for name in names}
        written = [(node, name) for node, name in seen.written.items() if node in when]
        for node, name in sorted((*written, *_writes(when)), key=lambda pair: when[pair[0]].number):
            if name in names:
                self._writes[name].append(node)
        for node, moment in when.items():
            for name in _binds(node):
                if name in names:
                    self._bound[name].append(moment.number)

    def write_behind(self, copy: cst.CSTNode, name: str) -> cst.CSTNode | None:
        """The first write to a buffer that nothing in between makes wait: further down, or in the
        next turn of the loop."""
        moment, writes = self._when[copy], self._writes[name]
        index = bisect(writes, moment.number, key=lambda node: self._when[node].number)
        if index < len(writes):
            write = self._when[writes[index]]
            if write.loops == moment.loops and self._goes(moment.number, write.number, name):
                return writes[index]
        if not moment.loops or not writes:
            return None
        first = self._when[writes[0]]
        loop = moment.loops[-1]
        inside = [n for n in writes if loop in self._when[n].loops]
        if not inside or first.number > moment.number:
            return None
        return inside[0] if self._turns(loop, name) else None

    def _goes(self, first: int, last: int, name: str) -> bool:
        """Nothing between two moments waits or binds the name anew."""
        return not any(
            bisect(stops, first) < bisect_left(stops, last)
            for stops in (self._waits, self._bound[name])
        )

    def _turns(self, loop: cst.CSTNode, name: str) -> bool:
        """Nothing in a loop waits or binds the name anew."""
        last = self._when[loop].number
        numbers = (moment.number for moment in self._when.values() if loop in moment.loops)
        return self._goes(min(numbers, default=last) - 1, last, name)


def _writes(when: dict[cst.CSTNode, Moment]) -> Iterator[tuple[cst.CSTNode, str]]:
    """`buffer[:n] = values`, `buffer += 1`."""
    for node in when:
        if isinstance(node, cst.Assign):
            for target in node.targets:
                if isinstance(target.target, cst.Subscript):
                    yield node, _owner(target.target)
        elif isinstance(node, cst.AugAssign):
            yield node, _owner(node.target)


def _binds(node: cst.CSTNode) -> Iterator[str]:
    """The names that get another value."""
    if isinstance(node, cst.Assign):
        yield from (dotted(target.target) for target in node.targets)
    elif isinstance(node, cst.For):
        yield from (name.value for name in every(node.target, cst.Name))


def _between_streams(
    frame: Frame, seen: _Seen, when: dict[cst.CSTNode, Moment]
) -> Iterator[StreamRace]:
    """`with torch.cuda.stream(side): y = f(x)`, and then `y + 1` on the stream outside."""
    text = frame.function.text if frame.function is not None else frame.unit.source.text
    if not seen.streams or holds("ordering-text", text):
        return
    own = frame.unit.kept(OwnStreams).names
    uses = _uses(when)
    for node in when:
        if not isinstance(node, cst.With):
            continue
        side = next((seen.streams[i.item] for i in node.items if i.item in seen.streams), "")
        if side not in own:
            continue
        for name, made in _bound_in(every(node.body, cst.Assign)).items():
            use = _first_behind(uses.get(name, ()), when[node].number)
            if use is not None and use.reads and _is_on_card(frame, name):
                yield StreamRace(frame.site(use.node), name, frame.site(made), side)
                break


class OwnStreams:
    """The names of streams that a file makes; what is handed in may be the current one."""

    __slots__ = ("names",)

    def __init__(self, unit: Unit) -> None:
        made: dict[str, bool] = {}
        for each in every(unit.tree, cst.Assign):
            is_stream = code(each.value).startswith("torch.cuda.Stream(")
            for target in each.targets:
                name = dotted(target.target)
                made[name] = made.get(name, True) and is_stream
        self.names = {name for name, is_stream in made.items() if name and is_stream}


def _bound_in(assignments: Iterator[cst.Assign]) -> dict[str, cst.CSTNode]:
    return {
        target.target.value: node
        for node in assignments
        for target in node.targets
        if isinstance(target.target, cst.Name)
    }


class _Use(NamedTuple):
    """A name is mentioned. `reads`: for what the device has of it."""

    node: cst.Name
    number: int
    reads: bool


def _uses(when: dict[cst.CSTNode, Moment]) -> dict[str, list[_Use]]:
    """Where each name is mentioned, in order. To bind it anew, hand it back, delete it or ask for
    its shape reads nothing of it."""
    idle: set[cst.CSTNode] = set()
    for node in when:
        if isinstance(node, cst.Return) and node.value is not None:
            idle.add(node.value)
        elif isinstance(node, cst.AssignTarget):
            idle.add(node.target)
        elif isinstance(node, cst.Del):
            idle.update(every(node, cst.Name))
        elif isinstance(node, cst.Attribute):
            if node.attr.value in _KNOWN_TO_HOST:
                idle.add(node.value)
            idle.add(node.attr)
        elif isinstance(node, cst.Arg) and node.keyword is not None:
            idle.add(node.keyword)
    found: dict[str, list[_Use]] = {}
    for node, moment in when.items():
        if isinstance(node, cst.Name):
            found.setdefault(node.value, []).append(_Use(node, moment.number, node not in idle))
    return found


def _first_behind(uses: Sequence[_Use], number: int) -> _Use | None:
    """The first one that is evaluated after a moment; uses are in order."""
    index = bisect(uses, number, key=lambda use: use.number)
    return uses[index] if index < len(uses) else None


def _is_on_card(frame: Frame, name: str) -> bool:
    value = frame.lookup(name)
    return type(value) is Tensor and value.is_sure and on_accelerator(value) > 0
