"""Legacy tensor types, each a dtype and a device in one: `torch.cuda.FloatTensor`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.mentions import note
from devlint.inference.conventions import holds
from devlint.inference.domain.host import External, text_of
from devlint.inference.domain.placement import Device, Variable, VariableKind, may_be_accelerator
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.devices import place_of
from devlint.inference.models.unification.authority import mended_place
from devlint.inference.program.accelerator_notes import MentionNote, Mentions
from devlint.inference.program.events import TypeNamed
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, every


def of_conversion(frame: Frame, node: cst.Call, receiver: Value, arguments: Arguments) -> None:
    """`x.type(torch.FloatTensor)`: a dtype and a device in one."""
    value, given = arguments.get(0, "dtype"), arguments.node(0, "dtype")
    if value is None:
        return
    subject = receiver if type(receiver) is Tensor else None
    name = value.name if type(value) is External else text_of(value)
    if holds("legacy-tensor-type", name):
        frame.unit.kept(Mentions).converts = True
        noted = _note_conversion(frame, node, subject, _moves(subject, name))
        noted.to_card = name.startswith("torch.cuda.")
        noted.type_name = name
    elif subject is not None and _is_type_of(given):
        assert isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute)
        other = frame.eval(given.func.value)
        place = mended_place(subject)
        moves = type(other) is Tensor and None not in (other.place, place) and place != other.place
        _note_conversion(frame, node, subject, moves)


def _note_conversion(
    frame: Frame, node: cst.Call, subject: Tensor | None, moves: bool
) -> MentionNote:
    noted = note(frame, node, "legacy-type")
    noted.subject, noted.moves = subject, moves
    return noted


def _is_type_of(node: cst.CSTNode | None) -> bool:
    """`y.type()` as the argument of `x.type`."""
    return (
        isinstance(node, cst.Call)
        and not node.args
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "type"
    )


def _moves(subject: Tensor | None, name: str) -> bool:
    """The type takes the tensor away from where it may be."""
    place = None if subject is None else mended_place(subject)
    to_cuda = name.startswith("torch.cuda.")
    if type(place) is Variable:
        return place.kind is not VariableKind.FLEXIBLE
    return isinstance(place, Device) and place.is_accelerator is not to_cuda


def of_call(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """`torch.LongTensor([…])`, or `LongTensor` that the file imports. A variable is a type that
    somebody chose, `kind(3)`, of which only the device that it refuses is said."""
    func = node.func
    if (
        not isinstance(func, cst.Name)
        or func.value in frame.unit.kept(_Imported).names
        or (_refuses(frame, name, arguments) and type(frame.lookup(func.value)) is External)
    ):
        of_constructor(frame, node, name, arguments)


def of_constructor(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """`torch.LongTensor([…], device=d)` refuses every device but its own."""
    refused = _refuses(frame, name, arguments)
    if refused or name != "torch.Tensor":
        noted = note(frame, node, "legacy-type")
        noted.refused, noted.type_name = refused, name


def _refuses(frame: Frame, name: str, arguments: Arguments) -> bool:
    device = arguments.keywords.get("device")
    if device is None or ".cuda." in name or frame.unit.feeds_host:
        return False
    return may_be_accelerator(place_of(frame, device[0]))


class _Imported:
    """The names that a file imports from modules."""

    def __init__(self, unit: Unit) -> None:
        self.names = {
            dotted(alias.asname.name if alias.asname is not None else alias.name)
            for each in every(unit.tree, cst.ImportFrom)
            for alias in every(each, cst.ImportAlias)
        }


def of_type_name(frame: Frame, event: TypeNamed) -> None:
    """`torch.cuda.FloatTensor` as a value: a type that is kept for later."""
    node, value = event
    name = value.name if type(value) is External else ""
    if name.startswith("torch.cuda.") and holds("legacy-tensor-type", name):
        note(frame, node, "legacy-type")
