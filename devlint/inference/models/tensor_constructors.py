"""Constructors of tensors, parameters and generators, each with a law of its own.

`torch.FloatTensor([1.0])` is on the host, `nn.Parameter(x)` where `x` is, and `torch.load` puts its
tensors where `map_location` says.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import HOST, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import PathCondition
from devlint.inference.domain.placement import CPU, CUDA, Placement
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    GRAD,
    LOADED,
    NON_LEAF,
    PARAMETER,
    RECORDED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, cases, choose, is_untold
from devlint.inference.models.devices import LEGACY_TYPES, place_of
from devlint.inference.models.handlers import Handler
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.moves.targets import chosen
from devlint.inference.program.events import HostDemanded, HostWaits, TensorMade
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostInputs
from devlint.inference.program.values import Generator
from devlint.inference.syntax.text import shorten


def _generator(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "device")
    place: Placement = CPU if value is None else place_of(frame, value)
    if place is None and type(value) is not DeviceValue:
        place = chosen(frame, arguments.node(0, "device"))
    return Generator(place, frame.origin(StepKind.CREATED, node))


def _seeded(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.manual_seed(0)` gives the generator of the CPU, which nobody else has named."""
    return Generator(CPU, frame.origin(StepKind.CREATED, node))


def _parameter(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "data")
    wanted = arguments.get(1, "requires_grad")
    asked = wanted is None or (type(wanted) is Const and wanted.value is True)
    recorded = RECORDED if asked else 0
    made: list[tuple[Value, PathCondition]] = []  # where its data is, or may be
    for tensor, when in cases(value if value is not None else UNKNOWN):
        if type(tensor) is Tensor:
            origin = Provenance(StepKind.CREATED, node, frame.unit.source, None)
            traits = (tensor.traits & ~NON_LEAF) | PARAMETER | GRAD | recorded
            made.append((Tensor(tensor.place, origin, traits, None), when))
    if made:
        return choose(made)
    traits = PARAMETER | GRAD | recorded
    if value is not None and is_untold(value):
        return Tensor(None, frame.origin(StepKind.CREATED, node), traits)  # where its data is
    return Tensor(frame.default_device, frame.origin(StepKind.CREATED, node), traits | DEFAULT)


