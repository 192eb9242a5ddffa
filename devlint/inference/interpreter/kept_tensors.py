"""Tensors that a module keeps: parameters, buffers and plain attributes.

`self.mask = torch.ones(3)` stays on the host when the module moves; what is registered follows.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.placement import CPU, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    GRAD,
    INDIRECT,
    KEPT,
    LOADED,
    MAYBE_SCALAR,
    NON_LEAF,
    PARAMETER,
    SCALAR,
    SHAPED,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.interpreter.movers import moves_plain_attribute
from devlint.inference.models.registration import note_place, registered_tensor
from devlint.inference.program.attribute_notes import AttributeNote
from devlint.inference.program.control_dependences import branches_around
from devlint.inference.program.declarations import ClassInfo, Function, classes_of
from devlint.inference.program.events import NonLeafUsed
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.exposed_reads import ExposedReads
from devlint.inference.syntax.text import called_name, code, dotted, every


def kept_tensor(
    info: ClassInfo, frame: Frame, name: str, value: Tensor, node: cst.CSTNode, source: cst.CSTNode
) -> Value:
    if value.traits & NON_LEAF and not _is_replaced(info, frame, name):
        frame.emit(NonLeafUsed(value, "attribute", node))
    if (
        value.traits & PARAMETER
        and value.origin is not None
        and (
            value.origin.kind is StepKind.CREATED
            or (value.origin.kind is StepKind.REGISTERED and value.traits & GRAD)
        )
    ):
        if _is_made_anew(info, frame, name, value):
            note = AttributeNote(node, source, name, value, False, method_name(frame), "parameter")
            keep_note(info, name + "*", note)
        info.registered[name] = "parameter"
        note_place(info, value)
        info.note_part(name, value.place)
        if value.place is None and not value.traits & DEFAULT:
            info.places_itself = True  # of what the constructor was given, which is somewhere
        return registered_tensor(info, frame, node, value.traits)
    if value.evidence is not None and not value.evidence.is_tensor:
        return value
    if _is_copy(frame, value) and value.place in {i.variable for i in info.lineage()}:
        # Made before anybody could move the module, it stays where the module was built.
        open_size = MAYBE_SCALAR if value.traits & SHAPED else 0
        value = value.with_place(CPU, value.origin, add=DEFAULT | open_size)
    note_place(info, value)
    was_given = _was_given(info, frame, name, value)
    if was_given:
        open_size = MAYBE_SCALAR if value.traits & SHAPED else 0
        value = value.with_place(CPU, value.origin, add=DEFAULT | open_size)
    stayed = _other_way(info, frame, name, value, node)
    if stayed is not None:
        return stayed
    was_chosen = _is_on_constructors_device(frame, value)
    if not was_chosen and (value.place is None or type(value.place) is Variable):
        return value
    if moves_plain_attribute(
        info, name
    ):  # by an `_apply` or `to` of its own, or one that it inherits
        return registered_tensor(info, frame, node, value.traits)
    overwrites = info.registration(name)
    if overwrites == "module":
        overwrites = ""
    if overwrites == "buffer" or overwrites == "parameter":
        if (
            not frame.constructing
            and value.traits & DEFAULT
            and not value.traits & SCALAR
            and not (value.traits & MAYBE_SCALAR and _is_scalar(info, name))
            and not (frame.function is not None and _works_on_host(frame.function))
        ):
            keep_note(
                info,
                name + "*",
                AttributeNote(node, source, name, value, False, method_name(frame), overwrites),
            )
        if overwrites == "buffer":
            return registered_tensor(info, frame, node, value.traits)
    if not frame.constructing and _is_made_anew_by_calls(info, name):
        return value  # no state that a move could leave behind
    if not value.traits & LOADED:
        keep_note(
            info,
            name,
            AttributeNote(
                node, source, name, value, False, method_name(frame), overwrites, was_given
            ),
        )
    origin = frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here as a plain attribute")
    return Tensor(value.place, origin, value.traits | KEPT, value.evidence)


def _is_made_anew_by_calls(info: ClassInfo, name: str) -> bool:
    """Each call of the object, or of one of a subclass, assigns the attribute before it reads it:
    `self.mask = torch.ones(len(x))`, and then `x * self.mask`."""
    reads = info.unit.kept(_Reads)
    return all(reads.of(each).is_made_anew(name) for each in reads.heirs(info))


class _Reads:
    """What the classes of a file read, each looked through once."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._known: dict[ClassInfo, ExposedReads] = {}
        self._heirs: dict[ClassInfo, list[ClassInfo]] = {}
        self._declared = 0

    def heirs(self, info: ClassInfo) -> list[ClassInfo]:
        """A class and its subclasses, of those that the file has declared so far."""
        declared = classes_of(self._unit)
        for each in declared[self._declared :]:
            for ancestor in each.lineage():
                self._heirs.setdefault(ancestor, []).append(each)
        self._declared = len(declared)
        return self._heirs.get(info, [info])

    def of(self, info: ClassInfo) -> ExposedReads:
        known = self._known.get(info)
        if known is None:
            methods = {n: f for each in reversed(info.lineage()) for n, f in each.methods.items()}
            nodes = {n: f.node for n, f in methods.items()}
            known = self._known[info] = ExposedReads(
                {n: node for n, node in nodes.items() if isinstance(node, cst.FunctionDef)}
            )
        return known


