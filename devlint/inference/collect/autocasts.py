"""Autocasting and gradient scaling: what is given to them, and where the work in them is.

`torch.autocast(device)` refuses a `torch.device`, and `torch.autocast("cpu")` does nothing for what
is computed on CUDA.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import ASSUMED, Const, DeviceValue, External
from devlint.inference.domain.placement import Device, Placement, Variable, VariableKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.facts import AutocastElsewhere, AutocastMistake, MistakenAutocast
from devlint.inference.models.devices import parse_device
from devlint.inference.models.module_places import placed
from devlint.inference.program.records import Arguments, Frame, Instance, Unit
from devlint.inference.syntax.text import dotted, every, shorten

_AUTOCASTS = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
_SCALERS = frozenset(
    {"torch.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"}
)
_CUDA_AUTOCASTS = frozenset({"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"})
_CUDA_SCALERS = frozenset({"torch.cuda.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler"})
_DTYPES = frozenset({"float16", "bfloat16", "half", "float32", "float", "float64", "double"})


class _Seen:
    """What one file's walk noted."""

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        self.concerned = "autocast" in text or "GradScaler" in text
        self.mistakes: dict[cst.CSTNode, MistakenAutocast] = {}
        self.kinds: dict[cst.Call, str] = {}  # the device type that an autocast is for
        self.places: dict[cst.Call, list[tuple[str, Placement]]] = {}  # what calls are given


def of_call(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> None:
    """Note how something is autocast or scaled, and what other calls compute with."""
    seen = frame.unit.kept(_Seen)
    if not seen.concerned:
        return
    if type(callee) is not External:
        seen.places[node] = [*_places(frame, node, callee, arguments)]
        return
    name = f"{callee.name}.{node.func.attr.value}" if isinstance(node.func, cst.Attribute) else ""
    name = name or callee.name
    seen.places[node] = [*_places(frame, node, callee, arguments)]
    if name in _AUTOCASTS:
        _of_autocast(frame, node, arguments)
    elif name in _SCALERS:
        _of_scaler(frame, node, arguments)
    elif name in _CUDA_AUTOCASTS:
        _of_cuda(frame, node, arguments, AutocastMistake.UNREAD, ("device_type", "device"))
        _of_kind(frame, node, "cuda", arguments.node(0, "enabled"))
    elif name in _CUDA_SCALERS:
        _of_cuda(frame, node, arguments, AutocastMistake.SCALE, ("device",))


def _of_autocast(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    if "device" in arguments.keywords:
        _note(frame, node, AutocastMistake.KEYWORD, arguments.keywords["device"][1], "device")
        return
    value, given = arguments.get(0, "device_type"), arguments.node(0, "device_type")
    if value is None or given is None:
        if not arguments.open:
            _note(frame, node, AutocastMistake.MISSING, node)
    elif type(value) is DeviceValue and value.sure:
        _note(frame, node, AutocastMistake.DEVICE, given)
    elif _is_flag(value, given):
        _note(frame, node, AutocastMistake.FLAG, given)
    elif type(value) is External and value.name.removeprefix("torch.") in _DTYPES:
        _note(frame, node, AutocastMistake.DTYPE, given)
    elif type(value) is Const and isinstance(value.value, str):
        place = parse_device(value.value)
        if place is not None and isinstance(given, cst.SimpleString):
            _of_kind(frame, node, place.type, arguments.node(2, "enabled"))


def _of_kind(frame: Frame, node: cst.Call, kind: str, enabled: cst.CSTNode | None) -> None:
    """What decides whether it is on may know where the work is."""
    if not frame.guards and (enabled is None or dotted(enabled) == "True"):
        frame.unit.kept(_Seen).kinds[node] = kind


def _of_scaler(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    value, given = arguments.get(0, "device"), arguments.node(0, "device")
    if value is not None and given is not None and _is_flag(value, given):
        _note(frame, node, AutocastMistake.SCALER_FLAG, given)


def _of_cuda(
    frame: Frame,
    node: cst.Call,
    arguments: Arguments,
    mistake: AutocastMistake,
    unknown: tuple[str, ...],
) -> None:
    """`torch.cuda.amp.autocast("cuda")`, whose first argument is another one."""
    for keyword in unknown:
        if keyword in arguments.keywords:
            _note(frame, node, AutocastMistake.KEYWORD, arguments.keywords[keyword][1], keyword)
            return
    value, given = arguments.get(0, "enabled"), arguments.node(0, "enabled")
    names = type(value) is Const and isinstance(value.value, str)
    if given is not None and (names or (type(value) is DeviceValue and value.sure)):
        _note(frame, node, mistake, given)


def _is_flag(value: Value, given: cst.CSTNode) -> bool:
    if isinstance(given, cst.Comparison):
        return True
    if isinstance(given, cst.UnaryOperation) and isinstance(given.operator, cst.Not):
        return True
    return type(value) is Const and type(value.value) is bool and value is not ASSUMED


def _note(
    frame: Frame, node: cst.Call, mistake: AutocastMistake, given: cst.CSTNode, keyword: str = ""
) -> None:
    if frame.caught or frame.expecting:
        return
    frame.unit.kept(_Seen).mistakes[node] = MistakenAutocast(
        frame.site(node), mistake, shorten(node.func), frame.site(given), shorten(given), keyword
    )


def _places(
    frame: Frame, node: cst.Call, callee: Value, arguments: Arguments
) -> list[tuple[str, Placement]]:
    """The tensors and modules of a call, and where each is for certain; None for unknown."""
    values = [(callee, node.func), *arguments.all()]
    found: list[tuple[str, Placement]] = []
    for value, given in values:
        if type(value) is Tensor:
            found.append((shorten(given), value.place if value.is_sure else None))
        elif type(value) is Instance and value.module:
            found.append((shorten(given), placed(frame, value)[0]))
    return found


def settle(unit: Unit) -> None:
    """Make facts of what was noted."""
    seen = unit.kept(_Seen)
    if unit.frame is None:
        return
    unit.facts.mistaken_autocasts += seen.mistakes.values()
    if not seen.kinds:
        return
    for block in every(unit.tree, cst.With):
        for item in block.items:
            if isinstance(item.item, cst.Call) and item.item in seen.kinds:
                kind = seen.kinds[item.item]
                found = _elsewhere(seen, block, kind)
                if found is not None:
                    name, place = found
                    unit.facts.autocasts_elsewhere.append(
                        AutocastElsewhere(unit.frame.site(item.item), kind, name, place)
                    )


def _elsewhere(seen: _Seen, block: cst.With, kind: str) -> tuple[str, Placement] | None:
    """Something in the block that is elsewhere, as all of it is; or where somebody chooses."""
    inside = [place for call in every(block.body, cst.Call) for place in seen.places.get(call, ())]
    if not inside:
        return None
    if all(type(place) is Device and place.type != kind for _, place in inside):
        return inside[0]
    chosen = [
        (name, place)
        for name, place in inside
        if type(place) is Variable and place.kind is VariableKind.DEVICE
    ]
    return chosen[0] if chosen and kind != "cpu" else None
