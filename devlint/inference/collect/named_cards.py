"""Devices of CUDA's by name: `.cuda()`, `"cuda:0"`, `torch.device("cuda", rank)`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect import kept_device_names
from devlint.inference.collect.mentions import note
from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import GLOBAL_RANK, Const, DeviceValue, External, Host, text_of
from devlint.inference.domain.placement import CPU, Device, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.models.devices import place_of
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.events import (
    ArgumentGiven,
    Chosen,
    Compared,
    DefaultEvaluated,
    DeviceFormatted,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance, Super
from devlint.inference.syntax.text import code, dotted, shorten

_LITERALS = (cst.SimpleString, cst.Integer)  # a number is a card's


def of_cuda(frame: Frame, node: cst.Call, receiver: Value, arguments: Arguments) -> None:
    """`x.cuda()`, `x.cuda(0)`; what a variable holds somebody chose."""
    if type(receiver) is Super or (
        type(receiver) is Instance and receiver.info is not None and receiver.info.method("cuda")
    ):
        return
    given = arguments.get(0, "device")
    if given is None:
        if not arguments.open:
            note(frame, node, "device", bare=True).returns = _came_down(receiver)
        return
    if is_global_rank(given):
        note(frame, node, "device").global_rank = True
    elif isinstance(arguments.node(0, "device"), _LITERALS):
        note(frame, node, "device", _index(given))
    elif isinstance(arguments.node(0, "device"), cst.Attribute) and _is_given(given):
        note(frame, node, "device")  # `x.cuda(y.device)` refuses the host


def _is_given(device: Value) -> bool:
    """The device is an input's, or the module's: whatever the caller has chosen."""
    place = device.place if type(device) is DeviceValue else None
    return type(place) is Variable and place.kind in (VariableKind.INPUT, VariableKind.MODULE)


def _came_down(value: Value) -> bool:
    """The value was brought to the host from where an input or a module is."""
    if type(value) is not Tensor or value.origin is None or value.place != CPU:
        return False
    for step in value.origin.chain():
        if step.kind is StepKind.MOVED:
            before = step.before
            return type(before) is Variable and before.kind in (
                VariableKind.INPUT,
                VariableKind.MODULE,
            )
    return False


def of_to(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    pair = arguments.keywords.get("device")
    if pair is None and arguments.positional:
        pair = arguments.positional[0]
    of_device(frame, node, pair)


def of_device(frame: Frame, node: cst.Call, pair: tuple[Value, cst.CSTNode] | None) -> None:
    """A device argument that is a literal: `"cuda"`, `"cuda:0"`, `0`."""
    if pair is None:
        return
    value, given = pair
    if is_global_rank(value):
        note(frame, node, "device").global_rank = True
        return
    if type(value) is not Const:
        return
    place = place_of(frame, value)
    if type(place) is not Device or place.type != "cuda":
        return
    if isinstance(given, _LITERALS):
        note(frame, node, "device", place.index, bare=place.index is None)
        return
    kept = kept_device_names.literal_of(frame, given)
    if kept is not None:
        noted = note(frame, kept, "device", place.index, bare=place.index is None)
        noted.text = f"{dotted(given)} = {kept.value}"


def of_argument(frame: Frame, event: ArgumentGiven) -> None:
    """`make(3, "cuda")`, of a function of the project whose parameter is a device."""
    is_literal = isinstance(event.given, cst.SimpleString) and type(event.value) is Const
    place = place_of(frame, event.value) if is_literal else None
    if type(place) is Device and place.type == "cuda":
        noted = note(frame, event.given, "device", place.index, bare=place.index is None)
        noted.text = shorten(event.node)


def of_torch_device(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    if not arguments.positional or not isinstance(arguments.positional[0][1], _LITERALS):
        return
    place = place_of(frame, arguments.positional[0][0])
    if type(place) is not Device or place.type != "cuda":
        return
    index = arguments.get(1, "index")
    if index is None:
        note(frame, node, "device", place.index, bare=place.index is None)
    elif is_global_rank(index):
        note(frame, node, "device").global_rank = True
    elif isinstance(arguments.node(1, "index"), cst.Integer):
        note(frame, node, "device", _index(index))


def of_cards(frame: Frame, node: cst.Call, value: Value, given: cst.CSTNode) -> None:
    """`device_ids=[rank]`."""
    if type(value) is Sequence and any(is_global_rank(v) for v in value.items or ()):
        note(frame, node, "device").global_rank = True


def of_name(frame: Frame, event: DeviceFormatted) -> None:
    """`f"cuda:{rank}"`."""
    node, index = event
    if len(node.parts) == 2 and is_global_rank(index):
        note(frame, node, "device").global_rank = True


def of_choice(frame: Frame, event: Chosen) -> None:
    """`rank if torch.cuda.is_available() else "cpu"`: the number is a card's."""
    node, chosen = event
    _of_follower(frame, node)
    other = node.orelse.evaluated_value if isinstance(node.orelse, cst.SimpleString) else None
    if chosen is GLOBAL_RANK and other == "cpu":
        note(frame, node, "device").global_rank = True


