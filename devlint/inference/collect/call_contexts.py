"""What a call hands to the parameters of a plain function, and on which of them a fact rests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from devlint.inference.call_contexts import Fed, Feed, Given
from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import NONE, Const, DeviceValue, Host
from devlint.inference.domain.placement import CPU, Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import INDIRECT, LITERAL, LOADED, Tensor
from devlint.inference.domain.value import CONVERTED, UNKNOWN, Value, alternatives, is_untold
from devlint.inference.facts import MeetingKind
from devlint.inference.models.devices import written_device
from devlint.inference.models.elements import is_row
from devlint.inference.models.factories import CONVERTERS
from devlint.inference.program.declarations import ClassInfo, Function, Owners
from devlint.inference.program.device_awareness import asks_for_device, computes_loss, minds_devices
from devlint.inference.program.events import HandedOver, PartMade, UnknownCalled
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import Meetings
from devlint.inference.program.roles import feeds_device
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.summaries.arguments import Binding, CallBound
from devlint.inference.syntax.moved_sources import moved_sources
from devlint.inference.syntax.text import called_name, code, dotted, plain_parameters


def given(
    frame: Frame,
    *tensors: Tensor,
    waits: bool = False,
    meets: bool = False,
    may_be_array: bool = False,
    made: bool = False,
    as_index: bool = False,
) -> Given | None:
    """The parameter of a plain function that one of these is where: of no module's own methods,
    since those live where the module does; but for those that only other methods call.

    What a private function merely `meets` is its callers' doing: one of them must be in sight,
    unless the function itself asks for the device of what it is given.
    """
    for tensor in tensors:
        place = tensor.place
        if type(place) is not Variable or place.kind not in _CALLERS:
            continue
        function = frame.unit.context.kept(Owners).functions.get(place)
        if function is None:
            continue
        if place.kind is VariableKind.DEVICE:
            own = parameter_given(function, place)
            return None if own is None or own.serves else replace(own, is_device=True)
        works = _works_with_module(function)
        if works and not may_be_array and holds("framework-method", function.name):
            continue
        found = parameter_given(function, place, of_local=may_be_array)
        if found is None:
            return None
        minds = works or minds_devices(function, place.name)
        alone = works or computes_loss(function) or asks_for_device(function)
        inner = meets and found.is_private and not alone
        return replace(
            found,
            minds=minds,
            waits=waits,
            inner=inner,
            may_be_array=may_be_array,
            made=made,
            as_index=as_index,
            of_module=works,
        )
    return None


_CALLERS = (VariableKind.INPUT, VariableKind.DEVICE)  # they choose what is there


def is_callers_own(frame: Frame, place: Placement) -> bool:
    """The place is that of a parameter of a module's method, which no framework calls, and which
    does not bring it together with what the module has."""
    function = frame.function
    if function is None or function.info is None or holds("framework-method", function.name):
        return False
    own = (p for p in function.parameters if not p.is_device and type(p.value) is not Instance)
    is_own = place is not None and place in {each.variable for each in own}
    is_own = is_own and _works_with_module(function)
    return is_own and place not in _brought_home(frame, function.info)


def note_home(frame: Frame) -> None:
    """A module's method is done: which inputs it brings together with what the module has."""
    function = frame.function
    if function is None or function.info is None or not _works_with_module(function):
        return
    own = {each.variable for each in function.parameters}
    for place in _brought_home(frame, function.info) & own:
        frame.unit.facts.feeds.add(Feed(function.key, place.name, Fed.HOME))


def _brought_home(frame: Frame, info: ClassInfo) -> set[Variable]:
    """The places that a method of a module has in one operation with the module's own."""
    homes = {each.variable for each in info.lineage()}
    pairs = (pair for pair in frame.kept(Meetings).pendings if not homes.isdisjoint(pair))
    return {place for pair in pairs for place in pair if type(place) is Variable} - homes


def read(frame: Frame, tensor: Tensor) -> Given | None:
    """The parameter of a plain function that the host reads: callers that all have it on the host
    never wait for a device. Whether the function minds devices is no question here; a method's
    object is made to work on one."""
    place = tensor.place
    if type(place) is not Variable or place.kind is not VariableKind.INPUT:
        return None
    function = frame.unit.context.kept(Owners).functions.get(place)
    if function is None or function is not frame.function or function.info is not None:
        return None
    found = parameter_given(function, place)
    return None if found is None else replace(found, minds=True)


