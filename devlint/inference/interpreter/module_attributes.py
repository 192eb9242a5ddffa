"""Attributes of modules: what `module.name` gives."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import DTYPE, HOST, DeviceValue
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Variable
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, GRAD, PARAMETER, RECORDED, Tensor
from devlint.inference.domain.value import UNKNOWN, Union, Value, alternatives, cases, choose, join
from devlint.inference.interpreter.attribute_suites import as_tested, held_under, told_apart
from devlint.inference.interpreter.class_attributes import (
    attribute_of_class,
    is_written_device,
    unassigned_attribute,
)
from devlint.inference.interpreter.declared_fields import fields_of_class, handed_in
from devlint.inference.interpreter.movers import moved_on_demand
from devlint.inference.models import library_objects, optimizers
from devlint.inference.models.module_places import placed, replaced
from devlint.inference.models.modules import is_self, member
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import FunctionValue, Instance, Method


def attribute(frame: Frame, node: cst.Attribute, holder: Instance, name: str) -> Value:
    """`object.name`."""
    fields = frame.fields_of(holder).entries
    held = fields.get(name)
    if held is not None:
        modules = [v for v in alternatives(held) if type(v) is Instance and v.module]
        if holder.module and any(module.parent is not holder for module in modules):
            held = member(holder, held)  # whichever of several it is
            fields[name] = held  # from here on it is that very part
        if type(held) is Tensor and held.traits & PARAMETER and holder.module:
            return _registered(frame, node, holder, held)
        return held
    info = holder.info
    if info is not None:
        function = info.method(name)
        if function is not None:
            bound = FunctionValue(function, holder)
            if function.is_property:
                result = frame.interpreter.call_function(frame, node, bound, Arguments([], {}))
                return UNKNOWN if result is None else result
            return bound
        found = attribute_of_class(info, name)
        if found is not None and is_written_device(found) and name in handed_in(info):
            found = DeviceValue(None)  # the class has only what is left out
        declared = fields_of_class(info).get(name)
        if declared is not None:
            found = declared if found is None else join(found, declared)
        if found is not None and is_self(frame, holder):
            found = held_under(frame, info, name, found)
            found = told_apart(info, name, found)
            found = as_tested(frame, info, name, found)
        if found is not None:
            found = moved_on_demand(info, frame, name, found, node)
        if found is not None:
            return _seen_from(frame, node, holder, found)
    if holder.module:
        if name in ("device", "_device"):
            return DeviceValue(placed(frame, holder)[0])
        of_torch = holder.library.startswith("torch.nn.")
        if _is_parameter(name, of_torch):
            place, origin = placed(frame, holder)
            step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin)
            traits = PARAMETER
            if "running" not in name:
                traits |= GRAD | (RECORDED if of_torch and not frame.unit.freezes else 0)
            return Tensor(place, step, traits)
        if name == "module":
            return holder
        if name == "dtype":
            return DTYPE
        if name in _HOST_ATTRIBUTES:
            return HOST
    if info is not None:
        of_optimizer = optimizers.groups(frame, info, name)
        if of_optimizer is not None:
            return of_optimizer
        if is_self(frame, holder) or not holder.module:
            return unassigned_attribute(info, name)
        return UNKNOWN
    if holder.module and not holder.library:
        place, _ = placed(frame, holder)
        return Tensor(place, None, 0, Evidence())
    if holder.library and not holder.module:
        of_library = library_objects.attribute(frame, node, holder, name)
        if of_library is not None:
            return of_library
    return Method(holder, name)


def _is_parameter(name: str, of_torch: bool) -> bool:
    """What a layer registers under a name: `weight`, and in torch `bias_hh_l0`, `in_proj_bias`."""
    if name in ("weight", "bias", "in_proj_weight", "running_mean", "running_var"):
        return True
    return of_torch and name.startswith(("weight_", "bias_", "in_proj_"))


_HOST_ATTRIBUTES = frozenset(
    {"training", "dtype", "in_features", "out_features", "in_channels", "out_channels"}
    | {"kernel_size", "stride", "padding", "num_embeddings", "embedding_dim", "hidden_size"}
)


def _seen_from(frame: Frame, node: cst.Attribute, holder: Instance, value: Value) -> Value:
    """An attribute's value, with δ(self) replaced by where this object is."""
    if is_self(frame, holder) or holder.info is None:
        return value
    if type(value) is Union:
        return choose((_seen_from(frame, node, holder, v), when) for v, when in cases(value))
    variables = {i.variable for i in holder.info.lineage()}
    place = getattr(value, "place", None)
    if type(place) is Variable and place not in variables and place.parameter:
        return _given(holder, value, place)
    if type(value) is Tensor and value.place in variables:
        place, origin = placed(frame, holder)
        step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin).known(value.when)
        return Tensor(place, step, value.traits, value.evidence)
    if type(value) is Instance and value.place in variables:
        sub = replaced(value, None, value.origin, holder)
        frame.fields_of(holder).entries[node.attr.value] = sub
        return sub
    if type(value) is DeviceValue and value.place in variables:
        return DeviceValue(placed(frame, holder)[0])
    return value


def _registered(frame: Frame, node: cst.Attribute, holder: Instance, value: Tensor) -> Tensor:
    """A Parameter that was assigned to a module from outside: it moves with the module."""
    if value.place != CPU:
        return value
    place, origin = placed(frame, holder)
    step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin).known(value.when)
    return value.with_place(place, step, drop=DEFAULT)


def _given(holder: Instance, value: Value, place: Variable) -> Value:
    """An attribute on a parameter's device, seen from outside: as the constructor's call says; of
    an object that is handed in, where that is."""
    stand_in = holder.given.get(place) if holder.given is not None else None
    where = stand_in.place if stand_in is not None else None
    if holder.given is None and holder.origin is not None:
        where = holder.place if holder.origin.kind is StepKind.PARAMETER else None
    if type(value) is DeviceValue:
        return DeviceValue(where)
    if type(value) is Tensor:
        traits = value.traits | (stand_in.traits & DEFAULT if stand_in is not None else 0)
        return Tensor(where, value.origin, traits, value.evidence)
    return UNKNOWN
