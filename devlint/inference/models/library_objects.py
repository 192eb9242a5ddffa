"""Objects of libraries: the tensors that new ones hold, by the table of their class, and what their
attributes are."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import HOST, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, CUDA
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, INHERITED, LOADED, SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.models.factory_calls import factory_result
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.knowledge import ClassInfo, Result


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
    if result is Result.CPU and frame.has_default_device:
        return Tensor(frame.default_device, made_here)  # by `torch.tensor`
    if result is Result.CPU:
        return Tensor(CPU, made_here, LOADED, Evidence())
    if result is Result.CUDA:
        return Tensor(CUDA, made_here)
    if result is Result.DEVICE:
        device, device_node = arguments.keywords.get("device", (None, None))
        return factory_result(frame, node, "", device, device_node, arguments)
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
    origin = frame.origin(StepKind.COMPUTED, node, first.origin)
    traits = first.traits & (INHERITED | SCALAR)
    return Tensor(first.place, origin, traits, first.evidence)


def class_of(frame: Frame, name: str) -> list[ClassInfo]:
    """What is known of a class and of its bases, nearest first."""
    knowledge = frame.unit.context.knowledge
    found = [knowledge.class_(each) for each in knowledge.lineage(name)]
    return [each for each in found if each is not None]


def _holds_tensors(frame: Frame, name: str) -> bool:
    return any(Result.FIRST in info.attributes.values() for info in class_of(frame, name))


def result_of_attribute(frame: Frame, library: str, name: str) -> Result | None:
    for info in class_of(frame, library):
        for key in (name, "*"):
            if key in info.attributes:
                return info.attributes[key]
    return None


def is_grid(frame: Frame, holder: Instance) -> bool:
    """Its elements are like itself: the axes of several plots."""
    return bool(holder.library) and any(info.grid for info in class_of(frame, holder.library))


def attribute(frame: Frame, node: cst.Attribute, holder: Instance, name: str) -> Value | None:
    """`object.name`, as far as the tables say."""
    for info in class_of(frame, holder.library):
        if name == info.device_attribute:
            return DeviceValue(holder.place)
    if name in ("flat", "T") and is_grid(frame, holder):
        return holder
    if frame.unit.context.knowledge.method_of(holder.library, name) is not None:
        return None
    result = result_of_attribute(frame, holder.library, name)
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