def _is_replaced(info: ClassInfo, frame: Frame, name: str) -> bool:
    """Another method puts something else there, which it could not in the place of a parameter;
    one that makes a parameter anew means the same."""
    return any(
        not _makes_parameter(each.methods.get(method), name)
        for each in info.lineage()
        for method in set(each.writers.get(name, ())) - {method_name(frame)}
    )


def _makes_parameter(method: Function | None, name: str) -> bool:
    """A method assigns `nn.Parameter(…)`, moved or not, to an attribute of its object."""
    if method is None:
        return False
    return any(
        called_name(call) == "Parameter"
        for assign in every(method.node.body, cst.Assign)
        if any(dotted(target.target) == f"self.{name}" for target in assign.targets)
        for call in every(assign.value, cst.Call)
    )


def _other_way(
    info: ClassInfo, frame: Frame, name: str, value: Tensor, node: cst.CSTNode
) -> Tensor | None:
    """The constructor moves what it has kept, under a condition and to where nothing is known: on
    the other way it stays where it was made, and on both it does not move with the module.

    `if hasattr(model, "points"): self.weight = self.weight.to(model.points)`
    """
    held = info.attributes.get(name)
    if not frame.constructing or value.place is not None or value.origin is None:
        return None
    if type(held) is not Tensor or held.place != CPU or not held.traits & DEFAULT:
        return None
    is_moved = value.origin.kind is StepKind.MOVED and held.traits & KEPT
    function = frame.function
    if not is_moved or function is None or function.info is not info:
        return None
    around = branches_around(frame, node)
    if not any(isinstance(test, cst.If) for test, _ in around):
        return None
    origin = frame.origin(StepKind.ATTRIBUTE, node, held.origin, "left where it was, or moved here")
    return Tensor(CPU, origin, held.traits, held.evidence)


def _is_on_constructors_device(frame: Frame, value: Tensor) -> bool:
    """A tensor that the constructor made on the device that it was given: it is where the module
    is for as long as nobody moves that.

    `def __init__(self, device): self.kernel = torch.ones(3, 3, device=device)`
    """
    place, origin = value.place, value.origin
    if type(place) is not Variable or place.kind is not VariableKind.DEVICE or origin is None:
        return False
    is_made = origin.root.kind is StepKind.CREATED and not value.traits & (PARAMETER | SCALAR)
    return frame.constructing and place.parameter and is_made and value.is_sure


def _is_made_anew(info: ClassInfo, frame: Frame, name: str, value: Tensor) -> bool:
    """A method puts a parameter on the default device in the place of one that the constructor
    registered, and that the module has taken with it since. One that is made of what nothing is
    known of is where that is: mostly of what the module has computed."""
    if frame.constructing or value.place != CPU or value.traits & INDIRECT:
        return False
    return info.registered.get(name) == "parameter" and bool(value.traits & DEFAULT)


def _was_given(info: ClassInfo, frame: Frame, name: str, value: Tensor) -> bool:
    """A tensor that the constructor was given: it was made before the module could be moved, as the
    module's own parts were, and unlike those it does not follow.

    `def __init__(self, points: Tensor): self.points = points`
    """
    origin = value.origin
    if value.place is not None or origin is None or not frame.constructing:
        return False
    root = origin.root
    if root.kind is not StepKind.PARAMETER or not isinstance(root.node, cst.Param):
        return False
    if name in info.registered or not value.is_sure or f"{name}.device" in info.text:
        return False
    annotation = root.node.annotation
    return annotation is None or "Parameter" not in code(annotation.annotation)


def _works_on_host(function: Function) -> bool:
    """It reads tensors as arrays, and copies none of them to the host: it runs where they are there
    already, before the module is moved. `weight = linear.weight.data.numpy()`"""
    called = (each.func for each in every(function.node.body, cst.Call))
    named = (func.attr.value for func in called if isinstance(func, cst.Attribute))
    return "cpu" not in function.text and "numpy" in named


def _is_scalar(info: ClassInfo, name: str) -> bool:
    """What was registered by this name is 0-dim: a flag, a counter."""
    held = info.attributes.get(name, UNKNOWN)
    return any(type(v) is Tensor and v.traits & SCALAR for v in alternatives(held))


def keep_note(info: ClassInfo, name: str, note: AttributeNote) -> None:
    info.notes.setdefault(name, note)


def _is_copy(frame: Frame, value: Tensor) -> bool:
    """What a constructor computes from a parameter or buffer is a tensor of its own."""
    if frame.function is None or frame.function.name != "__init__" or value.origin is None:
        return False
    return value.origin.kind is StepKind.COMPUTED and value.origin.root.kind is StepKind.REGISTERED


def method_name(frame: Frame) -> str:
    return frame.function.name if frame.function is not None else ""
