"""Targets: where a move goes, by what it is given."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, DeviceValue, Host
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.placement import CPU, Device, Placement
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Union, Value
from devlint.inference.models.devices import (
    condition_of,
    device_among,
    is_dtype,
    named_device,
    place_of,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import dotted, shorten


class Stay:
    """A change of dtype only: no move."""


_STAY = Stay()


def target_of(
    frame: Frame, name: str, arguments: Arguments
) -> tuple[Placement | Stay, cst.CSTNode | None]:
    """Where a move goes: a placement, None for unknown, or `Stay` for a change of dtype only; and
    what says so."""
    if name == "cpu":
        return CPU, None
    if name in ("cuda", "xpu", "npu"):
        return _of_card(frame, name, arguments)
    device = arguments.keywords.get("device")
    if device is not None:
        return _of_device(frame, *device)
    other = arguments.keywords.get("other") or arguments.keywords.get("tensor")
    if other is not None:
        return place_of(frame, other[0]), other[1]
    if arguments.positional:
        return _of_first(frame, *arguments.positional[0])
    if "**" in arguments.keywords:
        _, node = arguments.keywords["**"]
        return device_among(frame, node), node
    return (_STAY, None) if arguments.keywords and not arguments.open else (None, None)


def condition_of_target(frame: Frame, arguments: Arguments, place: Placement) -> PathCondition:
    """What holds where a move goes to this place, of several that its device may be."""
    given = arguments.get(0, "device")
    return ALWAYS if type(given) is not Union else condition_of(frame, given, place)


def _of_card(frame: Frame, name: str, arguments: Arguments) -> tuple[Placement, cst.CSTNode | None]:
    """`x.cuda()`, `x.cuda(1)`, `x.cuda(args.gpu)`."""
    given, node = arguments.get(0, "device"), arguments.node(0, "device")
    if given is None or (type(given) is Const and given.value is None):
        return Device(name), None
    place = place_of(frame, given)
    return (chosen(frame, node) if place is None else place), node


def _of_device(frame: Frame, value: Value, node: cst.CSTNode) -> tuple[Placement, cst.CSTNode]:
    """`x.to(device=...)`."""
    place = place_of(frame, value)
    if place is None and type(value) is not DeviceValue:
        place = chosen(frame, node)
    return place, node


def _of_first(
    frame: Frame, value: Value, node: cst.CSTNode
) -> tuple[Placement | Stay, cst.CSTNode | None]:
    """`x.to(device)`, `x.to(other)`, `x.to(dtype)`."""
    if type(value) is Host and (number := chosen(frame, node)) is not None:
        return number, node  # `x.to(local_rank)`: the number of a card
    if is_dtype(value):
        return _STAY, None
    place = place_of(frame, value)
    if place is not None or type(value) is DeviceValue:
        return place, node  # a device, perhaps one that is not known
    if type(value) is Tensor and value.place is None and value.is_sure:
        return None, node
    return (_STAY, None) if _names_dtype(node) else (chosen(frame, node), node)


def _names_dtype(node: cst.CSTNode) -> bool:
    name = dotted(node).rpartition(".")[2]
    return "dtype" in name or "precision" in name


def chosen(frame: Frame, node: cst.CSTNode | None) -> Placement:
    """A device that the configuration chooses: `args.device`, `rank`, `gpu_id`; or one that a
    function out of sight does, by its name: `get_default_device()`."""
    if isinstance(node, cst.Call):
        called = dotted(node.func)
        is_device = "device" in called.rpartition(".")[2].lower()
        out_of_sight = is_device and not called.startswith("torch.")
        return named_device(frame, shorten(node)).place if out_of_sight else None
    path = dotted(node) if node is not None else ""
    owner, _, last = path.lower().rpartition(".")
    if owner and type(frame.lookup(path.partition(".")[0])) is Sequence:
        return None  # a tuple has none: its annotation is wrong, and nobody chose its device
    if "device" not in last and "gpu" not in last and "rank" not in last and last != "dev":
        return None
    return named_device(frame, path).place
