"""Attributes of classes, through all methods, and the device variable of `self`.

They are inferred on demand: reading `self.mask` in `forward` first infers the methods that assign
it. Inside an `nn.Module` all registered parameters, buffers and submodules live at one rigid
variable, δ(self): whoever writes the class does not choose it.
"""

from __future__ import annotations

from devlint.inference.conventions import is_assigned
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, DeviceValue
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import Device
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, KEPT, PARAMETER, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, join_branches, union
from devlint.inference.interpreter import contract_places, contracts
from devlint.inference.interpreter.movers import where_read
from devlint.inference.models.devices import written_device
from devlint.inference.models.module_places import baked
from devlint.inference.models.python_functions import may_have
from devlint.inference.models.registration import as_submodule, registered_tensor
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import interpreter_of, running_methods
from devlint.inference.program.values import Instance

_FOLLOWING = ("parameter", "buffer")


def attribute_of_class(info: ClassInfo, name: str) -> Value | None:
    """What `self.name` holds, by all methods that assign it; None when nothing says."""
    declared = contracts.of_class(info, name)
    if declared is not None:
        return contract_places.attribute(info, declared, _assigned_value(info, name))
    return _assigned_value(info, name)


def _assigned_value(info: ClassInfo, name: str) -> Value | None:
    held = _assigned_inside(info, name)
    if held is not None and is_written_device(held) and is_assigned(info.unit.source.text, name):
        return DeviceValue(None)  # the constructor's is what it starts with
    return held


def _assigned_inside(info: ClassInfo, name: str) -> Value | None:
    if name in info.reading:
        held_so_far = info.attributes.get(name)
        return None if held_so_far is None else where_read(info, name, held_so_far)
    info.reading.add(name)
    try:
        found: Value | None = None
        for ancestor in info.lineage():
            for method in ancestor.writers.get(name, ()):
                function = ancestor.methods.get(method)
                if method != "__init__" and ancestor.registered.get(name) in _FOLLOWING:
                    break  # it moves with the module, whoever puts another in its place
                if (
                    function is not None
                    and function.summary is None
                    and not _is_being_made(ancestor, method)
                ):
                    interpreter_of(function.unit).summarize(function)
            held = ancestor.attributes.get(name)
            if held is None:
                held = _written_so_far(ancestor, name)
            if held is None:
                held = ancestor.members.get(name)
            if held is not None and info.is_module and not ancestor.is_module:
                held = union(_registered(info, value) for value in alternatives(held))
            if held is not None:
                found = held if found is None else join_branches(found, held)
                if ancestor is info:
                    break
        return None if found is None else where_read(info, name, found)
    finally:
        info.reading.discard(name)


def _registered(info: ClassInfo, value: Value) -> Value:
    """What a mixin keeps, in a module that inherits from it: whoever sets them, a module registers
    its parameters.

    `class Reloads: def reload(self, weight): self.weight = nn.Parameter(weight)`
    """
    if type(value) is not Tensor or not value.traits & PARAMETER or value.origin is None:
        return value
    made = value.origin
    if made.root.kind is not StepKind.CREATED:
        return value
    origin = Provenance(StepKind.REGISTERED, made.node, made.source)
    return value.with_place(info.variable, origin, drop=DEFAULT | KEPT)


def left_so_far(info: ClassInfo, name: str) -> Value | None:
    """What the methods that are inferred by now leave in `self.name`, as its constructor is."""
    for ancestor in info.lineage():
        held = ancestor.attributes.get(name)
        if held is not None:
            return where_read(info, name, held)
    return None


def _is_being_made(info: ClassInfo, reader: str) -> bool:
    """Its constructor runs: what other methods leave is not there yet."""
    return reader != "__init__" and any(
        frame.function is not None and frame.function.name == "__init__"
        for frame in running_methods(info)
    )


def _written_so_far(info: ClassInfo, name: str) -> Value | None:
    """What a method that is still being inferred, and called the one that reads, has
    registered under a name: the constructor calls `self.reset()`, which reads `self.weight`."""
    for frame in running_methods(info):
        written = frame.state.env.get(f"self.{name}")
        if written is None:
            continue
        written = baked(frame, written)  # with the moves so far
        if type(written) is Sequence or type(written) is Mapping:
            return written  # the very one: what the reader puts into it the constructor holds
        found: list[Value] = []
        for value in alternatives(written):
            if type(value) is Instance and value.module:
                made_there = not info.is_module and type(value.place) is Device
                # an object takes nothing along: what it made is where it was made
                found.append(value if made_there else as_submodule(info, value))
            elif type(value) is Tensor and value.traits & PARAMETER:
                made = value.origin.node if value.origin is not None else info.node
                found.append(registered_tensor(info, frame, made, value.traits))
            elif type(value) is not Const:
                return None
        if found:
            return union(found)
    return None


def unassigned_attribute(info: ClassInfo, name: str) -> Value:
    """An attribute of a module that nothing in sight assigns: perhaps a tensor of its own, set by
    what is out of sight."""
    if any(name in ancestor.writers for ancestor in info.lineage()):
        return UNKNOWN  # by a method that is being inferred
    held = info.cache.get(name)
    if held is None:
        is_tensor = info.is_module and may_have(info, name)
        held = Tensor(info.variable, None, 0, Evidence()) if is_tensor else UNKNOWN
        info.cache[name] = held
    return held


def is_written_device(value: Value) -> bool:
    """One device that is written down: `torch.device("cpu")`, `"cpu"`."""
    if type(value) is DeviceValue:
        return type(value.place) is Device
    return written_device(value) is not None