def parameter_given(function: Function, place: Variable, of_local: bool = False) -> Given | None:
    """A parameter of a function, by the variable that stands for its device. Of a function that
    only the one around it calls all calls are in sight, and are looked at by themselves."""
    if function.is_local and not of_local:
        return None
    return _of_function(function, place.name)


def default_device(function: Function | None) -> Given | None:
    """The default device of a function, which a caller may have chosen:
    `with torch.device("cuda"): net.set_up(3)`."""
    if function is None or function.is_local:
        return None
    return _of_function(function, "")


def _of_function(function: Function, parameter: str) -> Given | None:
    names = function.positional
    if function.name == "<lambda>":
        return None
    called = function.name
    mentioned = called
    if function.info is not None and called.startswith("__") and called.endswith("__"):
        called, mentioned = f"{function.info.name}.{called}", function.info.name
    index = names.index(parameter) if parameter in names else -1
    public = not function.name.startswith("_") or _is_called_object(function)
    serves = public and not function.unit.is_script
    return Given(
        function.key,
        called,
        mentioned,
        parameter,
        index,
        serves=serves,
        overrides=_overrides(function),
    )


def _overrides(function: Function) -> tuple[str, ...]:
    """The methods of base classes in whose place this one may be called: `self.net.embed(x)`, where
    the class of `net` is a base."""
    if function.info is None or function.name.startswith("__"):
        return ()
    found = (each.methods.get(function.name) for each in function.info.lineage())
    return tuple(each.key for each in found if each is not None and each is not function)


def _is_called_object(function: Function) -> bool:
    """`sample(x)`, of a class that others import."""
    return function.name == "__call__" and not (
        function.info is None or function.info.name.startswith("_")
    )


def _note_around(frame: Frame, callee: str) -> None:
    """A call, by the key of its callee, under a default device that the code chose, or under the
    one that the caller is called under."""
    feeds, caller = frame.unit.facts.feeds, frame.function
    if frame.unit.is_test:
        return
    if frame.has_default_device:
        feeds.add(Feed(callee, "", Fed.AROUND))
        return
    through = default_device(caller)
    if through is not None:
        feeds.add(Feed(callee, "", Fed.CALLER, through))


def _works_with_module(function: Function) -> bool:
    """A module's own method."""
    return function.info is not None and function.info.is_module and not _is_static(function)


def _is_static(function: Function) -> bool:
    return function.is_static or function.is_class_method


_SHOWN = (Fed.DEVICE, Fed.TENSOR, Fed.ROW, Fed.INPUT)


def note(frame: Frame, event: CallBound) -> None:
    """A call of a function in sight."""
    function, binding = event
    if frame.function is function or frame.unit.is_test:
        return  # tests hand in what is at hand
    _note_around(frame, function.key)
    works = _works_with_module(function)
    feeds = frame.unit.facts.feeds
    indexed_on_host = _indexed_on_host(function, binding)
    for parameter, (bound, written) in binding.given.items():
        value = binding.spread.get(parameter, bound)
        sources = list(_sources(frame, value))
        if all(source is Fed.CALLER for source, _ in sources) and (
            _is_moved_elsewhere(frame, value, written) or parameter in indexed_on_host
        ):
            sources.append((Fed.HOST, None))
        told = {source for source, _ in sources} in ({Fed.HOST}, {Fed.INPUT})
        if works and not told and type(value) is not Const:
            shown = [source for source in sources if source[0] in _SHOWN]
            sources = [*shown, (Fed.OPEN, None)]  # it may well be where the module is
        one_of = _is_one_of_several(value)
        feeds.update(Feed(function.key, parameter, *source, one_of) for source in sources)


class _MovedSources:
    """By function, what it brings from the host to another device, as it is written."""

    def __init__(self) -> None:
        self.known: dict[cst.CSTNode, frozenset[str]] = {}

    def of(self, function: Function) -> frozenset[str]:
        found = self.known.get(function.node)
        if found is None:
            found = self.known[function.node] = moved_sources(function.node)
        return found