def _uninitialized(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """A parameter whose shape the first input decides: like any other, it moves with its module."""
    device = arguments.get(1, "device")
    place = frame.default_device if device is None else place_of(frame, device)
    traits = PARAMETER | GRAD | (DEFAULT if device is None else 0)
    return Tensor(place, frame.origin(StepKind.CREATED, node), traits)


def _buffer(make: Handler) -> Handler:
    """`nn.Buffer(t)`: registered by its assignment, as a parameter is, but it needs no gradient."""

    def handle(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        made = make(frame, node, arguments)
        return made.with_place(made.place, made.origin, GRAD) if type(made) is Tensor else made

    return handle


def _load(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.load`: where `map_location` says, else where it was saved from."""
    value = arguments.get(1, "map_location")
    place = place_of(frame, value) if value is not None else None
    origin = frame.origin(StepKind.LOADED, node, None, "loaded here")
    return Tensor(place, origin, LOADED if place == CPU else 0, Evidence())


def _typed(place: Placement, name: str) -> Handler:
    """`torch.FloatTensor(…)`, `torch.cuda.FloatTensor(…)`; and, of the default type whatever that
    is, `torch.Tensor(…)`."""
    general = name == "torch.Tensor"

    def make(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        first = arguments.positional[0][0] if arguments.positional else None
        if place == CPU and not general:
            _demand_host(frame, node, name, arguments)
        if type(first) is Sequence:
            for tensor in tensors_in(first)[:1]:
                if tensor.is_sure:
                    data = arguments.positional[0][1]
                    frame.emit(HostWaits(node, f"{shorten(node.func)} of tensors", tensor, data))
        device = arguments.keywords.get("device")
        if device is not None:
            return Tensor(place_of(frame, device[0]), frame.origin(StepKind.CREATED, node))
        if type(first) is Tensor and first.is_sure:  # the very tensor: its `alias`
            if place == CPU and not general:  # refuses one of another device
                frame.kept(HostInputs).unshown.add(first.place)
            origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, first.origin)
            return Tensor(first.place, origin, first.traits)
        origin = frame.origin(StepKind.CREATED, node)
        follows = place == CPU and (general or frame.unit.default_device is not None)
        follows = follows and not frame.unit.sets_default_device
        where = frame.unit.default_place if follows else place
        default = DEFAULT if where == CPU else 0
        if first is None and not arguments.open:
            default |= EMPTY
        sizes = first.sizes if type(first) is Host else None
        traits = default | (EMPTY if _has_no_elements(first, arguments) else 0)
        made = Tensor(where, origin, traits, None, sizes)
        frame.emit(TensorMade(node, made))
        return made

    return make


def _demand_host(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """`torch.LongTensor(t)`, of one tensor, gives that very tensor if it is of its type, which is
    one of the host, and refuses every other: `legacy_tensor_generic_ctor_new` in PyTorch's
    `torch/csrc/utils/tensor_new.cpp` checks `other.options().type_equal(options)`, but not for
    `torch.Tensor(t)` (`BASE_CTOR`). Of a list of tensors it reads the numbers."""
    if len(arguments.positional) != 1 or arguments.keywords or arguments.open:
        return
    value, given = arguments.positional[0]
    own = alternatives(value)
    if any(type(each) is Tensor for each in own) and all(type(v) is not Sequence for v in own):
        frame.emit(HostDemanded(node, name, value, given))


def _has_no_elements(first: Value | None, arguments: Arguments) -> bool:
    """`torch.Tensor()`, `torch.Tensor([])`, `torch.Tensor(0)`: a placeholder."""
    if first is None:
        return not arguments.keywords
    if type(first) is Sequence:
        return first.items == []
    return type(first) is Const and first.value == 0 and len(arguments.positional) == 1


def _nested(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.nested.nested_tensor(list)`: on `device=`, else where the list's first tensor is."""
    device = arguments.keywords.get("device")
    if device is not None:
        return Tensor(place_of(frame, device[0]), frame.origin(StepKind.CREATED, node))
    for value, _ in arguments.positional[:1]:
        for tensor in tensors_in(value)[:1]:
            origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, tensor.origin)
            return Tensor(tensor.place, origin)
    return UNKNOWN


def _is_tensor(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return HOST


def _vector(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`parameters_to_vector(model.parameters())`: all of them, where they are."""
    value = arguments.get(0, "parameters")
    argument = arguments.node(0, "parameters")
    if value is None or argument is None:
        return UNKNOWN
    held = frame.interpreter.element_of(frame, value, argument)
    if type(held) is not Tensor:
        return UNKNOWN
    origin = frame.origin(StepKind.COMPUTED, node, held.origin)
    return Tensor(held.place, origin, held.traits & (GRAD | RECORDED | DEFAULT) | VECTOR)


TENSOR_CONSTRUCTORS: dict[str, Handler] = {
    "torch.Generator": _generator,
    "torch.manual_seed": _seeded,
    "torch.random.manual_seed": _seeded,
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.nn.UninitializedParameter": _uninitialized,
    "torch.nn.parameter.UninitializedParameter": _uninitialized,
    "torch.nn.UninitializedBuffer": _buffer(_uninitialized),
    "torch.nn.parameter.UninitializedBuffer": _buffer(_uninitialized),
    "torch.nn.Buffer": _buffer(_parameter),
    "torch.nn.parameter.Buffer": _buffer(_parameter),
    "torch.load": _load,
    "torch.nn.utils.parameters_to_vector": _vector,
    "torch.nn.utils.convert_parameters.parameters_to_vector": _vector,
    "torch.is_tensor": _is_tensor,
    "torch.nested.nested_tensor": _nested,
    "torch.nested.as_nested_tensor": _nested,
}


for _name in (*LEGACY_TYPES, ""):
    for _module, _place in (("torch", CPU), ("torch.cuda", CUDA)):
        _type = f"{_module}.{_name}Tensor"
        TENSOR_CONSTRUCTORS[_type] = _typed(_place, _type)
