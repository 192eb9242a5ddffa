"""Reading a device out of a value: what `.to(v)` or `device=v` asks for."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import DTYPE, Const, DeviceValue, External, text_of
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, either
from devlint.inference.domain.placement import (
    ACCELERATORS,
    CPU,
    Device,
    Placement,
    Variable,
    VariableKind,
)
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Union, Value, cases
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted

_DEVICE_TYPES = frozenset({"cpu", "meta"}) | ACCELERATORS - {"tpu"}


def parse_device(text: str) -> Device | None:
    """`"cuda:1"` as a device; None for what names none."""
    kind, colon, index = text.partition(":")
    if kind not in _DEVICE_TYPES or (colon and not index.isdecimal()):
        return None
    return Device(kind, int(index) if index and kind != "cpu" else None)


def written_device(value: Value) -> Device | None:
    """The device that a constant text names: `"cuda:1"`."""
    return parse_device(text_of(value))


# The element types of the legacy constructors: `torch.LongTensor`, `torch.cuda.LongTensor`.
LEGACY_TYPES = (
    *("Float", "Double", "Half", "BFloat16"),
    *("Long", "Int", "Short", "Byte", "Char", "Bool"),
)


def place_of(frame: Frame, value: Value) -> Placement:
    """The device that a value names; None when that is unknown.

    Of several alternatives the accelerator is taken: the accelerated world. What a caller chose
    goes before it, which then only stands in: `"cuda" if device == "auto" else device`.
    """
    if type(value) is DeviceValue:
        return value.place
    if type(value) is Const:
        held = value.value
        if isinstance(held, str):
            return parse_device(held)
        if isinstance(held, int) and not isinstance(held, bool) and held >= 0:
            return Device("cuda", held)  # -1 stands for the host, or for none
        return None
    if type(value) is Tensor:
        if value.evidence is not None and not value.evidence.is_tensor and names_device(value):
            return config_device(frame, value)
        return value.place
    if type(value) is Union:
        places = [place_of(frame, v) for v in value.alternatives]
        for place in places:
            if type(place) is Variable and place.parameter and place.kind is VariableKind.DEVICE:
                return place
        for place in places:
            if type(place) is Device and place.is_accelerator:
                return place
        for place in places:
            if type(place) is Variable:
                return place
        return CPU if places and all(p == CPU for p in places) else None
    return None


def condition_of(frame: Frame, value: Value, place: Placement) -> PathCondition:
    """What holds where a value names this device, of several: of `place = "cuda" if fast else
    "cpu"`, that `fast` is so."""
    found = [when for each, when in cases(value) if place_of(frame, each) == place]
    condition = found[0] if found else ALWAYS
    for when in found[1:]:
        condition = either(condition, when)
    return condition


def names_device(value: Tensor) -> bool:
    """By its name a parameter of unknown type is a device."""
    node = value.origin.node if value.origin is not None else None
    name = node.name.value if isinstance(node, cst.Param) else ""
    return holds("device-like-name", name)


def config_device(frame: Frame, value: Tensor) -> Placement:
    """A parameter of unknown type that is used as a device: whoever calls chooses it."""
    key = ("device", id(value.evidence))
    held = frame.state.derived.get(key)
    if type(held) is DeviceValue:
        return held.place
    name = "device"
    origin = value.origin
    if origin is not None and hasattr(origin.node, "name"):
        name = origin.node.name.value
    place = Variable(name, VariableKind.DEVICE)
    if value.evidence is not None:
        value.evidence.mark_host()
    frame.state.derived[key] = DeviceValue(place)
    return place


class NumberedCards:
    """The devices of a file that are cards by a number which it names: `f"cuda:{rank}"`."""

    def __init__(self, unit: Unit) -> None:
        self.places: set[Variable] = set()


def named_device(frame: Frame, path: str, numbered: bool = False) -> DeviceValue:
    """The device that the configuration chooses under a name: one in the whole file."""
    key = _key(path)
    held = frame.unit.env.get(key)
    if type(held) is not DeviceValue:
        held = DeviceValue(Variable(path, VariableKind.DEVICE))
        frame.unit.env[key] = held
    if numbered and type(held.place) is Variable:
        frame.unit.kept(NumberedCards).places.add(held.place)
    return held


def device_among(frame: Frame, spread: cst.CSTNode) -> Placement:
    """The device among keyword arguments that are handed on: `x.to(**where)`."""
    path = dotted(spread)
    if "." in path:
        return named_device(frame, f"**{path}").place
    if path and known_among(frame, spread) is None:  # each function has its own of this name
        frame.state.derived["device", path] = DeviceValue(
            Variable(f"**{path}", VariableKind.DEVICE)
        )
    return known_among(frame, spread)


def known_among(frame: Frame, spread: cst.CSTNode) -> Placement:
    """The same of `torch.zeros(3, **where)`, if a move has shown that there is a device among
    them."""
    path = dotted(spread)
    held = frame.state.derived.get(("device", path)) or frame.unit.env.get(_key(f"**{path}"))
    return held.place if type(held) is DeviceValue else None


def _key(path: str) -> str:
    return f"device of {path}"


def is_dtype(value: Value) -> bool:
    """`torch.float32`, `x.dtype`, `torch.FloatTensor`: not a device."""
    if type(value) is External:
        return holds("dtype-name", value.name)
    return value is DTYPE


# `torch.cuda.device(i)` as a value: it selects a device for a `with`, and is none.
CONTEXT = External("torch.cuda.device")
