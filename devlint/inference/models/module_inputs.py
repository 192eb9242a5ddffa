"""Inputs of a module: they must be where the module is.

A module is called by the code, `net(x)`, or by a function that the code hands both:
`torch.onnx.export(net, x, path)`.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.placement import CPU, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, EMPTY, LOADED, SCALAR, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models.elements import is_given_part, is_open_batch
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.loaders import is_measure
from devlint.inference.models.module_places import placed, stateful
from devlint.inference.models.unification.branches import is_moved_by_another_branch, stands_in
from devlint.inference.models.unification.contradictions import contradiction, never_meet
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.pending_meetings import add_pending, leave_undecided
from devlint.inference.program.assumption_sites import at, branch_taken
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import called, shorten
from devlint.knowledge import Call

K = AssumptionKind


def feed(frame: Frame, node: cst.Call, known: Call, arguments: Arguments) -> None:
    """A library calls a module that it is handed, with inputs that it is handed as well.

    `torch.jit.trace(net, torch.rand(1, 3))`: the first name of `known.feeds` is the module's
    parameter, the others are those of its inputs.
    """
    called, *inputs = (known.params.index(name) for name in known.feeds)
    value = arguments.get(called, known.params[called])
    expression = arguments.node(called, known.params[called])
    if value is None or not isinstance(expression, cst.BaseExpression):
        return
    pairs = [
        (arguments.get(index, known.params[index]), arguments.node(index, known.params[index]))
        for index in inputs
    ]
    given = [(handed, n) for handed, n in pairs if handed is not None and n is not None]
    for module in alternatives(value):
        if type(module) is Instance and module.module and stateful(frame, module):
            place, origin = placed(frame, module)
            check_inputs(frame, node, expression, place, origin, Arguments(given, {}))


def leave_inputs_to_callers(
    frame: Frame, node: cst.Call, callee: Tensor, arguments: Arguments
) -> None:
    """A parameter is called, or a method of it: where a caller hands in a module, its inputs must
    be with it."""
    kept = (StepKind.PARAMETER, StepKind.ATTRIBUTE)
    if callee.origin is None or any(step.kind not in kept for step in callee.origin.chain()):
        return
    own = Tensor(callee.place, callee.origin)
    said = shorten(called(node.func))
    for number, (value, argument) in enumerate(arguments.all()):
        if number and is_measure(arguments, argument):
            continue
        for tensor in tensors_in(value):
            if tensor.place is None or tensor.place is own.place or tensor.traits & EMPTY:
                continue
            add_pending(frame, node, MeetingKind.INPUT, said, tensor, own, False, callee.evidence)


def show_moved(given: list[tuple[Value, cst.CSTNode]]) -> None:
    """What was moved, and is handed to a model or to a method of one, is a tensor."""
    for value, _ in given:
        for tensor in tensors_in(value):
            evidence = tensor.evidence
            # what was moved in place may be a batch of a class of its own
            if evidence is not None and evidence.was_moved and not evidence.effects.in_place:
                tensor.show()


def check_made(
    frame: Frame,
    node: cst.Call,
    module: Tensor,
    given: list[tuple[Value, cst.CSTNode]],
) -> None:
    """`model.to(device)`, `model.decode(ids)`: what the function made itself is an input for it."""
    func = node.func
    assert isinstance(func, cst.Attribute)
    if not _is_moved_module(module, func.value) or holds("showing-callee", func.attr.value):
        return
    made = [(v, n) for v, n in given if all(_is_made(t) for t in tensors_in(v))]
    message = f"`{shorten(func)}` computes with what it is given, and where the module is"
    taken = (at(frame, K.METHOD_USES_ITS_INPUTS, node, message),)
    handed = Arguments(made, {})
    check_inputs(frame, node, func.value, module.place, module.origin, handed, taken=taken)


def _is_moved_module(value: Tensor, node: cst.BaseExpression) -> bool:
    """What was moved in place, or is a module by its name: no batch, and no graph."""
    origin, evidence = value.origin, value.evidence
    if origin is None or origin.taken.kind is not StepKind.MOVED or evidence is None:
        return False
    return evidence.effects.in_place or holds("module-name", shorten(node).rpartition(".")[2])


def _is_made(tensor: Tensor) -> bool:
    """By a factory, or by a tokenizer."""
    if tensor.traits & SCALAR or tensor.origin is None:
        return False
    if tensor.traits & LOADED:
        return tensor.origin.root.kind is StepKind.CREATED
    return bool(tensor.traits & DEFAULT) and tensor.is_sure


def check_inputs(
    frame: Frame,
    node: cst.Call,
    module: cst.BaseExpression,
    place: Placement,
    origin: Provenance | None,
    arguments: Arguments,
    is_known: bool = True,
    taken: Assumptions = (),
) -> bool:
    """Note the inputs of a module that are elsewhere. True where that leaves open where the result
    is: the module is what is out of place, or an input is on the host on purpose.

    `module`: the expression whose value is called, `net` of `net(x)`. Of one whose class is not
    known (`is_known`) some inputs may be for the host, `net(image, boxes)`, where it slices by the
    boxes, and it may move them itself. `taken`: what is taken for granted of the call as such.
    """
    at_fault = False
    if place is None:
        return False
    by_default = DEFAULT if type(place) is not Variable and place == CPU else 0
    own = Tensor(place, origin, by_default)
    for number, (value, argument) in enumerate(arguments.all()):
        if number and not is_known and is_measure(arguments, argument):
            continue
        inputs = tensors_in(value)
        for tensor in inputs:
            if tensor.place is None or tensor.place is place or tensor.traits & EMPTY:
                continue  # without elements it is a placeholder
            if never_meet(frame, tensor, own):
                continue
            is_later = number > 0 and not all(map(_is_made, inputs))
            computed_with = _is_computed_with(frame, node, module, argument, is_later)
            open_to = () if is_known else (computed_with,)
            found = contradiction(frame, tensor, own, pointwise=False)
            said = MeetingKind.INPUT, shorten(module)
            if found is None:
                if Variable in (type(place), type(tensor.place)):
                    add_pending(frame, node, *said, tensor, own, False, assumptions=open_to)
                    if is_given_part(tensor) or is_moved_by_another_branch(inputs, own):
                        leave_undecided(frame, node, *said, (tensor, argument), (own, module))
                continue
            assumed = [*found, *open_to, *taken]
            if not is_known and _is_left_where_it_came(frame, found):
                message = f"`{shorten(module)}` is on an accelerator when it gets here"
                assumed.append(at(frame, K.GIVEN_MODULE_IS_ACCELERATED, node, message))
            if not (_is_settled(value, tensor, inputs) or stands_in(frame, tensor, inputs)):
                assumed.append(branch_taken(frame, argument, tensor))
            if not tensor.is_sure:
                if not is_known and is_open_batch(tensor):
                    message = f"`{shorten(argument)}` is a tensor"
                    assumed.append(at(frame, K.VALUE_IS_TENSOR, argument, message))
                tensor.show()
            if tensor.traits & SCALAR:
                message = f"`{shorten(module)}` takes no 0-dim tensor of the host"
                assumed.append(at(frame, K.MODULE_REFUSES_NUMBERS, argument, message))
            if (
                origin is not None
                and origin.kind is StepKind.ATTRIBUTE
                and type(tensor.place) is Variable
                and tensor.place.kind is VariableKind.INPUT
            ):
                assumed.append(fed_from_elsewhere(frame, module))
            module_at_fault = type(place) is not Variable and place == CPU and tensor.place != CPU
            on_purpose = any(each.kind is K.EXPLICIT_HOST_IS_MEANT_ELSEWHERE for each in found)
            at_fault = at_fault or module_at_fault or on_purpose
            if type(place) is Variable and place.parameter and strength(assumed) < 1:
                add_pending(frame, node, *said, tensor, own, False, assumptions=open_to)
            odd, anchor = (tensor, argument), (own, module)
            if module_at_fault:
                odd, anchor = anchor, odd
            note(frame, node, *said, odd, anchor, tuple(assumed))
    return at_fault


def _is_computed_with(
    frame: Frame, node: cst.Call, module: cst.CSTNode, argument: cst.CSTNode, is_later: bool
) -> Assumption:
    """A module that is out of sight computes with an input. By a later one, which comes from
    elsewhere as it is, it may only index, `x[mask]`, or it moves it; the first, and what is made
    for the call, `net(x, torch.full((n,), t))`, are what it computes with."""
    if not is_later:
        message = f"`{shorten(module)}` computes with all of its inputs"
        return at(frame, K.MODULE_USES_ALL_INPUTS, node, message)
    message = f"`{shorten(module)}` computes with `{shorten(argument)}` itself"
    return at(frame, K.MODULE_USES_LATER_INPUTS, argument, message)


def fed_from_elsewhere(frame: Frame, module: cst.CSTNode) -> Assumption:
    """An object that keeps its module on the host mostly feeds it from there."""
    message = f"`{shorten(module)}` was left on the host, and its inputs are elsewhere"
    return at(frame, K.HELD_MODULE_IS_FED_FROM_ELSEWHERE, module, message)


def _is_left_where_it_came(frame: Frame, assumed: Assumptions) -> bool:
    """The caller's module is called in a function that has nothing to do with devices, with what
    is made there: to see a shape, or to transform arrays, where both are on the host."""
    function = frame.function
    if function is None or holds("device-minding-text", function.text):
        return False
    return any(each.kind is K.CALLER_IS_ACCELERATED for each in assumed)


def _is_settled(value: Value, tensor: Tensor, inputs: list[Tensor]) -> bool:
    """Whatever an input turns out to be, it is where this tensor is."""
    parts = alternatives(value)
    if len(parts) == 1:
        return True
    held = all(type(part) in (Tensor, Sequence) and tensors_in(part) for part in parts)
    return held and all(each.place == tensor.place for each in inputs)
