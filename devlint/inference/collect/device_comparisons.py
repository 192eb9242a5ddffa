"""Comparisons of devices that come out the same wherever a tensor is.

A `torch.device` equals no string. And where a tensor is on an accelerator has an index, `cuda:0`:
it does not equal `torch.device("cuda")`, which has none, and stands for the current card only where
something is put there. A device that somebody else chose may well have none.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.compared_parameters import compared
from devlint.inference.collect.invalid_devices import note_mistake
from devlint.inference.conventions import found
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import NONE, Const, DeviceValue, text_of
from devlint.inference.domain.placement import Device
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Mistake
from devlint.inference.models.devices import written_device
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import ComparisonNote, DeviceCompared
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import (
    called_name,
    code,
    dotted,
    every,
    plain_parameters,
    shorten,
)


def of_comparison(frame: Frame, event: DeviceCompared) -> None:
    """A device and a text: `x.device == y.device == "cuda"`, `x.device in ("cpu", "mps")`. Or two
    devices, of which one has an index."""
    node, operator, left, right = event.node, event.operator, event.left, event.right
    if isinstance(operator, (cst.In, cst.NotIn)) and _is_device(right):
        if text_of(left):
            note_mistake(frame, node, Mistake.NO_TEXT, shorten(node), "")
        return
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        if any(_is_gpu(a) and _names_cuda(b) for a, b in ((left, right), (right, left))):
            note_mistake(frame, node, Mistake.NO_SUCH_TYPE, shorten(node), "", inferred=True)
            return
        for a, b in ((left, right), (right, left)):
            _of_index(frame, event, a, b)
        device, other = (left, right) if _may_be_device(left) else (right, left)
        named = written_device(other) is not None
        text = type(other) is Const and type(other.value) is str
    elif isinstance(operator, (cst.In, cst.NotIn)) and type(right) is Sequence and right.items:
        device, named = left, all(written_device(item) is not None for item in right.items)
        text = named
    else:
        return
    if not text or not _may_be_device(device):
        return
    never = isinstance(operator, (cst.Equal, cst.In))
    mistake = Mistake.NEVER_EQUAL if never else Mistake.ALWAYS_UNEQUAL
    if _is_text_elsewhere(frame, node):
        return
    if mistake is Mistake.ALWAYS_UNEQUAL and node in frame.unit.kept(_IdleTests).nodes:
        return
    # of what is equal to one another, one `torch.device` is enough
    if any(map(_is_device, (device, *event.before))):
        note_mistake(frame, node, mistake, shorten(node), "")
    elif named:
        frame.notes.append(ComparisonNote(node, mistake))


def _of_index(frame: Frame, event: DeviceCompared, device: Value, other: Value) -> None:
    """`x.device == torch.device("cuda")`: of these the first has an index."""
    kind = _kind_without_index(other)
    if not kind or type(device) is not DeviceValue or device.of is None:
        return
    if type(device.place) is Device and device.place.type != kind:
        return  # where it is no card is asked for, and rightly so
    node, equal = event.node, isinstance(event.operator, cst.Equal)
    mistake = Mistake.NEVER_BARE if equal else Mistake.ALWAYS_BARE
    if node in frame.unit.kept(_IdleTests).nodes:
        return
    if device.sure:
        note_mistake(frame, node, mistake, shorten(node), kind)
    else:
        frame.notes.append(ComparisonNote(node, mistake, kind, device.of))


def _kind_without_index(value: Value) -> str:
    """The type of an accelerator of which a `torch.device` names no card; else ""."""
    if type(value) is not DeviceValue or not value.sure or value.of is not None:
        return ""
    place = value.place
    is_bare = type(place) is Device and place.is_accelerator and place.index is None
    return place.type if is_bare and type(place) is Device else ""


class _IdleTests:
    """The comparisons of a file that only spare a move of what is there already: the move does
    nothing then, so that their answer makes no odds."""

    def __init__(self, unit: Unit) -> None:
        choices: list[cst.If | cst.IfExp] = [*every(unit.tree, cst.If)]
        choices += every(unit.tree, cst.IfExp)
        self.nodes = {
            comparison
            for choice in choices
            if _is_idle(choice)
            for comparison in every(choice.test, cst.Comparison)
        }


def _is_idle(choice: cst.If | cst.IfExp) -> bool:
    """One branch moves something, and the other leaves it where it is."""
    if isinstance(choice, cst.IfExp):
        branches = (choice.body, choice.orelse)
        return any(map(_is_move, branches)) and any(dotted(each) for each in branches)
    lines = choice.body.body
    smalls = [
        small
        for line in lines
        for small in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    ]
    return choice.orelse is None and all(
        isinstance(small, (cst.Assign, cst.Expr)) and _is_move(small.value) for small in smalls
    )


def _is_move(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and called_name(node) in _MOVES


def _is_text_elsewhere(frame: Frame, comparison: cst.CSTNode) -> bool:
    """`self.device == "cpu"`, where some method of the class puts a text there: on the way that is
    taken without an accelerator, say."""
    assigned = frame.info.assigned if frame.info is not None else {}
    paths = (dotted(each) for each in every(comparison, cst.Attribute))
    names = (path.removeprefix("self.") for path in paths)
    values = (value for name in names for _, value in assigned.get(name, ()))
    return any(isinstance(value, cst.SimpleString) for value in values)


def _is_device(value: Value) -> bool:
    """A `torch.device`, whichever of several it is, and no text."""
    return all(type(each) is DeviceValue and each.sure for each in alternatives(value))


def _may_be_device(value: Value) -> bool:
    """A `torch.device`, or what is one by its name."""
    return type(value) is DeviceValue or _is_device(value)


_MOVES = frozenset({"to", "cpu", "cuda", "xpu", "npu"})


# Methods that others have as well as tensors: modules, lists, dicts, arrays, strings.
_SHARED = frozenset(
    {"to", "cuda", "cpu", "xpu", "type", "float", "double", "half", "bfloat16", "apply_", "numpy"}
    | {"size", "item", "index", "copy", "get", "sort", "split", "share_memory_", "requires_grad_"}
)


def settle_comparison(frame: Frame, note: ComparisonNote) -> None:
    """The function calls a method of tensors on what it asks for its device: a `torch.device`. Or
    it declares that it is handed one."""
    function, known = frame.function, frame.unit.context.knowledge.methods
    if function is None or not isinstance(note.node, cst.Comparison):
        return
    if note.tensor is not None:
        if _is_shown(note.tensor):
            note_mistake(frame, note.node, note.mistake, shorten(note.node), note.kind)
        return
    sides = (note.node.left, *(target.comparator for target in note.node.comparisons))
    if any(_is_declared(function, dotted(side)) for side in sides):
        note_mistake(frame, note.node, note.mistake, shorten(note.node), "", inferred=True)
    for given in (compared(function, dotted(side)) for side in sides):
        if given is not None and note.node not in frame.unit.mistaken:
            note_mistake(frame, note.node, note.mistake, shorten(note.node), "", given=given)
    for owner, _, name in (dotted(side).rpartition(".") for side in sides):
        # `x.device`: what is called `device` alone may be a string
        called = (
            found("called-method-of", function.text, owner) if owner and name == "device" else ()
        )
        if any(method in known and method not in _SHARED for method in called):
            note_mistake(frame, note.node, note.mistake, shorten(note.node), "")


def _is_shown(tensor: Tensor) -> bool:
    """The code shows that it is a tensor, by more than that it has a device."""
    evidence = tensor.evidence
    return evidence is None or (
        evidence.is_tensor and not evidence.hints.owner and not evidence.effects.foreign
    )


def _is_declared(function: Function, name: str) -> bool:
    """A parameter that is annotated `torch.device`, and for which no text stands in."""
    given = plain_parameters(function.node.params)
    types = [p.annotation for p in given if p.name.value == name]
    declared = any(each is not None and code(each.annotation) == "torch.device" for each in types)
    return declared and not text_of(function.defaults.get(name, NONE))


def _is_gpu(value: Value) -> bool:
    return text_of(value).lower() == "gpu"


def _names_cuda(value: Value) -> bool:
    place = written_device(value)
    return place is not None and place.type == "cuda"
