"""Modules of libraries: where a constructor puts them, and containers of modules."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, DeviceValue
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, union
from devlint.inference.models.devices import place_of
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_places import placed, stateful
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.knowledge import ModuleClass

_STATELESS = "torch.nn.Identity"  # what a module without state is, as far as devices go


# Packages whose modules are made on the default device.
_ON_HOST = frozenset({"torch", "torchaudio", "torchvision"})


def construct_library(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """An object of a library's class: a module where it is known as one."""
    knowledge = frame.unit.context.knowledge
    module = knowledge.module(name)
    if module is not None and _is_left_without_state(module, arguments):
        name, module = _STATELESS, knowledge.module(_STATELESS)
    if module is None:
        return UNKNOWN
    place: Placement = None
    origin, weighted = frame.origin(StepKind.CREATED, node, None, "made here"), ""
    if module.stateful == "weight":
        weighted, weight = _weight(arguments)
        if weight is not None:
            place, origin = weight.place, frame.origin(StepKind.COMPUTED, node, weight.origin)
    elif module.stateful != "never":
        place = _place_made(frame, name, module, arguments)
    if name.rpartition(".")[2] not in ("Sequential", "ModuleList", "ModuleDict"):
        return Instance(None, name, True, place, origin, None, None, weighted)
    items = _items(arguments)
    instance = Instance(None, name, True, place, origin, None, items, weighted)
    _place_container(frame, instance, items)
    _adopt(instance, items)
    return instance


def made_by_class(
    frame: Frame, node: cst.Call, owner: str, method: str, arguments: Arguments
) -> Value | None:
    """A module that a class method of its class makes, where the tensors are that it is given:
    `nn.Embedding.from_pretrained(table)`. None of any other call."""
    if not method.startswith("from_") or frame.unit.context.knowledge.module(owner) is None:
        return None
    place: Placement = None
    origin = frame.origin(StepKind.CREATED, node, None, "made here")
    given = [tensor for value, _ in arguments.all() for tensor in tensors_in(value)]
    if given:
        place, origin = given[0].place, frame.origin(StepKind.COMPUTED, node, given[0].origin)
    return Instance(None, owner, True, place, origin)


def _place_made(frame: Frame, name: str, module: ModuleClass, arguments: Arguments) -> Placement:
    """Where a constructor puts the parameters of a new module."""
    device = _device_given(module, arguments)
    if device is not None and not (type(device) is Const and device.value is None):
        return place_of(frame, device)
    root = name.partition(".")[0]
    if not (root in _ON_HOST or module.device_parameter or module.on_default_device):
        return None  # where a library puts its modules is not in sight
    is_out_of_sight = arguments.open and module.device_parameter != ""
    if is_out_of_sight or not module.self_placing.isdisjoint(arguments.keywords):
        return None
    given = (value for value, _ in arguments.positional if device is None)
    if root == "torch" and any(type(value) is DeviceValue for value in given):
        return None
    return frame.default_device


def _weight(arguments: Arguments) -> tuple[str, Tensor | None]:
    """The weight that a loss is given and keeps, and its keyword."""
    first = arguments.positional[0][0] if arguments.positional else None
    found: tuple[str, Tensor | None] = ("", None)
    for key in ("weight", "pos_weight"):
        value = arguments.get(-1, key)
        if value is None and key == "weight" and type(first) is Tensor:
            value = first
        for tensor in tensors_in(value) if value is not None else ():
            found = key, tensor
    return found


def _is_left_without_state(module: ModuleClass, arguments: Arguments) -> bool:
    """`nn.LayerNorm(n, elementwise_affine=False)`: every flag that asks for state is off."""
    flags = [arguments.get(module.params.index(f), f) for f in module.stateful_by]
    return bool(flags) and all(type(f) is Const and f.value is False for f in flags)


def _device_given(module: ModuleClass, arguments: Arguments) -> Value | None:
    """What a constructor is told of the device."""
    for name in ("device", module.device_parameter):
        index = module.params.index(name) if name in module.params else -1
        value = arguments.get(index, name) if name else None
        if value is not None:
            return value
    return None


def _place_container(frame: Frame, instance: Instance, items: Sequence) -> None:
    """A container is where its members are, if they are together."""

    if items.items == []:
        return  # filled later
    values = items.items if items.items is not None else alternatives(items.any())
    members = [v if type(v) is Instance else None for v in values]
    places = [
        placed(frame, v)[0] if v is not None else None
        for v in members
        if v is None or stateful(frame, v)  # the others are everywhere
    ]
    together = bool(places) and all(place == places[0] for place in places)
    instance.place = places[0] if together else None


def _items(arguments: Arguments) -> Sequence:
    """The members of a container: what it is given one by one, or as a list or dict; of a list that
    a loop has filled, or not, those of any turn."""
    values = [v for v, _ in arguments.positional]
    only = values[0] if len(values) == 1 else None
    if type(only) is Sequence:
        return Sequence(None if only.items is None else list(only.items), only.element, "list")
    if only is None or type(only) is Instance:
        return Sequence(values, None, "list")
    held = [
        v.any() if type(v) is Sequence or type(v) is Mapping else v if arguments.open else UNKNOWN
        for v in alternatives(only)
        if not (type(v) is Sequence and v.items == [])
    ]
    return Sequence(None, union(held) if held else UNKNOWN, "list")


def _adopt(parent: Instance, items: Sequence) -> None:
    for value in items.items if items.items is not None else [items.element]:
        if type(value) is Instance and value.module and value.parent is None:
            value.parent = parent
