"""Writes of attributes: what `self.name = value` leaves, once the method is done.

A parameter or a buffer lives at δ(self) from then on, a plain tensor of a module stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.heap import latest
from devlint.inference.domain.host import Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, NamedLiteral, both, differ
from devlint.inference.domain.placement import CPU, Device, Placement, Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, GRAD, KEPT, PARAMETER, Tensor
from devlint.inference.domain.value import (
    UNKNOWN,
    Unknown,
    Value,
    alternatives,
    cases,
    join_branches,
    under,
    union,
    union_of_cases,
)
from devlint.inference.interpreter import contract_checks, contracts
from devlint.inference.interpreter.attribute_suites import stands_in
from devlint.inference.interpreter.kept_tensors import (
    keep_note,
    kept_tensor,
    method_name,
)
from devlint.inference.interpreter.movers import moves_plain_attribute
from devlint.inference.interpreter.object_lives import is_moved_outside
from devlint.inference.interpreter.submodules import (
    RegisteredModules,
    holds_modules,
    is_handed_on,
    is_own,
    modules_in,
    registers_by_name,
)
from devlint.inference.models.module_places import baked, others_move, replaced, stateful
from devlint.inference.models.moves.objects import note_moved_part
from devlint.inference.models.registration import as_submodule, note_place, registered_tensor
from devlint.inference.program import attribute_conditions
from devlint.inference.program.attribute_notes import AttributeNote, Written
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame
from devlint.inference.program.outcomes import AttributeWrite
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import dotted, every


def _is_anew(info: ClassInfo, value: Value) -> bool:
    """On the host, and not computed of what the constructor left there."""
    if type(value) is not Tensor or value.place != CPU:
        return False
    steps = value.origin.chain() if value.origin is not None else ()
    return not any(step.node in info.constructed for step in steps)


def write_attribute(
    frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
) -> None:
    """`self.name = value` in one of the methods: what survives counts when it is done."""
    if type(value) is Tensor:
        value = under(value, frame.state.when)
    facts = attribute_conditions.facts(frame)
    frame.outcome.writes.append(AttributeWrite(name, value, node, source, facts))


def write_parameter_data(
    info: ClassInfo,
    frame: Frame,
    holder: Tensor,
    value: Value,
    node: cst.Attribute,
    source: cst.CSTNode,
) -> None:
    """`self.weight.data = value`: the parameter lives where the value does."""
    owner = node.value
    if frame.constructing or not (isinstance(owner, cst.Attribute) and info.is_module):
        return
    if frame.eval(owner.value) is not frame.instance:
        return  # of another module
    name = owner.attr.value
    if holder.traits & PARAMETER and type(value) is Tensor and value.traits & DEFAULT:
        keep_note(
            info,
            name + ".data",
            AttributeNote(node, source, name, value, False, method_name(frame), "parameter"),
        )


def settle_writes(info: ClassInfo, frame: Frame) -> None:
    """What a method leaves in the attributes that it assigns."""
    registered = RegisteredModules(frame)
    own: dict[str, Value] = {}
    last, common = _last_in_any_case(frame), _common_facts(frame)
    for number, (name, value, node, source, facts) in enumerate(frame.outcome.writes):
        left = [env[f"self.{name}"] for env in frame.outcome.exits if f"self.{name}" in env]
        moved = _moved_in_place(value, left)
        if moved is None and left and not any(_survives(value, final) for final in left):
            continue
        if value is UNKNOWN and last.get(name, number) > number:
            continue  # it is assigned again
        kept = _write_value(info, frame, registered, name, moved or latest(value), node, source)
        anew = info.notes.get(f"{name}*")
        if anew is not None and anew.node is node and not _may_be_there(info, name, facts):
            del info.notes[f"{name}*"]
        written = info.branches.setdefault(name, [])
        around = common[_merged_as(name, value)] if type(value) is Tensor else facts
        for each, known in attribute_conditions.by_facts(frame, kept, around):
            written.append(Written(each, known, source, method_name(frame)))
        own[name] = kept if name not in own else join_branches(own[name], kept)
    frame.outcome.kept |= own


_Merged = tuple[str, Placement, int]  # an attribute, and what two tensors that are one have alike


def _common_facts(frame: Frame) -> dict[_Merged, frozenset[NamedLiteral]]:
    """What holds for all tensors that a method assigns to an attribute and that are one where its
    branches join."""
    common: dict[_Merged, frozenset[NamedLiteral]] = {}
    for name, value, _, _, facts in frame.outcome.writes:
        if type(value) is Tensor:
            key = _merged_as(name, value)
            common[key] = facts & common[key] if key in common else facts
    return common


def _merged_as(name: str, value: Tensor) -> _Merged:
    return name, value.place, value.traits & PARAMETER


def _last_in_any_case(frame: Frame) -> dict[str, int]:
    """By attribute that a method assigns several times, the number of the last write that it makes
    in any case: by a statement of its own body, if it ends in one way only."""
    writes, suite = frame.outcome.writes, frame.function.node.body if frame.function else None
    is_several = len({write.name for write in writes}) < len(writes)
    if not is_several or not isinstance(suite, cst.IndentedBlock) or len(frame.outcome.exits) != 1:
        return {}
    lines = (each for each in suite.body if isinstance(each, cst.SimpleStatementLine))
    own = {found for line in lines for found in every(line, cst.Attribute)}
    return {write.name: number for number, write in enumerate(writes) if write.node in own}


def _may_be_there(info: ClassInfo, name: str, facts: frozenset[NamedLiteral]) -> bool:
    """Something assigned the attribute where conditions may have come out as they do here: what
    `if self.pool:` registers is not there in the `else` of another `if self.pool:`."""
    written = info.branches.get(name, ())
    return not written or any(not differ(each.facts, facts) for each in written)


def _moved_in_place(written: Value, left: list[Value]) -> Value | None:
    """`self.net = net`, `self.net.to(device)`: what the method leaves of it is the moved one,
    if it is that in any case."""
    parts = [part for value in left for part in alternatives(value)]
    if type(written) is Tensor and len(parts) > 1:
        parts = [part for part in parts if _stems_from(part, written)]
    return parts[0] if parts and all(_is_moved(part, written) for part in parts) else None


def _is_moved(part: Value, written: Value) -> bool:
    """What was written was moved since, as modules are, wherever it was written."""
    if type(part) is Instance and not part.module:
        in_place = type(written) is Instance and part.library == written.library
    elif type(part) is Tensor:
        then = written.assumed if type(written) is Tensor else ALWAYS
        in_place = part.evidence is not None and part.evidence.effects.in_place
        in_place = in_place and set(part.assumed) <= set(then)
    else:
        return False
    return in_place and part.origin is not None and part.origin.kind is StepKind.MOVED


def _stems_from(part: Value, written: Tensor) -> bool:
    """It is what was written, or was moved since."""
    if type(part) is not Tensor or part.origin is None:
        return False
    return any(step is written.origin for step in part.origin.chain())


def _write_value(
    info: ClassInfo,
    frame: Frame,
    registered: RegisteredModules,
    name: str,
    value: Value,
    node: cst.CSTNode,
    source: cst.CSTNode,
) -> Value:
    value = baked(frame, value)
    declared = contracts.of_class(info, name)
    if declared is not None:
        value = contract_checks.hold(frame, node, f"`self.{name}`", value, source, declared)
        old = info.attributes.get(name)
        info.attributes[name] = value if old is None else join_branches(old, value)
        return value
    if method_name(frame) in ("__init__", "__post_init__") or frame.constructing:
        info.constructed.add(node)
    elif any(_is_anew(info, v) for v in alternatives(value)):
        info.remade.add(name)
    values = alternatives(value)
    if any(type(v) is Instance and v.module for v in values):
        # A module, or several, by a setting: which of them it is here is not in sight.
        values = tuple(UNKNOWN if holds_modules(v) else v for v in values)
    kept = union_of_cases(
        (each, both(own, when))
        for v, (_, when) in zip(values, cases(value), strict=True)
        for each, own in cases(_kept_value(info, frame, registered, name, v, node, source))
    )
    for note in (info.notes.get(name), info.notes.get(f"{name}*")):
        if note is not None and note.node is node and _is_of_state(values, note.tensor):
            note.one_of_several = True
    held = info.attributes.get(name)
    info.attributes[name] = kept if held is None else join_branches(held, kept)
    return kept


def _is_of_state(values: Iterable[Value], tensor: Tensor) -> bool:
    """One of several that an object may hold, by which of its methods ran before."""
    places = {v.place for v in values if type(v) is Tensor}
    return len(places) > 1 and bool(tensor.traits & KEPT)


def _kept_value(
    info: ClassInfo,
    frame: Frame,
    registered: RegisteredModules,
    name: str,
    value: Value,
    node: cst.CSTNode,
    source: cst.CSTNode,
) -> Value:
    if type(value) is Tensor and stands_in(info, name, value, source):
        return Tensor(None, value.origin)  # it has its content where it is used
    if not info.is_module:
        return _kept_by_object(info, frame, value, node)
    if type(value) is Tensor:
        return kept_tensor(info, frame, name, value, node, source)
    if type(value) is Instance and value.module:
        info.registered.setdefault(name, "module")
        note_place(info, value)
        if not frame.constructing and value.place not in (None, CPU, info.variable):
            note_moved_part(frame)
        if stateful(frame, value):
            info.note_part(name, value.place)
            lineage = value.info.lineage() if value.info is not None else ()
            info.places_itself |= any(each.places_itself for each in lineage)
        else:
            info.stateless.add(name)
        return as_submodule(info, value)
    if type(value) is Instance and _is_parameter(value):
        info.places_itself = True  # its class says where it is
    if isinstance(value, (Sequence, Mapping)) and frame.function is not None:
        inner = value.any()
        hidden = type(value) is Sequence and value.kind == "cache"
        modules = modules_in(inner)
        own = [m for m in modules if hidden or is_own(frame, m, registered)]
        if modules and not hidden and (registers_by_name(info) or is_handed_on(info, name, source)):
            return UNKNOWN  # they move by names of their own
        if own and type(inner) is not Tensor:
            stand_in = Tensor(CPU, frame.origin(StepKind.CREATED, source), 0)
            for module in own:
                module.place = None  # nobody moves it: that is said once, here
            keep_note(
                info,
                name,
                AttributeNote(node, source, name, stand_in, True, method_name(frame), ""),
            )
        elif any(module in registered for module in modules):
            return UNKNOWN  # they move by names of their own
        elif not own:
            return _kept_container(info, frame, name, value, node, source)
    return value


def _is_parameter(value: Instance) -> bool:
    """A parameter of a class of the project, which may put it anywhere: `Sharded(nn.Parameter)`."""
    classes = value.info.lineage() if value.info is not None else ()
    return any("torch.nn.Parameter" in each.library_bases for each in classes)


def _with_own_parameters(info: ClassInfo, frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """`self.rows = [self.weight, self.embed.weight]`: a move of the module changes its parameters
    in place, whoever has them besides; a buffer it replaces by another."""
    names = [name for name, kind in info.registered.items() if kind == "parameter"]
    own = [frame.state.env.get(f"self.{name}") for name in names]

    def moved(part: Value) -> Value:
        if type(part) is not Tensor or not part.traits & PARAMETER or not part.traits & GRAD:
            return part
        of_part = part.origin is not None and part.origin.kind is not StepKind.CREATED
        is_own = of_part or any(part is each for each in own)
        return registered_tensor(info, frame, node, part.traits) if is_own else part

    return value.map(moved) if isinstance(value, (Sequence, Mapping)) else value


def _kept_container(
    info: ClassInfo, frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
) -> Value:
    """A list or dict of tensors: nothing in it moves with the module, but for its parameters."""
    value = _with_own_parameters(info, frame, value, node)
    if type(value) is not Sequence:
        return value
    parts = value.items if value.items is not None else [value.any()]
    found = [
        v
        for v in parts
        if type(v) is Tensor
        and v.evidence is None
        and v.traits & DEFAULT
        and not v.traits & PARAMETER
    ]
    if not found or len(found) < len(parts):
        return value
    if all(_is_placeholder(v) for v in found) and _refilled(info, name):
        return Sequence(None, Tensor(None), value.kind)
    if moves_plain_attribute(info, name):
        inner = registered_tensor(info, frame, node, 0)
        return Sequence(None, inner, value.kind)
    note = AttributeNote(node, source, name, found[0], False, method_name(frame), "")
    note.in_container = True
    keep_note(info, name, note)
    origin = frame.origin(
        StepKind.ATTRIBUTE, node, found[0].origin, "kept here as a plain attribute"
    )
    kept: list[Value] = [Tensor(v.place, origin, v.traits | KEPT) for v in found]
    if value.items is None:
        return Sequence(None, kept[0], value.kind)
    return Sequence(kept, None, value.kind)


def _moves_attribute(info: ClassInfo, node: cst.CSTNode) -> bool:
    """Some method of the class moves the module that it keeps there."""
    path = dotted(node)
    return bool(path) and holds("moved-name", info.text, path)


def _kept_by_object(info: ClassInfo, frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    if type(value) is Instance and value.module and type(value.place) is Device:
        if info.has_base_out_of_sight:
            return replaced(value, None, None, value.parent)  # it may be what moves them
        step = frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here")
        if value.place == CPU and (_moves_attribute(info, node) or is_moved_outside(info, node)):
            is_made = method_name(frame) == "__init__"
            return others_move(value, value.origin, step if is_made else None)
        return replaced(value, value.place, step, value.parent)
    if isinstance(value, (Sequence, Mapping)) and modules_in(value.any()):
        return _kept_modules(info, frame, value, node)
    if type(value) is Tensor and type(value.place) is not Variable:
        place = value.place
        if value.traits & PARAMETER and info.has_base_out_of_sight:
            place = None  # a module after all: it moves with the object
        return Tensor(
            place,
            frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here"),
            value.traits,
            value.evidence,
        )
    if type(value) is Tensor and value.evidence is not None and _is_computed(value):
        # What becomes of it by this name is nothing that becomes of what it was computed from.
        return Tensor(value.place, value.origin, value.traits, Evidence(parents=(value.evidence,)))
    return value


def _is_computed(value: Tensor) -> bool:
    return value.origin is not None and value.origin.kind is StepKind.COMPUTED


def _kept_modules(
    info: ClassInfo, frame: Frame, value: Sequence | Mapping, node: cst.CSTNode
) -> Sequence | Mapping:
    """A list or dict of modules that an object keeps: each as if it kept that alone."""

    def kept(part: Value) -> Value:
        return union(
            _kept_by_object(info, frame, v, node) if type(v) is Instance and v.module else v
            for v in alternatives(part)
        )

    element = None if value.element is None else kept(value.element)
    if isinstance(value, Mapping):
        return Mapping({k: kept(v) for k, v in value.entries.items()}, element)
    items = None if value.items is None else [kept(v) for v in value.items]
    return Sequence(items, element, value.kind, value.node, value.names)


def _is_placeholder(tensor: Tensor) -> bool:
    """One element or none, by its factory's only argument: `torch.zeros(1)`."""
    made = tensor.origin.root.node if tensor.origin is not None else None
    if not isinstance(made, cst.Call) or len(made.args) != 1:
        return False
    size = made.args[0].value
    return isinstance(size, cst.Integer) and size.value in ("0", "1")


def _refilled(info: ClassInfo, name: str) -> bool:
    """The class puts other elements into a list, or hands it to somebody who may."""
    return holds("refilled-list", info.text, f"self.{name}")


def _survives(value: Value, final: Value) -> bool:
    """Whether what was assigned may still be there at the end."""
    if final is value:
        return True
    if type(value) is Sequence:
        return any(type(v) is Sequence for v in alternatives(final))
    if type(value) is Mapping:
        # one that was put together from others holds their entries
        return any(
            type(v) is Mapping and value.entries.keys() <= v.entries.keys()
            for v in alternatives(final)
        )
    if type(value) is Tensor:
        found = [v.origin for v in alternatives(final) if type(v) is Tensor]
        return any(o is value.origin or (o and o.is_same(value.origin)) for o in found)
    if type(value) is Host and value.array:
        return any(type(v) is Host or type(v) is Unknown for v in alternatives(final))
    return True