def _is_moved_elsewhere(frame: Frame, value: Value, written: cst.CSTNode) -> bool:
    """Nothing is known of a value but that the caller brings it to a device in another place: so it
    is not there. `mask(batch["kinds"])`, and `net(batch["kinds"].to(device))`"""
    function = frame.function
    if function is None or type(value) is Const:
        return False
    moved = frame.unit.context.kept(_MovedSources).of(function)
    return bool(moved) and code(written) in moved


def _indexed_on_host(function: Function, binding: Binding) -> set[str]:
    """The parameters that the callee reads at an index which this call copies to the host: who does
    so knows that they are there. `rate(t.cpu(), table)`, of `table[t]`"""
    found: set[str] = set()
    for pending in function.summary.pendings if function.summary is not None else ():
        base, index = pending.left.place, pending.right.place
        if pending.kind is not MeetingKind.INDEX or base not in binding.places:
            continue
        if type(base) is Variable and type(index) is Variable:
            value = binding.given[index.name][0] if index.name in binding.given else UNKNOWN
            step = value.origin if type(value) is Tensor and value.place == CPU else None
            if step is not None and step.kind is StepKind.MOVED:
                found.add(base.name)
    return found


def note_part(frame: Frame, event: PartMade) -> None:
    """An object is made: that of a module works where the module does, in what is called of it."""
    info = event.info
    if frame.in_module and not frame.unit.is_test:
        feeds = frame.unit.facts.feeds
        for each in info.lineage():
            called = (f for name, f in each.methods.items() if not _is_private(name))
            feeds.update(Feed(f.key, None, Fed.PART) for f in called)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def note_unknown(frame: Frame, event: UnknownCalled) -> None:
    """A call of what is out of sight: of a method, by its name, or of a file not followed; or of a
    function that the caller was handed, by the name of the one that stands in for it."""
    node, arguments = event
    name = _stands_in(frame, node.func) or called_name(node)
    if not name or frame.unit.is_test:
        return
    _note_around(frame, f".{name}")
    slots: list[tuple[int | str, Value]] = [
        *enumerate(value for value, _ in arguments.positional),
        *((keyword, value) for keyword, (value, _) in arguments.keywords.items()),
    ]
    feeds = frame.unit.facts.feeds
    for slot, value in slots:
        for source, through in _sources(frame, value):
            feeds.add(Feed(f".{name}", slot, source, through, _is_one_of_several(value)))


def _stands_in(frame: Frame, callee: cst.BaseExpression) -> str:
    """The function that a parameter has for its default: `def fit(x, loss=squared): loss(x)`."""
    if not isinstance(callee, cst.Name) or frame.function is None:
        return ""
    for each in plain_parameters(frame.function.node.params):
        if each.name.value == callee.value and each.default is not None:
            name = dotted(each.default).rpartition(".")[2]
            return "" if name in ("None", "self") else name
    return ""


def note_handed_over(frame: Frame, event: HandedOver) -> None:
    """Functions, and objects that are called like one, are handed to others, who call them with
    what they have: on the host, where that is what these are for."""
    name, arguments = event
    on_host = [value for key, (value, _) in arguments.keywords.items() if holds("host-option", key)]
    if holds("host-caller", name):
        on_host += [value for value, _ in arguments.positional]
    feeds = frame.unit.facts.feeds
    for value in on_host:
        for each in alternatives(value):
            held = each.items if type(each) is Sequence and each.items is not None else [each]
            for one in held:
                feeds.update(Feed(function.key, None, Fed.HOST) for function in _called_as(one))
    if not frame.unit.is_script:
        handed = (value for value, _ in arguments.all() if type(value) is FunctionValue)
        feeds.update(Feed(each.function.key, None, Fed.OTHERS) for each in handed)


def _called_as(value: Value) -> list[Function]:
    if type(value) is FunctionValue:
        return [value.function]
    if type(value) is Instance and value.info is not None:
        found = (value.info.method("__call__"), value.info.method("forward"))
        return [function for function in found if function is not None]
    return []


def _is_one_of_several(value: Value) -> bool:
    return sum(each is not NONE for each in alternatives(value)) > 1


