"""Plain attributes: tensors and modules that a module keeps and does not register."""

from __future__ import annotations

import libcst as cst

from devlint.findings import Confidence
from devlint.inference.call_contexts import Given
from devlint.inference.collect import call_contexts
from devlint.inference.collect.explanation import operand
from devlint.inference.collect.switched_attributes import switch_of
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.heap import latest
from devlint.inference.domain.placement import CPU, Variable
from devlint.inference.domain.provenance import Site, StepKind
from devlint.inference.domain.tensors import DEFAULT, GRAD, KEPT, MAYBE_SCALAR, PARAMETER, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.facts import Meeting, MeetingKind, PlainAttribute
from devlint.inference.interpreter.kept_tensors import keep_note
from devlint.inference.interpreter.movers import moves_plain_attribute
from devlint.inference.interpreter.submodules import (
    RegisteredModules,
    is_handed_on,
    is_own,
    modules_in,
    registers_by_name,
)
from devlint.inference.program import usage
from devlint.inference.program.accelerator_notes import MentionNote, Mentions
from devlint.inference.program.attribute_notes import AttributeNote
from devlint.inference.program.constructors import is_called_by_constructor, is_chosen_from
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import ClassInfo, Function, classes_of
from devlint.inference.program.events import KeptMeets
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, every

# What `nn.Module` itself registers in: `Module.to` goes by these (torch/nn/modules/module.py).
_REGISTRIES = frozenset({"_modules", "_parameters", "_buffers"})
_TELLS_OF_PARTS = ("parameters", "named_parameters", "modules", "named_modules", "state_dict")


def settle_class(info: ClassInfo, frame: Frame) -> None:
    """Turn what methods keep into facts, once all methods are inferred."""
    _note_filled_lists(info, frame)
    for note in info.notes.values():
        overwritten = note.overwrites != ""
        if note.name in _REGISTRIES:
            continue
        if not overwritten and info.registration(note.name) == "buffer":
            continue
        if note.of_modules and registers_by_name(info):
            continue
        held = operand(frame, note.tensor, note.source_node)
        method = info.methods.get(note.method)
        if method is not None and usage.left_over(method):  # a file that nobody names may be new
            usage.note_function(method)
        info.unit.facts.plain_attributes.append(
            PlainAttribute(
                site=frame.site(note.node),
                class_name=info.name,
                attribute=note.name,
                operand=held,
                of_modules=note.of_modules,
                overwrites=note.overwrites,
                used_at=_meeting_of(info, note),
                read_at=info.used.get(note.node),
                excused=moves_plain_attribute(info, note.name)
                or _moved_elsewhere(info, note)
                or (note.of_modules and _looks_after(info, note.name))
                or (note.of_modules and _hides_one(info, note))
                or (note.of_modules and is_chosen_from(info, note.name))
                or (held.placement is not None and held.placement == info.stands_on)
                or _by_switch(info.unit, note.tensor)
                or info.unit.exports_on_host
                or (info.unit.is_test and not note.of_modules),
                method=note.method,
                given=_default_device(note, method),
                was_given=note.was_given,
                one_of_several=note.one_of_several,
                only_compared=overwritten and _is_only_compared(info, note.name),
                in_container=note.in_container,
                is_trained=bool(note.tensor.traits & GRAD),
                is_computed=_is_computed(note.tensor),
                in_host_script=_is_of_host_script(info),
                switch="" if note.of_modules else switch_of(info, note.method, note.name),
                is_late=note.method != "__init__"
                and not is_called_by_constructor(info, note.method),
            )
        )


def _default_device(note: AttributeNote, method: Function | None) -> Given | None:
    """The default device of the method in which the attribute was made, where it is on that."""
    is_made = note.tensor.traits & DEFAULT and not (note.of_modules or note.was_given)
    return call_contexts.default_device(method) if is_made else None


_FILLING = (".append(", ".extend(", ".insert(", " +=")


def _hides_one(info: ClassInfo, note: AttributeNote) -> bool:
    """A list of one module, that gets no other: nobody needs such a list, but to keep the module
    out of `parameters()` and `state_dict`. `self.teacher = [teacher]`"""
    kept = note.source_node
    if not isinstance(kept, (cst.List, cst.Tuple)) or len(kept.elements) != 1:
        return False
    if isinstance(kept.elements[0], cst.StarredElement):
        return False
    return not any(
        f"self.{note.name}{filling}" in each.text for each in info.lineage() for filling in _FILLING
    )


def _is_of_host_script(info: ClassInfo) -> bool:
    """A class that only the script has which it stands in, and that names no accelerator."""
    unit = info.unit
    if unit.accelerated or not unit.runs_itself:
        return False
    importer = unit.context.importer
    return importer is None or not importer.is_named_elsewhere(info.name, unit.source.path)


def meets(frame: Frame, event: KeptMeets) -> None:
    """Remember where a plain attribute is computed with."""
    tensor, node = event
    info = frame.info
    for step in tensor.origin.chain() if tensor.origin is not None and info is not None else ():
        if step.kind is StepKind.ATTRIBUTE and info is not None:
            info.used.setdefault(step.node, frame.site(node))


