"""Calls out of sight: what a callee of which nothing is known makes of its arguments."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping
from devlint.inference.domain.host import NONE, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Device, Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, INDIRECT, Tensor
from devlint.inference.domain.value import (
    CONVERTED,
    UNKNOWN,
    UNREAD,
    Unknown,
    Value,
    alternatives,
    is_untold,
)
from devlint.inference.facts import MeetingKind
from devlint.inference.interpreter.submodules import modules_in
from devlint.inference.models import elements, gradients, modules
from devlint.inference.models.collectives import check_collective
from devlint.inference.models.devices import place_of
from devlint.inference.models.elements import is_open_batch, names_loader
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.loaders import is_indifferent, is_measure, makes_batch
from devlint.inference.models.module_inputs import leave_inputs_to_callers, show_moved
from devlint.inference.models.moves.copies import wait_for_copies
from devlint.inference.models.moves.in_place import module_alone
from devlint.inference.models.moves.targets import condition_of_target, target_of
from devlint.inference.models.other_frameworks import takes_other_framework
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.registration import hand_over_parameters
from devlint.inference.models.tokenizers import tokenized
from devlint.inference.models.unification.meetings import meet
from devlint.inference.program.events import HostNeeds, UnknownCalled
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance, Placed
from devlint.inference.syntax.text import called, dotted, shorten
from devlint.inference.syntax.words import names_module

Operands = list[tuple[Value, cst.CSTNode]]


def is_guess(result: Value, node: cst.Call) -> bool:
    """Of what a callee out of sight returns nothing is known, or what its arguments suggest."""
    if type(result) is Instance and result.info is not None:
        is_loader = any(base.endswith("DataLoader") for base in result.info.library_bases)
        return is_loader and result.info.method("__iter__") is None
    if type(result) is not Tensor:
        return is_untold(result)
    made_here = result.origin is not None and result.origin.node is node
    return made_here and bool(result.traits & INDIRECT) and on_accelerator(result) < 1


def is_told_a_device(frame: Frame, arguments: Arguments) -> bool:
    """The callee gets a device, and may put there what it makes."""
    found: list[Value] = [v for v, _ in arguments.all() if type(v) is DeviceValue]
    named = arguments.keywords.get("device")
    if named is not None and named[0] is not NONE:
        found.append(named[0])
    return any(place_of(frame, value) != CPU for value in found)


def is_over_moved_data(frame: Frame, arguments: Arguments) -> bool:
    """A loader over data that was moved as a whole yields parts of it, each where it is."""
    if not arguments.positional:
        return False
    given, node = arguments.positional[0]
    if dotted(node) in frame.unit.moved_objects:
        return True
    if type(given) is not Tensor or given.origin is None or on_accelerator(given) < 1:
        return False
    return given.origin.kind is StepKind.MOVED


def move_of_unknown(
    frame: Frame, node: cst.Call, base: Value, name: str, arguments: Arguments
) -> Value:
    """A move of something unknown: what comes back is there, whatever it is."""
    target, _ = target_of(frame, name, arguments)
    if not isinstance(target, (Device, Variable)):
        return base
    wait_for_copies(frame, name, target, arguments)
    step = frame.origin(StepKind.MOVED, node)
    step.when = condition_of_target(frame, arguments, target)
    evidence = Evidence()
    evidence.effects.move(frame.state.when)
    evidence.effects.unread = base is UNREAD
    path = module_alone(frame, node)
    if path:
        frame.unit.moved_objects.add(path)
        if type(base) is Unknown:  # alone: it moves in place, as modules do
            evidence.effects.in_place = True
            frame.state.move(path, Tensor(target, step, 0, evidence))
    return Tensor(target, step, 0, evidence)


def call_unknown(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """An unknown callee keeps the device of its tensor arguments, and wants them together."""
    name = shorten(called(node.func))
    last = name.rpartition(".")[2]
    frame.emit(UnknownCalled(node, arguments))
    given = [tensor for value, _ in arguments.all() for tensor in tensors_in(value)]
    for tensor in given:
        frame.emit(HostNeeds(tensor))
    may_move(frame, last, arguments)
    if isinstance(node.func, cst.Subscript):
        return UNKNOWN  # one of a table of callees
    if takes_other_framework(arguments):
        return UNKNOWN
    if type(callee) is Tensor and callee.evidence is not None:
        callee.evidence.mark_host()  # what is called is no tensor
        leave_inputs_to_callers(frame, node, callee, arguments)
    if not given and names_loader(frame, node.func):
        return UNKNOWN
    is_criterion, is_module = holds("criterion-callee", last), names_module(last)
    if type(callee) is Tensor and not callee.is_sure:
        for tensor in given if is_criterion or is_module else ():
            if not is_open_batch(tensor):
                tensor.show()
        if _is_placed(callee):
            output = _call_moved(frame, node, callee, arguments)
            return gradients.after_unknown(frame, node, output)
    if holds("class-name", last):
        hand_over_parameters(arguments)
        return UNKNOWN
    if is_module:
        show_moved(arguments.all())
    if makes_batch(arguments):
        batch = tokenized(frame, node, last, arguments)
        return UNKNOWN if batch is None else batch
    operands = _operands(frame, node, arguments)
    tensors = [tensor for value, _ in operands for tensor in tensors_in(value)]
    if not frame.in_module and not any(tensor.is_sure for tensor in given):
        named = untold_result(last)
        if named is not UNKNOWN:
            return named
        if holds("host-transform", last) and _is_host_data(arguments):
            origin = frame.origin(StepKind.COMPUTED, node)
            return Tensor(CPU, origin, DEFAULT, Evidence())
    if is_indifferent(last):
        is_open = len(tensors) == 1 and tensors[0].place is None
        return Tensor(None, None, 0, Evidence()) if is_open else UNKNOWN
    if last in _COLLECTIVES:
        check_collective(frame, node, last, operands)
    for tensor in tensors if is_criterion else ():
        if not is_open_batch(tensor):
            tensor.show()
    output = meet(frame, node, name, operands, True, MeetingKind.CALLEE, indirect=True)
    if type(output) is Tensor and is_module:
        output = elements.output(output)
    return gradients.after_unknown(frame, node, output)


def _is_host_data(arguments: Arguments) -> bool:
    """Images, arrays, and what else is no tensor: `transform(Image.open(path))`."""
    values = [value for value, _ in arguments.all()]
    return any(type(v) is Host for v in values) and all(type(v) in (Host, Const) for v in values)


def _is_placed(callee: Tensor) -> bool:
    """It was moved, or loaded to a device: `torch.load("net.pt", map_location=device)`"""
    if callee.place is None or callee.origin is None:
        return False
    moved = callee.origin.taken.kind is StepKind.MOVED
    return moved or callee.origin.root.kind is StepKind.LOADED


def untold_result(name: str) -> Value:
    """What a callee out of sight gives of which only the name is known: `image_to_tensor`."""
    return CONVERTED if holds("host-converter", name) else UNKNOWN


def _operands(frame: Frame, node: cst.Call, arguments: Arguments) -> Operands:
    """The arguments that live together: no measures, and what `*xs` spreads only alone. What
    `**inputs` spreads has names, as if it were written there."""
    spread = {argument.value for argument in node.args if argument.star == "*"}
    operands = [
        (value, argument)
        for value, argument in arguments.all()
        if argument not in spread and not is_measure(arguments, argument)
    ]
    if operands or frame.in_module:
        return operands
    handed = [(value, argument) for value, argument in arguments.all() if argument in spread]
    # `net(*inputs)`; a module's parts are where it is
    return handed if _may_be_together(handed) else []


def _may_be_together(handed: Operands) -> bool:
    """One place, or several that callers choose."""
    places = {tensor.place for value, _ in handed for tensor in tensors_in(value)}
    return len(places) == 1 or all(type(place) is Variable for place in places)


def may_move(frame: Frame, name: str, arguments: Arguments) -> None:
    """A module handed to an unknown callee, alone or in a list, may come back anywhere."""
    if holds("module-keeping-callee", name):
        return
    for value, _ in arguments.all():
        for module in modules_in(value):
            if not modules.is_self(frame, module):
                frame.state.env[module] = Placed(None, None)
        for held in alternatives(value):
            if type(held) is Tensor and held.evidence is not None:
                held.evidence.effects.handed = True


_COLLECTIVES = frozenset({"gather_for_metrics"})  # of what is called on an unknown object


def _call_moved(frame: Frame, node: cst.Call, callee: Tensor, arguments: Arguments) -> Value:
    """A callee that was moved, or loaded somewhere, is a module: its inputs must be where it is.
    One that takes records may be a pipeline, which moves what is in them; and one of a class that
    was not read, though the project has it, may have no parameters at all. One that takes a text is
    a pipeline, which may well end on the host."""
    if arguments.positional and _is_text(arguments.positional[0][0]):
        return UNKNOWN
    module = Instance(None, "", True, callee.place, callee.origin)
    if callee.evidence is not None and callee.evidence.effects.unread:
        return modules.output_of(frame, node, module, arguments)
    handed = Arguments(
        [(_no_record(value), given) for value, given in arguments.positional],
        {name: (_no_record(value), given) for name, (value, given) in arguments.keywords.items()},
        arguments.open,
    )
    return modules.call_module(frame, node, module, handed)


def _is_text(value: Value) -> bool:
    is_host = type(value) is Host and not value.array
    return is_host or (type(value) is Const and type(value.value) is str)


def _no_record(value: Value) -> Value:
    return UNKNOWN if type(value) is Mapping else value


def call_recursively(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """A recursion says nothing that its function does not say otherwise; but where an argument was
    brought to the host for it, `draw(x.cpu())` within `draw(x)`, it works there."""
    for value, _ in arguments.all():
        step = value.origin if type(value) is Tensor and value.place == CPU else None
        if step is not None and step.kind is StepKind.MOVED:
            origin = frame.origin(StepKind.COMPUTED, node, step)
            return Tensor(CPU, origin, INDIRECT, Evidence())
    return UNKNOWN
