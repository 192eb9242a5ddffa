"""Exemptions: tensors that meet every device, and operations that bring nothing together."""

from __future__ import annotations

from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.placement import Device
from devlint.inference.domain.tensors import DEFAULT, EMPTY, MAYBE_SCALAR, SCALAR, Tensor
from devlint.inference.models.unification.operands import Operation
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.frames import Frame


def is_exempt(tensor: Tensor) -> bool:
    """A 0-dim CPU tensor meets every device in point-wise operations; one without elements is
    a placeholder that never takes part in one."""
    return bool(tensor.traits & (SCALAR | EMPTY)) and is_on_cpu(tensor)


def is_bound(operation: Operation, tensor: Tensor) -> bool:
    """An operand that has to be where the others are, as far as is known: none that is shown to be
    no tensor, nor one that meets every device, nor a placeholder, of which nothing is computed."""
    evidence = tensor.evidence
    if tensor.place is None or (evidence is not None and evidence.is_host):
        return False
    if tensor.traits & EMPTY and not joins(operation.name):
        return False
    return not (operation.pointwise and is_exempt(tensor))


def written(tensor: Tensor) -> Tensor:
    """What an operation writes has to be where its other operands are, even a 0-dim tensor."""
    if not tensor.traits & (SCALAR | MAYBE_SCALAR) or not is_on_cpu(tensor):
        return tensor
    return tensor.with_place(tensor.place, tensor.origin, drop=SCALAR | MAYBE_SCALAR)


def is_placeholder(operation: str, *operands: Tensor) -> bool:
    """One of the operands has no elements: only what joins tensors is ever done to it."""
    return any(t.traits & EMPTY for t in operands) and not joins(operation)


def joins(operation: str) -> bool:
    """An operation that puts tensors together, whatever they hold."""
    return operation.rpartition(".")[2].endswith(("cat", "stack", "concat", "concatenate"))


def is_on_cpu(tensor: Tensor) -> bool:
    place = tensor.place
    return type(place) is Device and place.type == "cpu"


def is_made_up(tensor: Tensor) -> bool:
    """Made on the default device: what computes with it mostly goes by what else it is given."""
    return bool(tensor.traits & DEFAULT) and is_on_cpu(tensor)


def has_dimensions(frame: Frame, tensor: Tensor) -> Assumption:
    """The assumption that a tensor of open size is no number."""
    kind = AssumptionKind.VALUE_HAS_DIMENSIONS
    if tensor.was_given:
        kind = AssumptionKind.GIVEN_TENSOR_HAS_DIMENSIONS
    return of_value(frame, kind, tensor, "{} has at least one dimension")
