"""Places that contracts declare: each is trusted where it stands.

A parameter, a result, an attribute or a variable that has a contract lives where that says:
`def scale(x: Annotated[Tensor, On("cuda")])` is walked with an `x` on the card.
"""

from __future__ import annotations

from collections.abc import Mapping as ReadOnly
from dataclasses import field

from devlint.contracts import ACCELERATOR, SELF, On, Requirement, SameDevice
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CUDA, Device, Placement
from devlint.inference.domain.tensors import DEFAULT, INDIRECT, LOADED, MAYBE_SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Union, Value, is_untold, union
from devlint.inference.models.module_places import replaced
from devlint.inference.program.contracts import Declared, Signature
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame, interpreter_of
from devlint.inference.program.functions import Parameter
from devlint.inference.program.values import Instance
from devlint.records import dataclass


@dataclass(slots=True, eq=False)
class _ParameterPlaces:
    """Where the parameters of a function live, for contracts that speak of them."""

    by_name: dict[str, Placement] = field(default_factory=dict)


def apply(frame: Frame, signature: Signature, parameters: list[Parameter]) -> None:
    """Trust the contracts of the parameters of the function that begins here."""
    known = {parameter.name: parameter for parameter in parameters}
    frame.kept(_ParameterPlaces).by_name = {
        name: _place_of_parameter(frame, signature, known, name, frozenset()) for name in known
    }
    for name, declared in signature.parameters.items():
        parameter = known.get(name)
        if parameter is not None:
            parameter.value = trusted(frame, parameter.value, declared)
            frame.state.env[name] = parameter.value


def _place_of_parameter(
    frame: Frame,
    signature: Signature,
    known: ReadOnly[str, Parameter],
    name: str,
    asked: frozenset[str],
) -> Placement:
    """Where a parameter lives; those that are declared together share a place."""
    if name == SELF and frame.info is not None:
        return frame.info.variable
    parameter, declared = known.get(name), signature.parameters.get(name)
    if parameter is None:
        return None
    requirement = declared.requirement if declared is not None else None
    if isinstance(requirement, On):
        return device_of(requirement)
    if isinstance(requirement, SameDevice):
        for other in requirement.names:
            if other not in asked:
                place = _place_of_parameter(frame, signature, known, other, asked | {name})
                if place is not None:
                    return place
    return parameter.variable


def device_of(requirement: On) -> Device:
    """The device that a contract names; in the accelerated world the accelerator is CUDA."""
    if requirement.device == ACCELERATOR:
        return CUDA
    return Device(requirement.type, None if requirement.type == "cpu" else requirement.index)


def place_of(frame: Frame, requirement: Requirement | None) -> Placement:
    """The place that a contract speaks of, in the function that declares it."""
    if isinstance(requirement, On):
        return device_of(requirement)
    if isinstance(requirement, SameDevice):
        for name in requirement.names:
            if name == SELF and frame.info is not None:
                return frame.info.variable
            place = frame.kept(_ParameterPlaces).by_name.get(name)
            if place is not None:
                return place
    return None


def trusted(frame: Frame, value: Value, declared: Declared) -> Value:
    """The value, where its declaration says that it is."""
    if declared.parts:
        items = value.items if type(value) is Sequence else None
        if items is None or len(items) != len(declared.parts):
            items = [UNKNOWN] * len(declared.parts)
        both = zip(items, declared.parts, strict=True)
        parts = [v if part is None else trusted(frame, v, part) for v, part in both]
        return Sequence(parts, None, "tuple")
    place = place_of(frame, declared.requirement)
    return value if place is None else _put(value, place, declared)


def _put(value: Value, place: Placement, declared: Declared, depth: int = 4) -> Value:
    if type(value) is Tensor:
        evidence = None if value.evidence is None else Evidence(True)
        traits = value.traits & ~(DEFAULT | LOADED | INDIRECT | MAYBE_SCALAR)
        return Tensor(place, declared.origin(), traits, evidence, value.sizes)
    if type(value) is Instance and value.module:
        return replaced(value, place, declared.origin(), value.parent)
    if depth and type(value) is Sequence:
        items = value.items
        if items is not None:
            put = [_put(v, place, declared, depth - 1) for v in items]
            return Sequence(put, None, value.kind, value.node, value.names)
        inner = value.element if value.element is not None else UNKNOWN
        return Sequence(None, _put(inner, place, declared, depth - 1), value.kind, value.node)
    if depth and type(value) is Mapping:
        entries = {k: _put(v, place, declared, depth - 1) for k, v in value.entries.items()}
        inner = value.element if value.element is not None else UNKNOWN
        return Mapping(entries, _put(inner, place, declared, depth - 1))
    if type(value) is Union:
        return union(_put(v, place, declared, depth) for v in value.alternatives)
    if is_untold(value):
        return Tensor(place, declared.origin(), 0, Evidence(True))
    return value


def result_of(frame: Frame, signature: Signature, value: Value) -> Value:
    """What a function returns, where its contract says that it is."""
    declared = signature.result
    if declared is None:
        return value
    if not frame.outcome.returns and not frame.outcome.yields:
        value = UNKNOWN  # a stub, or a method that its subclasses define
    return trusted(frame, value, declared)


def promised(signature: Signature) -> Value | None:
    """What a call gives whose callee is being inferred: its contract's word, if that says."""
    declared = signature.result
    if declared is None or not isinstance(declared.requirement, On):
        return None
    return _put(UNKNOWN, device_of(declared.requirement), declared)


def attribute(info: ClassInfo, declared: Declared, found: Value | None) -> Value:
    """What `self.name` holds when it has a contract."""
    frame = Frame(info.unit, interpreter_of(info.unit), info=info)
    return trusted(frame, UNKNOWN if found is None else found, declared)
