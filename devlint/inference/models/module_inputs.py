"""Inputs of a module: they must be where the module is.

A module is called by the code, `net(x)`, or by a function that the code hands both:
`torch.onnx.export(net, x, path)`.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.placement import CPU, Placement, Variable, VariableKind, same_place
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, EMPTY, SCALAR, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models.module_places import placed, stateful
from devlint.inference.models.unification import (
    add_pending,
    contradiction,
    fed_from_elsewhere,
    is_moved_by_another_branch,
    leave_undecided,
    never_meet,
    note,
    stands_in,
    tensors_in,
)
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.records import Arguments, Frame, Instance
from devlint.inference.syntax.text import shorten
from devlint.knowledge import Call


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


def check_inputs(
    frame: Frame,
    node: cst.Call,
    module: cst.BaseExpression,
    place: Placement,
    origin: Provenance | None,
    arguments: Arguments,
    is_known: bool = True,
) -> bool:
    """Note the inputs of a module that are elsewhere. True when the module is what is out of place.

    `module`: the expression whose value is called, `net` of `net(x)`. Of one whose class is not
    known (`is_known`) some inputs may be for the host: `net(image, boxes)`, where it slices by the
    boxes.
    """
    at_fault = False
    if place is None:
        return False
    by_default = DEFAULT if type(place) is not Variable and place == CPU else 0
    own = Tensor(place, origin, by_default)
    every_input = (t for value, _ in arguments.all() for t in tensors_in(value))
    has_own = not is_known and any(same_place(t.place, place) for t in every_input)
    for value, argument in arguments.all():
        inputs = tensors_in(value)
        for tensor in inputs:
            if tensor.place is None or tensor.place is place or tensor.traits & EMPTY:
                continue  # without elements it is a placeholder
            if never_meet(frame, tensor, own):
                continue
            found = contradiction(frame, tensor, own, pointwise=False)
            if found is None:
                if Variable in (type(place), type(tensor.place)):
                    add_pending(frame, node, MeetingKind.INPUT, shorten(module), tensor, own, False)
                    if is_moved_by_another_branch(inputs, own):
                        leave_undecided(
                            frame,
                            node,
                            MeetingKind.INPUT,
                            shorten(module),
                            tensor,
                            argument,
                            own,
                            module,
                        )
                continue
            assumed = [*found]
            if not (_is_settled(value, tensor, inputs) or stands_in(frame, tensor, inputs)):
                message = f"`{shorten(argument)}` is as this one of its branches leaves it"
                assumed.append(at(frame, AssumptionKind.BRANCH_TAKEN, argument, message))
            if has_own:
                message = f"`{shorten(module)}` computes with all of its inputs"
                assumed.append(at(frame, AssumptionKind.MODULE_USES_ALL_INPUTS, node, message))
            if not tensor.is_sure:
                tensor.show()
            if tensor.traits & SCALAR:
                message = f"`{shorten(module)}` takes no 0-dim tensor of the host"
                assumed.append(at(frame, AssumptionKind.MODULE_REFUSES_NUMBERS, argument, message))
            if (
                origin is not None
                and origin.kind is StepKind.ATTRIBUTE
                and type(tensor.place) is Variable
                and tensor.place.kind is VariableKind.INPUT
            ):
                assumed.append(fed_from_elsewhere(frame, module))
            module_at_fault = type(place) is not Variable and place == CPU and tensor.place != CPU
            at_fault = at_fault or module_at_fault
            odd, anchor = (tensor, argument), (own, module)
            if module_at_fault:
                odd, anchor = anchor, odd
            said = shorten(module)
            note(frame, node, MeetingKind.INPUT, said, *odd, *anchor, tuple(assumed))
    return at_fault


def _is_settled(value: Value, tensor: Tensor, inputs: list[Tensor]) -> bool:
    """Whatever an input turns out to be, it is where this tensor is."""
    parts = alternatives(value)
    if len(parts) == 1:
        return True
    held = all(type(part) in (Tensor, Sequence) and tensors_in(part) for part in parts)
    return held and all(each.place == tensor.place for each in inputs)