def _note_filled_lists(info: ClassInfo, frame: Frame) -> None:
    """Modules put into a plain list or dict that an attribute holds."""
    if not info.is_module:
        return
    registered = RegisteredModules(frame, info)
    for name, held in info.attributes.items():
        for value in alternatives(held):
            value = latest(value)
            if not isinstance(value, (Sequence, Mapping)) or name in info.notes:
                continue
            node = _begun_at(info, name, value)
            if node is None or is_handed_on(info, name, node):
                continue
            if any(is_own(frame, m, registered) for m in modules_in(value.any())):
                stand_in = Tensor(CPU, frame.origin(StepKind.CREATED, node), 0)
                note = AttributeNote(node, node, name, stand_in, True, "__init__", "")
                keep_note(info, name, note)


def _begun_at(info: ClassInfo, name: str, value: Value) -> cst.CSTNode | None:
    """The list or dict that an attribute began with, as it is written."""
    if type(value) is Sequence:
        return value.node
    assigned = [written for _, written in info.assigned.get(name, ())]
    return assigned[0] if len(assigned) == 1 and isinstance(assigned[0], cst.Dict) else None


def _meeting_of(info: ClassInfo, note: AttributeNote) -> Site | None:
    """Where the attribute met a value on another device."""
    for meeting in info.unit.facts.meetings:
        if meeting.confidence is Confidence.POSSIBLE and (
            note.tensor.traits & MAYBE_SCALAR
            or _may_be_number(meeting)
            or meeting.kind is MeetingKind.RETURN
        ):
            continue  # a 0-dim one meets every device; one that is only returned meets none
        for step in meeting.left.steps:
            if step.site.node is note.node:
                return meeting.site
    return None


def _is_only_compared(info: ClassInfo, name: str) -> bool:
    """All that the class asks of it is how it compares: `if accuracy > self.best:`. With numbers
    it does so wherever it lives."""
    compared: set[cst.CSTNode] = set()
    seen: set[cst.CSTNode] = set()
    for method in info.methods.values():
        for each in every(method.node, cst.Comparison):
            compared.update((each.left, *(part.comparator for part in each.comparisons)))
        targets = {each.target for each in every(method.node, cst.AssignTarget)}
        read = (node for node in every(method.node, cst.Attribute) if node not in targets)
        seen.update(node for node in read if dotted(node) == f"self.{name}")
    return bool(seen) and seen <= compared


def _may_be_number(meeting: Meeting) -> bool:
    """What meets is an element of the attribute that may have no dimensions: `self.steps[n]`."""
    kinds = {each.kind for each in meeting.assumptions}
    return AssumptionKind.VALUE_HAS_DIMENSIONS in kinds


def _is_computed(tensor: Tensor) -> bool:
    return tensor.origin is not None and tensor.origin.taken.kind is StepKind.COMPUTED


def _looks_after(info: ClassInfo, name: str) -> bool:
    """The class tells of the modules in a container itself, in its own `named_parameters` or
    `state_dict`; or moves what it takes out: `self.layers[i].to(x.device)`."""
    telling = [m for m in map(info.method, _TELLS_OF_PARTS) if m is not None]
    return any(holds("mention", m.text, name) for m in telling) or holds(
        "moved-element", info.text, name
    )


def _moved_elsewhere(info: ClassInfo, note: AttributeNote) -> bool:
    """Some method reads the attribute only to move it, or the elements of a list, or puts a moved
    one in its place. The constructor does neither: what it moves stays there, as what it leaves
    does where a condition is not met."""
    name = note.name
    for value in alternatives(info.attributes.get(name, UNKNOWN)):
        if type(value) is not Tensor:
            continue
        if type(value.place) is Variable and not value.traits & (PARAMETER | KEPT):
            return True
        step = value.origin
        if step is None or step.kind is not StepKind.MOVED:
            continue
        if not _is_in_constructor(info, step.node):
            return True
    names = ((move, move.subject.name) for move in info.unit.facts.moves)
    whole = ((m, n.partition("[")[0] if note.in_container else n) for m, n in names)
    moves = [move for move, moved in whole if moved == f"self.{name}"]
    return any(
        not _is_in_constructor(info, move.site.node) and not _is_of_another(info, move.function)
        for move in moves
    )


def _is_in_constructor(info: ClassInfo, move: cst.CSTNode) -> bool:
    constructor = info.methods.get("__init__")
    return constructor is not None and any(
        call is move for call in every(constructor.node, cst.Call)
    )


def _is_of_another(info: ClassInfo, function: Site | None) -> bool:
    """A method of a class that has nothing to do with this one."""
    return function is not None and any(
        method.node is function.node
        for each in classes_of(info.unit)
        if info not in each.lineage() and each not in info.lineage()
        for method in each.methods.values()
    )


def _by_switch(unit: Unit, tensor: Tensor) -> bool:
    """A function of the project put it on the current accelerator, behind a switch: the same that
    moves the modules."""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        made_in = unit.context.units.get(step.source.path)
        noted = made_in.kept(Mentions).notes.get(step.node) if made_in is not None else None
        if noted is not None:
            is_helper = noted.function is not None and noted.function.info is None
            is_switched = is_helper or _by_own_flag(unit, noted)
            return is_switched and noted.guarded and noted.index is None
    return False


def _by_own_flag(unit: Unit, noted: MentionNote) -> bool:
    """`x.cuda() if self.use_gpu else x`: who makes the object says where all of it is to be."""
    around = unit.kept(ControlDependences).around(noted.function, noted.node)
    for test, branch in around:
        if isinstance(test, (cst.If, cst.IfExp)) and branch is test.body:
            owner, _, flag = dotted(test.test).rpartition(".")
            if owner == "self" and holds("accelerator-flag", flag):
                return True
    return False
