"""Calls of factories: a tensor made here, on `device=` or on the default device."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import NONE, Const, DeviceValue
from devlint.inference.domain.placement import CPU, Placement
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    GRAD,
    LOADED,
    PINNED,
    RECORDED,
    SCALAR,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Union, Value, alternatives, choose, under, union
from devlint.inference.models import generators
from devlint.inference.models.call_results import shape_result
from devlint.inference.models.devices import known_among, place_of
from devlint.inference.models.factories import OF_DATA
from devlint.inference.models.factory_shapes import (
    OF_NUMBERS,
    SHAPES,
    shape_source,
    traits_of_data,
)
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.moves.targets import chosen
from devlint.inference.models.operands import is_number, operands_of
from devlint.inference.program.events import HostWaits, NumberTaken, PlaceSettled, TensorMade
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.predicates import NO_TENSOR
from devlint.inference.syntax.text import dotted, names_in, shorten
from devlint.knowledge import Call, Result


def make(frame: Frame, node: cst.Call, last: str, known: Call, arguments: Arguments) -> Value:
    """What a factory gives: the tensor that it fills, if it is given one, else one made here."""
    out = arguments.keywords.get("out")
    if out is None:
        return _made(frame, node, last, known, arguments)
    return union(
        _filled(frame, node, each) or _made(frame, node, last, known, arguments)
        for each in alternatives(out[0])
    )


def _filled(frame: Frame, node: cst.Call, out: Value) -> Value | None:
    """What a factory returns that fills `out`; None when it is given none."""
    if type(out) is not Tensor:
        return None if type(out) is Const and out.value is None else UNKNOWN
    return out.with_place(out.place, frame.origin(StepKind.COMPUTED, node, out.origin))


def _made(frame: Frame, node: cst.Call, last: str, known: Call, arguments: Arguments) -> Value:
    device, device_node = arguments.keywords.get("device", (None, None))
    if device is None and "**" in arguments.keywords:
        return _made_with(frame, node, arguments)
    if device is not None and last in OF_DATA:
        for value, _ in operands_of(known, arguments):
            for tensor in tensors_in(value):
                frame.emit(PlaceSettled(tensor))
                if tensor.evidence is not None:
                    tensor.evidence.effects.move(frame.state.when)
    made = factory_result(frame, node, last, device, device_node, arguments)
    if known.random:  # what takes a `generator=` without that decides itself where it draws
        generators.check(frame, node, made, arguments)
    if known.result is Result.LIKE and made.origin is not None:
        likened = [t for value, _ in operands_of(known, arguments)[:1] for t in tensors_in(value)]
        made.origin.before = likened[0].place if len(likened) == 1 else None
    if type(device) is DeviceValue and device.one_of:
        several = ((made.with_place(place, made.origin), when) for place, when in device.one_of)
        return choose((under(each, when), when) for each, when in several)
    return made


def _made_with(frame: Frame, node: cst.Call, arguments: Arguments) -> Tensor:
    """`torch.zeros(3, **where)`: perhaps there is a `device=` among them."""
    origin = frame.origin(StepKind.CREATED, node, None, "made here")
    return Tensor(known_among(frame, arguments.keywords["**"][1]), origin)


def factory_result(
    frame: Frame,
    node: cst.Call,
    last: str,
    device: Value | None,
    device_node: cst.CSTNode | None,
    arguments: Arguments,
) -> Tensor:
    """A tensor made here: on `device=`, else on the default device."""
    place, traits, said = _destination(frame, device, device_node, arguments)
    traits |= traits_of_data(last, arguments)
    if _is_on(arguments, "requires_grad"):
        traits |= GRAD | RECORDED
    if _is_on(arguments, "pin_memory"):
        traits |= PINNED
    sizes = None if last in OF_DATA else shape_source(last, arguments)
    if sizes is not None and _takes_dtype_of(frame, arguments, sizes):
        sizes.show()
    for value, argument in arguments.positional if last in OF_NUMBERS else ():
        frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))
    origin = frame.origin(StepKind.CREATED, node, None, said)
    origin.takes_device = True
    result = Tensor(place, origin, traits, None, sizes)
    frame.emit(TensorMade(node, result))
    return result


def _destination(
    frame: Frame, device: Value | None, device_node: cst.CSTNode | None, arguments: Arguments
) -> tuple[Placement, int, str]:
    """Where a new tensor is put, whether that is the default, and the words of its history."""
    if type(device) is Const and device.value is None:
        # `self.device` only starts with None: others set it. The literal asks for the default.
        device = UNKNOWN if isinstance(device_node, cst.Attribute) else None
    if device is not None:
        # on the device of what was made on the default one, it is there by default as well
        of = device.of if type(device) is DeviceValue else None
        by_default = of.traits & DEFAULT if of is not None else 0
        return _place_told(frame, device, device_node), by_default, "made here"
    out = arguments.keywords.get("out")
    if out is not None and out[0] is not NONE:  # where that is, if it is a tensor at all
        return out[0].place if type(out[0]) is Tensor else None, 0, "written here"
    if frame.has_default_device:
        return frame.default_device, 0, "made here"
    return frame.default_device, DEFAULT, "made here on the default device"


def _place_told(frame: Frame, device: Value, node: cst.CSTNode | None) -> Placement:
    """The place that `device=` names."""
    place = place_of(frame, device)
    if place == CPU and any(type(v) is Const and v.value is None for v in alternatives(device)):
        place = None
    if place is None and node is not None and type(device) is not DeviceValue:
        return chosen(frame, node)
    return place


def _is_on(arguments: Arguments, flag: str) -> bool:
    """A keyword that is given as `True`."""
    given = arguments.keywords.get(flag)
    return given is not None and type(given[0]) is Const and given[0].value is True


def _takes_dtype_of(frame: Frame, arguments: Arguments, owner: Tensor) -> bool:
    """`dtype=x.dtype`: no array has a dtype of torch, and no module a shape."""
    given = arguments.keywords.get("dtype")
    if given is None or not isinstance(given[1], cst.Attribute) or given[1].attr.value != "dtype":
        return False
    path = dotted(given[1].value)
    held = frame.lookup(path) if path else None
    return type(held) is Tensor and held.evidence is owner.evidence


def make_like(
    frame: Frame,
    node: cst.Call,
    last: str,
    known: Call,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Value:
    """`*make_like`, `torch.tensor(t)`: where the first operand is."""
    if last in OF_DATA:
        return _tensor_of_data(frame, node, last, operands, arguments)
    first = operands[0][0] if operands else UNKNOWN
    if type(first) is Union:  # as many as the branches left
        sources = [v for v in first.alternatives if type(v) is Tensor]
    else:
        sources = tensors_in(first)[:1]
    if not sources:
        return Tensor(None)
    results: list[Value] = []
    kept = DEFAULT | LOADED | EMPTY | (SHAPES if last.endswith("_like") else 0)
    for source in sources:
        origin = frame.origin(StepKind.CREATED, node, source.origin)
        origin.takes_device = "device" in known.params
        made = Tensor(source.place, origin, source.traits & kept)
        if known.random:
            generators.check(frame, node, made, arguments)
        results.append(made)
    return union(results)


def _tensor_of_data(
    frame: Frame,
    node: cst.Call,
    last: str,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Value:
    """`torch.tensor(data)`: a tensor's own device, else the default one, a list's elements read."""
    data = operands[0][0] if operands else UNKNOWN
    if "**" in arguments.keywords:
        return _made_with(frame, node, arguments)
    if type(data) is Tensor and data.evidence is None:
        origin = frame.origin(StepKind.COMPUTED, node, data.origin)
        return Tensor(data.place, origin, data.traits & (DEFAULT | LOADED | SCALAR))
    is_list = type(data) is Tensor and _is_list(frame, data, operands[0][1])
    if type(data) is Tensor and data.is_sure and not is_list:
        return Tensor(data.place, frame.origin(StepKind.COMPUTED, node, data.origin))
    is_either = type(data) is Tensor and data.evidence is not None and data.evidence.hints.either
    if is_either and not is_list:
        return Tensor(None)  # it stays where it is, or is made of a number or an array
    if type(data) is Sequence:
        for tensor in tensors_in(data)[:1]:
            if tensor.is_sure:
                frame.emit(HostWaits(node, f"torch.{last} of tensors", tensor, operands[0][1]))
    result = factory_result(frame, node, last, None, None, arguments)
    if result.origin is not None:
        if type(data) is Tensor and not is_list:
            result.origin.rival = data
        result.origin.before = _place_as_tensor(frame, arguments)
    return result


def _is_list(frame: Frame, data: Tensor, node: cst.CSTNode) -> bool:
    """`if isinstance(x, list): x = torch.tensor(x)`: here it is none, elsewhere it may be."""
    path = dotted(node)
    return bool(path) and frame.state.env.get(NO_TENSOR + path) is data


def _place_as_tensor(frame: Frame, arguments: Arguments) -> Placement:
    """`if not torch.is_tensor(x): x = torch.tensor(x)`: where `x` is in the other case. Also of
    what is made of it on the way, as in `torch.from_numpy(np.array(x))`."""
    for _, given in arguments.positional[:1]:
        for name in names_in(given):
            for value in alternatives(frame.state.env.get(NO_TENSOR + name, UNKNOWN)):
                if type(value) is Tensor:
                    if value.evidence is not None:
                        value.evidence.effects.converted = True
                    return value.place
    return None


def make_on_host(
    frame: Frame, node: cst.Call, last: str, known: Call, arguments: Arguments
) -> Value:
    note_text = "made here on the CPU"
    origin = frame.origin(StepKind.CREATED, node, None, note_text)
    if last == "from_numpy":
        if "device" in arguments.keywords:
            return Tensor(None)  # it takes none: the call raises, and nothing comes of it
        origin.before = _place_as_tensor(frame, arguments)
        data = arguments.get(0, "ndarray")
        zero_dim = data is not None and is_number(data)  # an array made of a number
        return Tensor(CPU, origin, DEFAULT | SCALAR if zero_dim else DEFAULT)
    return shape_result(frame, node, Tensor(CPU, origin, DEFAULT), known, arguments)