def _sources(frame: Frame, value: Value) -> Iterable[tuple[Fed, Given | None]]:
    """Where what is handed in comes from, as far as that is known. What is a tensor, or is made
    one, comes from where it is one: what is no tensor is nowhere."""
    several = alternatives(value)
    if frame.function is not None and all(map(_is_open, several)) and feeds_device(frame.function):
        yield Fed.HOST, None  # what nothing says of it: there all is on the host
    for each in several:
        if type(each) is Tensor and each.was_converted and len(several) > 1:
            continue
        if type(each) is Host or each is CONVERTED:  # an array, or a number; or made of one
            yield Fed.HOST, None
        elif type(each) is Sequence or type(each) is Mapping:
            parts = _parts_of(each)
            alike = all(type(part) is Tensor for part in parts)
            for part in parts:
                if type(part) is Tensor:
                    yield from (s for s in _source(frame, part) if alike or s[0] not in _OF_TENSORS)
        elif type(each) is Tensor:
            yield from _source(frame, each)
        elif type(each) is Instance and each.tensor is not None:
            yield from _source(frame, each.tensor)  # a graph, where its tensors are
        elif type(each) is DeviceValue or type(each) is Const:
            yield from _of_device(frame, each)


def _parts_of(held: Sequence | Mapping) -> list[Value]:
    """What a container holds, as far as that is told apart."""
    if type(held) is Sequence and held.items is None:
        return list(alternatives(held.any()))
    return list(held.children())


def _of_device(frame: Frame, value: DeviceValue | Const) -> Iterable[tuple[Fed, Given | None]]:
    """Which device is handed in: the host, another one, or that of the caller's own parameter."""
    place = value.place if type(value) is DeviceValue else written_device(value)
    if type(place) is Device:
        yield (Fed.DEVICE if place.is_accelerator else Fed.HOST), None
    elif type(place) is Variable:
        through = handed_on(frame, place)
        yield (Fed.DEVICE, None) if through is None else (Fed.CALLER, through)


def handed_on(frame: Frame, place: Variable) -> Given | None:
    """The parameter of a function whose device this is, which that function hands on."""
    own = frame.unit.context.kept(Owners).functions.get(place)
    return parameter_given(own, place) if own is not None else None


_OF_TENSORS = (Fed.TENSOR, Fed.ROW)  # no part of `(rows, lengths)` need be one


def _is_open(value: Value) -> bool:
    """Nothing tells where it is."""
    return is_untold(value) or (type(value) is Tensor and value.place is None)


def _source(frame: Frame, tensor: Tensor) -> Iterable[tuple[Fed, Given | None]]:
    place = tensor.place
    if place is None or tensor.traits & INDIRECT:
        return
    if tensor.evidence is not None and tensor.evidence.is_kept:
        return  # `Module.to` passes plain attributes by
    if type(place) is Device:
        if place.is_accelerator:
            yield from _on_device(tensor)
        elif place.type == "cpu" and (frame.function is not None or _was_read(tensor)):
            yield Fed.HOST, None  # what is made up at the end of a file only demonstrates
        return
    assert type(place) is Variable
    if place.kind is not VariableKind.INPUT:
        yield from _on_device(tensor)
        return
    if frame.unit.feeds_host:
        yield Fed.HOST, None
        return
    through = handed_on(frame, place)
    if frame.in_module and tensor.is_sure:
        yield (Fed.DEVICE, None) if through is None else (Fed.INPUT, through)
    elif through is not None:
        yield Fed.CALLER, through


def _on_device(tensor: Tensor) -> Iterable[tuple[Fed, None]]:
    yield Fed.DEVICE, None
    if tensor.is_sure:
        yield Fed.ROW if is_row(tensor) else Fed.TENSOR, None


def _was_read(tensor: Tensor) -> bool:
    """Read or converted on the host, or brought there: more than a factory's tensor."""
    if tensor.origin is None or tensor.traits & LITERAL:
        return False
    if tensor.traits & LOADED:
        return True
    made = tensor.origin.root.node
    name = dotted(made.func).rpartition(".")[2] if isinstance(made, cst.Call) else ""
    return name in CONVERTERS or any(s.kind is StepKind.MOVED for s in tensor.origin.chain())
