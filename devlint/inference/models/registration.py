"""Registration: parameters, buffers and submodules live where their module lives."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.domain.placement import CPU, Device
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, GRAD, PARAMETER, RECORDED, SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, join_branches, union
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.program import attribute_conditions
from devlint.inference.program.attribute_notes import Written
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance


def registered_tensor(info: ClassInfo, frame: Frame, node: cst.CSTNode, traits: int) -> Tensor:
    """A parameter or buffer: it lives where the module lives."""
    origin = frame.origin(StepKind.REGISTERED, node)
    kept = GRAD | SCALAR if frame.unit.freezes else GRAD | SCALAR | RECORDED
    return Tensor(info.variable, origin, (traits & kept) | PARAMETER)


def register_attribute(
    info: ClassInfo, frame: Frame, name: str, kind: str, value: Value, node: cst.CSTNode
) -> None:
    """`register_buffer`, `register_parameter`, `add_module`."""
    note_registered(info, kind, value)
    info.registered[name] = kind
    info.notes.pop(name, None)
    if type(value) is Const and value.value is None:
        held: Value = value
    elif kind == "module":
        held = union(
            as_submodule(info, v) if type(v) is Instance else v for v in alternatives(value)
        )
    else:
        traits = GRAD if kind == "parameter" else 0
        if type(value) is Tensor:
            traits |= value.traits & SCALAR
        held = registered_tensor(info, frame, node, traits)
    old = info.attributes.get(name)
    info.attributes[name] = held if old is None else join_branches(old, held)
    facts = attribute_conditions.facts(frame)
    info.branches.setdefault(name, []).append(Written(held, facts, node))


def note_place(info: ClassInfo, part: Tensor | Instance) -> None:
    """A part that is elsewhere than on the default device: the class places itself. So it does
    where it moves a part to its own device, `self.net.to(self.device)`, wherever that is. Of a part
    without state nothing is known, and nothing needs to be."""
    place = part.place
    if place is info.variable:
        info.places_itself |= part.origin is not None and part.origin.kind is StepKind.MOVED
    elif place is not None and place != CPU:
        info.places_itself = True


def note_registered(info: ClassInfo, kind: str, value: Value) -> None:
    """What is registered says whether the class places itself, whatever its name:
    `self.register_parameter(f"weight{i}", nn.Parameter(torch.zeros(3, device=device)))`."""
    if kind == "module":
        for each in alternatives(value):
            if type(each) is Instance:
                note_place(info, each)
    elif not (type(value) is Const and value.value is None):
        info.places_itself |= not (type(value) is Tensor and value.traits & DEFAULT)


def register_by_name(
    info: ClassInfo, frame: Frame, name: str, value: Value, node: cst.CSTNode
) -> None:
    """`setattr(self, "scale", nn.Parameter(…))`: what was assigned to that name before is gone."""
    writes = frame.outcome.writes
    writes[:] = [write for write in writes if write.name != name]
    frame.state.env.pop(f"self.{name}", None)
    if info.is_module and type(value) is Tensor and value.traits & PARAMETER:
        register_attribute(info, frame, name, "parameter", value, node)
    elif info.is_module and type(value) is Instance and value.module:
        register_attribute(info, frame, name, "module", value, node)
    else:
        info.attributes[name] = UNKNOWN


def as_submodule(info: ClassInfo, value: Instance) -> Instance:
    """A module kept as an attribute: it follows `self`."""
    fixed = type(value.place) is Device and value.place.index is not None
    kept = Instance(
        value.info,
        value.library,
        True,
        value.place if fixed else info.variable,
        value.origin,
        None,
        value.items,
        value.name,
    )
    kept.fields, kept.stateless_given = value.fields, value.stateless_given
    return kept


def hand_over_parameters(arguments: Arguments) -> None:
    """A call out of sight may register the parameters that it is given."""
    for value, _ in arguments.all():
        for tensor in tensors_in(value):
            if tensor.traits & PARAMETER and tensor.origin is not None:
                tensor.origin.root.handed = True
