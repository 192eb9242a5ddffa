"""Objects of library classes that are no modules: where they live, how they move, what they hold.

A batch of a tokenizer, a graph, a distribution, a packed sequence, an `Accelerator`: what each
class does is in devlint.knowledge (`[classes]`). An object that holds tensors has a stand-in for
them, so that it meets what its tensors meet.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference import syncs
from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.host import HOST, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, CUDA, Placement
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    INHERITED,
    LOADED,
    MAYBE_SCALAR,
    SCALAR,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Value, is_untold
from devlint.inference.frame import Frame
from devlint.inference.functions import Arguments
from devlint.inference.meetings import tensors_in
from devlint.inference.text import dotted, shorten
from devlint.inference.values import FunctionValue, Instance
from devlint.knowledge import Call, ClassInfo, Result

# What applies the callables that it is made of one after the other.
_CHAINS = frozenset(
    f"torchvision.transforms.{module}Compose" for module in ("", "transforms.", "v2.")
)
LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})


def construct(
    frame: Frame, node: cst.Call, name: str, kind: ClassInfo, arguments: Arguments
) -> Value:
    """An object of a library's class, made by its constructor."""
    if LOADERS.intersection(frame.unit.context.knowledge.lineage(name)):
        from devlint.inference.special import FUNCTIONS

        return FUNCTIONS["torch.utils.data.DataLoader"](frame, node, arguments)
    from devlint.inference.libraries import operands_of

    operands = operands_of(Call(params=kind.params, tensors=kind.tensors), arguments)
    result = kind.result
    if result is Result.OPERANDS and not kind.tensors:
        result = Result.UNKNOWN
    instance = made(frame, node, name, result, operands, arguments)
    if name in _CHAINS:
        links = arguments.get(0, "transforms")
        instance.items = links if type(links) is Sequence and links.items is not None else None
    return instance


def made(
    frame: Frame,
    node: cst.Call,
    name: str,
    result: Result,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Instance:
    """A new object, where `result` says."""
    held = _content(frame, node, result, operands, arguments)
    instance = Instance(None, name, False, held.place, held.origin)
    if _holds_tensors(frame, name):
        instance.tensor = held
    return instance


def _content(
    frame: Frame,
    node: cst.Call,
    result: Result,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Tensor:
    """What stands for the tensors of a new object."""
    made_here = frame.origin(StepKind.CREATED, node)
    if result is Result.CPU:
        return Tensor(CPU, made_here, LOADED, Evidence())
    if result is Result.CUDA:
        return Tensor(CUDA, made_here)
    if result is Result.DEVICE:
        from devlint.inference.libraries import factory_result

        device = arguments.keywords.get("device")
        given, given_node = device if device is not None else (None, None)
        found = factory_result(frame, node, "", given, given_node, arguments)
        return found if type(found) is Tensor else Tensor(None)
    if result not in (Result.OPERANDS, Result.FIRST, Result.LIKE):
        return Tensor(None, made_here)
    tensors = [tensor for value, _ in operands for tensor in tensors_in(value)]
    if result is Result.FIRST:
        tensors = tensors[:1]
    if not tensors:
        plain = operands and all(type(value) in (Const, Host) for value, _ in operands)
        if plain and not frame.has_default_device:
            return Tensor(CPU, made_here, DEFAULT | SCALAR)  # of numbers
        return Tensor(None, made_here)
    first = max(tensors, key=lambda tensor: not tensor.traits & SCALAR)
    if any(t.place is not first.place and t.place != first.place for t in tensors):
        return Tensor(None, made_here)
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, first.origin)
    traits = first.traits & (INHERITED | SCALAR)
    return Tensor(first.place, origin, traits, first.evidence)


def _class(frame: Frame, name: str) -> list[ClassInfo]:
    """What is known of a class and of its bases, nearest first."""
    knowledge = frame.unit.context.knowledge
    found = [knowledge.class_(each) for each in knowledge.lineage(name)]
    return [each for each in found if each is not None]


def _holds_tensors(frame: Frame, name: str) -> bool:
    return any(Result.FIRST in info.attributes.values() for info in _class(frame, name))


def _moves_by(frame: Frame, name: str) -> str:
    return next((info.to for info in _class(frame, name) if info.to), "")


def _result_of_attribute(frame: Frame, library: str, name: str) -> Result | None:
    for info in _class(frame, library):
        for key in (name, "*"):
            if key in info.attributes:
                return info.attributes[key]
    return None


def attribute(frame: Frame, node: cst.Attribute, holder: Instance, name: str) -> Value | None:
    """`object.name`, as far as the tables say."""
    for info in _class(frame, holder.library):
        if name == info.device_attribute:
            return DeviceValue(holder.place)
    if frame.unit.context.knowledge.method_of(holder.library, name) is not None:
        return None
    result = _result_of_attribute(frame, holder.library, name)
    if result is None or name in _METHODS:
        return None
    if result is Result.FIRST and holder.tensor is not None:
        return part(frame, node, holder.tensor)
    if result is Result.CPU:
        return Tensor(CPU, frame.origin(StepKind.COMPUTED, node, holder.origin))
    return HOST if result is Result.HOST else UNKNOWN


_METHODS = frozenset({"to", "cuda", "cpu", "items", "keys", "values", "get", "pop", "clone"})


def part(frame: Frame, node: cst.CSTNode, held: Tensor) -> Tensor:
    """One of the tensors that an object holds."""
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, held.origin)
    evidence = None if held.evidence is None else Evidence(held.evidence.is_tensor)
    return Tensor(held.place, origin, held.traits, evidence)


