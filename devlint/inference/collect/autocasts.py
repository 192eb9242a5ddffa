"""Autocasting and gradient scaling: what is given to them, and where the work in them is.

`torch.autocast(device)` refuses a `torch.device`, and `torch.autocast("cpu")` does nothing for what
is computed on CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.collect.under_way import library_name
from devlint.inference.conventions import holds
from devlint.inference.domain.host import ASSUMED, Const, DeviceValue, External
from devlint.inference.domain.placement import Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.facts import AutocastElsewhere, AutocastMistake, MistakenAutocast
from devlint.inference.models.devices import written_device
from devlint.inference.models.module_places import placed
from devlint.inference.program.accelerator_notes import Mentions, named_for_accelerators
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import dotted, every, shorten
from devlint.records import dataclass

_AUTOCASTS = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
_SCALERS = frozenset(
    {"torch.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"}
)
_CUDA_AUTOCASTS = frozenset({"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"})
_CUDA_SCALERS = frozenset({"torch.cuda.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler"})
_DTYPES = frozenset({"float16", "bfloat16", "half", "float32", "float", "float64", "double"})


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A tensor or a module that takes part in a call; None for a place that is not known."""

    name: str
    place: Placement
    origin: Provenance | None = None


class _Seen:
    """What one file's walk noted."""

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        self.concerned = "autocast" in text or "GradScaler" in text
        self.mistakes: dict[cst.CSTNode, MistakenAutocast] = {}
        # Autocasts: the device type that each is for, and where it stands.
        self.kinds: dict[cst.Call, tuple[str, Function | None]] = {}
        self.places: dict[cst.Call, list[_Part]] = {}  # what calls compute with


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(_Seen).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Note how something is autocast or scaled, and what other calls compute with."""
    node, callee, arguments = event
    seen = frame.unit.kept(_Seen)
    seen.places[node] = [*_parts(frame, node, callee, arguments)]
    if type(callee) is not External:
        return
    name = library_name(callee, node)
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
    elif isinstance(given, cst.SimpleString):
        place = written_device(value)
        if place is not None:
            _of_kind(frame, node, place.type, arguments.node(2, "enabled"))


def _of_kind(frame: Frame, node: cst.Call, kind: str, enabled: cst.CSTNode | None) -> None:
    """What decides whether it is on may know where the work is."""
    if not frame.control.guarded and (enabled is None or dotted(enabled) == "True"):
        frame.unit.kept(_Seen).kinds[node] = kind, frame.function


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
    if frame.control.caught or frame.control.expecting:
        return
    frame.unit.kept(_Seen).mistakes[node] = MistakenAutocast(
        frame.site(node), mistake, shorten(node.func), frame.site(given), shorten(given), keyword
    )


def _parts(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Iterator[_Part]:
    """The tensors and modules of a call; what is called out of sight may be anywhere."""
    if type(callee) is not External and _part(frame, callee, node.func) is None:
        yield _Part(shorten(node.func), None)
    for value, given in ((callee, node.func), *arguments.all()):
        part = _part(frame, value, given)
        if part is not None:
            yield part


def _part(frame: Frame, value: Value, given: cst.CSTNode) -> _Part | None:
    if type(value) is Tensor:
        return _Part(shorten(given), value.place if value.is_sure else None, value.origin)
    if type(value) is Instance and value.module:
        return _Part(shorten(given), *placed(frame, value))
    return None


def settle(unit: Unit) -> None:
    """Make facts of what was noted."""
    seen = unit.kept(_Seen)
    unit.facts.mistaken_autocasts += seen.mistakes.values()
    if not seen.kinds:
        return
    kept = _kept(unit)
    for block in every(unit.tree, cst.With):
        for item in block.items:
            entered = kept.get(item.item, item.item)
            if isinstance(entered, cst.Call) and entered in seen.kinds:
                kind, function = seen.kinds[entered]
                found = _elsewhere(unit, block, entered, kind, function)
                if found is not None:
                    unit.facts.autocasts_elsewhere.append(
                        AutocastElsewhere(Site(unit.source, entered), kind, found.name, found.place)
                    )


def _kept(unit: Unit) -> dict[cst.BaseExpression, cst.Call]:
    """`cast = torch.autocast("cuda")`, and then `with cast:`: the autocast that each name in the
    head of a `with` holds, where its function binds it once."""
    found: dict[cst.BaseExpression, cst.Call] = {}
    functions = {function for _, function in unit.kept(_Seen).kinds.values()}
    for function in functions - {None}:
        assert function is not None
        bound: dict[str, list[cst.BaseExpression]] = {}
        for assign in every(function.node.body, cst.Assign):
            for target in assign.targets:
                bound.setdefault(dotted(target.target), []).append(assign.value)
        for block in every(function.node.body, cst.With):
            for item in block.items:
                values = bound.get(item.item.value, []) if isinstance(item.item, cst.Name) else []
                if len(values) == 1 and isinstance(values[0], cst.Call):
                    found[item.item] = values[0]
    return found


def _elsewhere(
    unit: Unit, block: cst.With, autocast: cst.Call, kind: str, function: Function | None
) -> _Part | None:
    """Something in the block that is elsewhere, as all of it is; or where somebody chooses."""
    seen = unit.kept(_Seen)
    inside = [part for call in every(block.body, cst.Call) for part in seen.places.get(call, ())]
    if inside and all(type(p.place) is Device and p.place.type != kind for p in inside):
        return inside[0]
    if kind == "cpu" or _is_for_kind(unit, autocast, function):
        return None
    return next((part for part in inside if _is_chosen(part)), None)


def _is_for_kind(unit: Unit, autocast: cst.Call, function: Function | None) -> bool:
    """The code is for CUDA, or a flag around the block may have asked for it."""
    if unit.kept(Mentions).meant or named_for_accelerators(function):
        return True
    if function is not None and holds("cuda-bound-text", function.text):
        return True
    around = unit.kept(ControlDependences).around(function, autocast)
    return any(isinstance(choice, (cst.If, cst.IfExp)) for choice, _ in around)


def _is_chosen(part: _Part) -> bool:
    """The part was moved by `.to(device)`, and not to a card by its number."""
    if type(part.place) is not Variable or part.place.kind is not VariableKind.DEVICE:
        return False
    for step in part.origin.chain() if part.origin is not None else ():
        call = step.node
        if step.kind is StepKind.MOVED and isinstance(call, cst.Call):
            return any(holds("device-name", dotted(arg.value)) for arg in call.args)
    return False
