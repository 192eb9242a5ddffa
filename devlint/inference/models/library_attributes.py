"""Attributes of objects of libraries."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import HOST, DeviceValue
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.models.library_objects import class_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import Instance
from devlint.knowledge import Result


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
