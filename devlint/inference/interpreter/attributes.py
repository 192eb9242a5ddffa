"""Attributes: what `x.name` gives."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.host import (
    DTYPE,
    FALSE,
    HOST,
    NONE,
    TRUE,
    Const,
    DeviceValue,
    External,
    Host,
)
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, both
from devlint.inference.domain.placement import Device, Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import EXPECTED, GRAD, RECORDED, SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Union, Value, cases, choose
from devlint.inference.interpreter import module_attributes
from devlint.inference.models import autograd, gradients
from devlint.inference.models.devices import named_device
from devlint.inference.program.frames import Frame
from devlint.inference.program.imports import member_of
from devlint.inference.program.values import (
    ClassValue,
    FunctionValue,
    Generator,
    Instance,
    Method,
    ProjectModule,
    Super,
    read,
)
from devlint.inference.syntax.text import dotted
from devlint.knowledge import Result

# Attributes of a tensor that say that their owner is one.
_TELLING = frozenset(
    {"device", "is_cuda", "requires_grad", "grad", "grad_fn", "is_sparse", "is_leaf"}
)


_RESULTS = {"values": 0, "indices": -1}  # of max, sort, topk, …


def attribute_of(frame: Frame, node: cst.Attribute, base: Value, name: str) -> Value:
    """`base.name`."""
    if type(base) is External:
        return External(f"{base.name}.{name}")
    if type(base) is Tensor:
        return _of_tensor(frame, node, base, name)
    if type(base) is Instance:
        return module_attributes.attribute(frame, node, base, name)
    if type(base) is ProjectModule:
        unit = base.unit
        frame.interpreter.run(unit)
        found = read(unit.env, name)
        if found is not None:
            return found
        return member_of(unit.context, unit.source.module_name, name)
    if type(base) is ClassValue:
        return _of_class(base, name)
    if type(base) is DeviceValue:
        return _of_device(base, name)
    if type(base) is Union and name == "device":
        return _device_of_branches(frame, node, base)
    if type(base) is Union:
        return choose(frame.each(base, lambda v: attribute_of(frame, node, v, name)))
    if type(base) is Loader and name == "dataset":
        return UNKNOWN
    if type(base) is Host or type(base) is Const:
        return Method(base, name) if type(base) is Const else HOST
    if type(base) is Generator and name == "device":
        return DeviceValue(base.place)
    if type(base) is Sequence and name in base.names and base.items is not None:
        return base.items[base.names.index(name)]
    if type(base) is Sequence and base.kind == "tuple" and name in _RESULTS and base.items:
        return base.items[_RESULTS[name]]
    if type(base) in (Sequence, Mapping, Super, Method, FunctionValue, Loader):
        return Method(base, name)
    if holds("device-name", name):
        owner = dotted(node.value).rpartition(".")[2]
        if holds("device-owner", owner):
            return named_device(frame, dotted(node))  # `args.device`: the configuration chooses it
        return DeviceValue(None)
    return UNKNOWN


def _device_of_branches(frame: Frame, node: cst.Attribute, base: Union) -> Value:
    """`x.device` of a value that differs from branch to branch: one device, not known which."""
    found = [
        (attribute_of(frame, node, v, "device"), when) for v, when in cases(base) if v is not NONE
    ]
    devices = [
        (v.place, both(when, v.of.when if v.of is not None else ALWAYS))
        for v, when in found
        if type(v) is DeviceValue
    ]
    places = [place for place, _ in devices]
    if places and all(place == places[0] for place in places):
        return next(v for v, _ in found if type(v) is DeviceValue)
    is_told = len(devices) == len(found) and None not in places
    return DeviceValue(None, one_of=tuple(devices) if is_told else ())


def _of_tensor(frame: Frame, node: cst.Attribute, base: Tensor, name: str) -> Value:
    evidence = base.evidence
    if evidence is not None and name in _TELLING and name != "device":
        evidence.mark_tensor()
    if name == "device":
        if evidence is not None and not evidence.is_tensor:
            return _device_of_unknown(frame, node, base)
        return DeviceValue(base.place, base, sure=evidence is None or not evidence.hints.owner)
    if name == "is_cuda":
        return _is_cuda(base)
    if name in ("shape", "size"):
        if evidence is not None and frame.in_module and name == "shape":
            evidence.mark_tensor()  # modules are given no arrays
        return Host(base, whole=True)
    if name == "dtype":
        return DTYPE
    known = frame.unit.context.knowledge.attributes.get(name)
    if known is Result.HOST:
        return HOST
    if known is Result.FIRST:
        cut = GRAD | RECORDED | EXPECTED if name in ("data", "grad") else 0
        traits = gradients.kept(frame, base.traits & ~cut)
        origin = frame.origin(StepKind.COMPUTED, node, base.origin)
        return Tensor(base.place, origin, traits, evidence)
    is_method = name in frame.unit.context.knowledge.methods
    if evidence is None and is_method:
        return Method(base, name)
    if evidence is None:  # no tensor has it: a module gave several, each where the whole is
        return Tensor(base.place, base.origin, base.traits & ~SCALAR, Evidence())
    if not is_method:
        evidence.effects.foreign = True
        if evidence.is_tensor and not evidence.hints.output:
            return UNKNOWN  # of a subclass: it may hold anything
    # An attribute of something unknown: in the same place, a tensor if it is used as one.
    key = (id(evidence), name)
    held = frame.state.derived.get(key)
    if type(held) is Tensor and held.place is base.place:
        return held
    derived = Tensor(base.place, base.origin, base.traits & ~SCALAR, Evidence())
    if evidence.hints.output and derived.evidence is not None:
        derived.evidence.hints.output = True  # what a model gives is where it is, and its parts are
    if evidence.effects.foreign and base.origin is not None and derived.evidence is not None:
        of_parameter = base.origin.kind is StepKind.PARAMETER
        derived.evidence.hints.part = of_parameter and not evidence.hints.part
    if derived.evidence is not None:
        derived.evidence.hints.kept = evidence.effects.unread or evidence.hints.kept
    frame.state.derived[key] = derived
    return derived


def _device_of_unknown(frame: Frame, node: cst.Attribute, base: Tensor) -> Value:
    """`args.device` or `x.device`, when it is open whether the owner is a tensor.

    Either way it is one device for all that use it; a tensor's is the owner's own.
    """
    path = dotted(node.value)
    owner = path.rpartition(".")[2]
    if holds("device-owner", owner):
        return DeviceValue(named_device(frame, dotted(node)).place)
    assert base.evidence is not None
    if not base.evidence.effects.in_place:  # objects that move as modules do have a device, too
        base.evidence.mark_owner()
    return DeviceValue(base.place, base)


def _is_cuda(base: Tensor) -> Value:
    place = base.place
    if type(place) is Variable:
        return TRUE
    if type(place) is Device:
        return TRUE if place.type == "cuda" else FALSE
    return HOST


def _of_class(base: ClassValue, name: str) -> Value:
    function = base.info.method(name)
    if function is not None:
        return FunctionValue(function, base if function.is_class_method else None)
    applied = autograd.applied(base.info) if name == "apply" else None
    if applied is not None:
        return applied
    for info in base.info.lineage():
        found = info.members.get(name)
        if found is not None:
            return found
    return UNKNOWN


def _of_device(base: DeviceValue, name: str) -> Value:
    place = base.place
    if name == "type":
        if type(place) is Device:
            return Const(place.type)
        return DeviceValue(place)  # compares as the device does
    if name == "index" and type(place) is Device:
        return Const(place.index)
    return HOST