def _of_follower(frame: Frame, node: cst.IfExp) -> None:
    """`torch.device("cuda") if x.is_cuda else torch.device("cpu")`: where `x` is, on one card.
    So is `rows[0].is_cuda`, of a tensor that something named holds."""
    test = node.test
    if not isinstance(test, cst.Attribute) or test.attr.value != "is_cuda":
        return
    asked = test.value
    holder = asked.value if isinstance(asked, cst.Subscript) else asked
    if not dotted(holder):
        return
    kind = _is_current_card(node.body)
    if kind and not _is_current_card(node.orelse):
        frame.unit.kept(Mentions).notes.pop(node.body, None)
        note(frame, node, kind, bare=True).follows = shorten(asked)


def _is_current_card(node: cst.BaseExpression) -> str:
    """What takes the current card: "device" for `"cuda"` and `torch.device("cuda")`, "legacy-type"
    for `torch.cuda.FloatTensor`; else ""."""
    text = code(node).replace("'", '"')
    if text in ('"cuda"', 'torch.device("cuda")'):
        return "device"
    return "legacy-type" if holds("legacy-tensor-type", text) and ".cuda." in text else ""


def of_comparison(frame: Frame, event: Compared) -> None:
    """`x.device == torch.device("cuda")` asks, it demands nothing."""
    node = event.node
    notes = frame.unit.kept(Mentions).notes
    if notes:
        for operand in (node.left, *(target.comparator for target in node.comparisons)):
            notes.pop(operand, None)
            if isinstance(operand, cst.Attribute):
                notes.pop(operand.value, None)


def of_default(frame: Frame, event: DefaultEvaluated) -> None:
    """A parameter's default is configuration."""
    node = event.node
    frame.unit.kept(Mentions).notes.pop(node, None)


def of_option(mentions: Mentions, name: str, callee: Value, arguments: Arguments) -> None:
    """So is an option's: `options.get("device", torch.device("cuda"))`."""
    place = 1 if name in ("get", "pop", "setdefault") else -1
    if type(callee) is External and callee.name == "builtins.getattr":
        place = 2
    given = arguments.node(place, "default")
    if isinstance(given, cst.Call) and dotted(given.func).endswith("device"):
        mentions.notes.pop(given, None)


def _index(value: Value) -> int | None:
    if type(value) is Const and type(value.value) is int:
        return value.value
    text = text_of(value).rpartition(":")[2]
    return int(text) if text.isdigit() else None


def is_global_rank(value: Value | None) -> bool:
    """The number of a card is the rank among all processes, on one way to here at least."""
    if value is None:
        return False
    found = alternatives(value)
    if GLOBAL_RANK not in found:
        return False
    return all(type(v) is Const or (type(v) is Host and not v.array) for v in found)