def elements(frame: Frame, node: cst.CSTNode, holder: Instance) -> Value:
    """What a mapping of names to tensors holds: `batch["x"]`, `**batch`."""
    if holder.tensor is None or _result_of_attribute(frame, holder.library, "*") is None:
        return UNKNOWN
    return part(frame, node, holder.tensor)


def assign_item(
    frame: Frame, target: cst.Subscript, holder: Instance, value: Value, source: cst.CSTNode
) -> None:
    """`object[key] = value`: what writes a file reads the value on the host."""
    known = frame.unit.context.knowledge.method_of(holder.library, "__setitem__")
    if known is not None and known.reads_host:
        syncs.read_by_host(frame, target, shorten(target), value, source)


def call_method(
    frame: Frame, node: cst.Call, holder: Instance, name: str, arguments: Arguments
) -> Value | None:
    """`object.name(…)`, as far as the tables say."""
    if name in ("to", "cuda", "cpu") and _moves_by(frame, holder.library):
        return _move(frame, node, holder, name, arguments)
    if holder.library in _CHAINS and name == "__call__":
        return _in_turn(frame, node, holder, arguments)
    known = frame.unit.context.knowledge.method_of(holder.library, name)
    if known is None:
        if name in ("items", "values", "keys", "get", "pop"):
            return _of_mapping(frame, node, holder, name)
        if name == "clone":
            return holder
        return None
    if known.moves:
        return _moved(frame, node, known, holder.place, arguments)
    from devlint.inference.libraries import apply_call

    subject = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    receiver = (holder.tensor, subject) if holder.tensor is not None else None
    found = apply_call(frame, node, shorten(node.func), known, arguments, receiver)
    return _drawn(found, arguments) if "sample_shape" in known.params else found


def _drawn(found: Value, arguments: Arguments) -> Value:
    """Samples of a distribution of numbers: one number, unless a shape is asked for."""
    shape = arguments.get(0, "sample_shape")
    if type(found) is not Tensor or not found.traits & SCALAR or shape is None:
        return found
    if type(shape) is Sequence and shape.items == []:
        return found
    told = (type(shape) is Host and shape.whole) or type(shape) is Sequence
    traits = found.traits & ~SCALAR | (0 if told else MAYBE_SCALAR)
    return Tensor(found.place, found.origin, traits, found.evidence)


def _in_turn(frame: Frame, node: cst.Call, chain: Instance, arguments: Arguments) -> Value:
    """What the last link makes of what those before it made."""
    from devlint.inference.calls import call_value

    if chain.items is None or not chain.items.items or len(arguments.positional) != 1:
        return UNKNOWN
    value, argument = arguments.positional[0]
    for link in chain.items.items:
        if type(link) not in (Instance, FunctionValue):
            return UNKNOWN  # out of sight: it may move what it is given
        value = call_value(frame, node, link, Arguments([(value, argument)], {}))
    if type(value) is Tensor and value.place == CPU and value.traits & DEFAULT:
        # An image that was converted, and no factory's tensor, which could be made elsewhere.
        origin = frame.origin(StepKind.LOADED, node, None, "converted here on the host")
        return Tensor(CPU, origin, LOADED, value.evidence)
    return value


def _of_mapping(frame: Frame, node: cst.Call, holder: Instance, name: str) -> Value:
    inner = elements(frame, node, holder)
    if is_untold(inner) or name in ("get", "pop"):
        return inner
    if name == "keys":
        return HOST
    item = inner if name == "values" else Sequence([HOST, inner], None, "tuple")
    return Sequence(None, item, "iterator")


def _move(frame: Frame, node: cst.Call, holder: Instance, name: str, arguments: Arguments) -> Value:
    """A move of an object: it gives back a moved one, and the name of one that moves in place
    holds that."""
    from devlint.inference import moves

    assert isinstance(node.func, cst.Attribute)
    in_place = _moves_by(frame, holder.library) == "in-place"
    held = holder.tensor if holder.tensor is not None else Tensor(holder.place, holder.origin)
    moved = moves.move_of_object(frame, node, held, name, arguments, in_place)
    instance = Instance(None, holder.library, False, moved.place, moved.origin)
    if holder.tensor is not None:
        instance.tensor = moved
    path = dotted(node.func.value)
    if in_place and path:
        frame.bind(path, instance)
    return instance


def holding(holder: Instance, tensor: Tensor) -> Instance:
    """Such an object that holds tensors like this one."""
    instance = Instance(None, holder.library, False, tensor.place, tensor.origin)
    instance.tensor = tensor
    return instance


def _moved(
    frame: Frame, node: cst.Call, known: Call, place: Placement, arguments: Arguments
) -> Value:
    """`accelerator.prepare(model, optimizer, loader)`: its arguments, where it is."""
    if arguments.open:
        return UNKNOWN
    found = [_put(frame, node, value, place) for value, _ in arguments.positional]
    return found[0] if len(found) == 1 else Sequence(found, None, "tuple")


def _put(frame: Frame, node: cst.Call, value: Value, place: Placement) -> Value:
    step = Provenance(StepKind.MOVED, node, frame.unit.source, getattr(value, "origin", None))
    if type(value) is Instance and value.module:
        from devlint.inference.modules import move_module

        move_module(frame, value, place, node)
        return value
    if type(value) is Loader:
        batch = value.batch
        if type(batch) is Tensor:
            return Loader(batch.with_place(place, step, drop=LOADED))
        return Loader(UNKNOWN)
    if type(value) is Tensor:
        return value.with_place(place, step, drop=DEFAULT | LOADED)
    if type(value) is Sequence and value.items is not None:
        return Sequence([_put(frame, node, v, place) for v in value.items], None, value.kind)
    if type(value) is Mapping:
        entries = {key: _put(frame, node, v, place) for key, v in value.entries.items()}
        return Mapping(entries, None)
    return value
