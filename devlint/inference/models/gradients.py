"""Which tensors autograd records: NumPy is refused the memory of one, wherever it lives.

The trait RECORDED is set where a leaf is asked to require grad and where a layer with parameters
is called, and kept by the operations that are known to pass it on; everything else drops it. What
a callee out of sight returns is EXPECTED to be recorded, which a backward pass through it shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const
from devlint.inference.domain.tensors import EXPECTED, GRAD, RECORDED, Tensor
from devlint.inference.domain.value import UNKNOWN, Union, Value, alternatives
from devlint.inference.models.devices import is_dtype
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.roles import turns_gradients_off
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import dotted
from devlint.knowledge.autograd import RECORDED_OPERATIONS, RECORDED_OPERATORS
from devlint.records import dataclass

BOTH = RECORDED | EXPECTED


@dataclass(slots=True, eq=False)
class BackwardPasses:
    """Those that a function runs, and what they go through."""

    run: bool = False
    crossed: set[cst.CSTNode] = field(default_factory=set)
    may_cross: set[cst.CSTNode] = field(default_factory=set)  # calls out of sight


def are_off(frame: Frame) -> bool:
    """Nothing that is computed here is recorded."""
    around: Frame | None = frame
    while around is not None:
        if around.control.evaluating or (around.function and turns_gradients_off(around.function)):
            return True
        around = around.outer
    return False


def leaf(tensor: Tensor, wanted: Value) -> Tensor:
    """A tensor whose `requires_grad` is set to what is wanted."""
    add = drop = 0
    if type(wanted) is Const:
        add, drop = (GRAD | RECORDED, EXPECTED) if wanted.value else (0, GRAD | BOTH)
    return tensor.with_place(tensor.place, tensor.origin, drop or BOTH, add)


def kept(frame: Frame, traits: int) -> int:
    """The traits of a part or a view of a tensor."""
    return traits & ~BOTH if traits & BOTH and are_off(frame) else traits


def after_module(
    frame: Frame, node: cst.CSTNode, module: Instance, arguments: Arguments, result: Value
) -> Value:
    """The output of a module: what a `forward` in sight returns is known already."""
    if module.info is not None and (module.info.method("forward") or module.items is not None):
        return marked(result, 0) if are_off(frame) else result
    if frame.unit.freezes or not module.library.startswith("torch.nn."):
        return after_unknown(frame, node, result)
    given = _traits(value for value, _ in arguments.all())
    return marked(result, 0 if are_off(frame) else given | _of_layer(frame, module))


def after_unknown(frame: Frame, node: cst.CSTNode, result: Value) -> Value:
    """What a callee out of sight returns."""
    if type(result) is not Tensor or are_off(frame):
        return marked(result, 0)
    frame.kept(BackwardPasses).may_cross.add(node)
    return marked(result, EXPECTED)


def _of_layer(frame: Frame, module: Instance) -> int:
    """RECORDED for a layer of torch that certainly has parameters."""
    if module.items is not None:
        layers = [v for v in module.items.items or () if type(v) is Instance]
        return RECORDED if any(_of_layer(frame, layer) for layer in layers) else 0
    known = frame.unit.context.knowledge.module(module.library)
    trains = known is not None and known.stateful == "always" and "Norm" not in module.library
    return RECORDED if trains and module.library.startswith("torch.nn.") else 0


def _traits(given: Iterable[Value]) -> int:
    found = 0
    for value in given:
        for each in alternatives(value):
            if type(each) is Tensor:
                found |= each.traits & BOTH
            elif type(each) is Sequence and each.items is not None:
                found |= _traits(each.items)
    return found


def after_call(
    frame: Frame, name: str, owner: Value | None, arguments: Arguments, result: Value
) -> Value:
    """The result of a tensor's method, or of a function of torch: is it recorded?"""
    if name == "requires_grad_" or "requires_grad" in arguments.keywords:
        return result  # a leaf
    passes_on = name in RECORDED_OPERATIONS
    if name == "to":
        passes_on = type(result) is Tensor and result.place is not None and _keeps_floats(arguments)
    given = [value for value, _ in arguments.all()]
    traits = _traits(given if owner is None else [owner, *given]) if passes_on else 0
    return marked(result, 0 if traits and are_off(frame) else traits)


def after_operator(frame: Frame, symbol: str, given: Iterable[Value], result: Value) -> Value:
    """The result of an operator between tensors."""
    traits = _traits(given) if symbol in RECORDED_OPERATORS else 0
    return marked(result, 0 if traits and are_off(frame) else traits)


def marked(value: Value, traits: int) -> Value:
    """The value with these traits of recording; of several results the first alone has them."""
    if type(value) is Tensor:
        if value.traits & BOTH == traits:
            return value
        return value.with_place(value.place, value.origin, drop=BOTH, add=traits)
    if type(value) is Sequence:
        if value.items:
            items = [marked(v, 0 if index else traits) for index, v in enumerate(value.items)]
            return Sequence(items, None, value.kind, value.node, value.names)
        if value.element is not None:
            return Sequence(None, marked(value.element, traits), value.kind, value.node)
    if type(value) is Union:
        return Union(tuple(marked(v, traits) for v in value.alternatives), value.whens)
    return value


def _keeps_floats(arguments: Arguments) -> bool:
    """`.to(…)` is given no type, or one of the floating ones."""
    return all(
        type(value) is Const
        or not (is_dtype(value) or "type" in dotted(node))
        or holds("float-dtype", dotted(node).rpartition(".")[2])
        for value, node in arguments.all()
    ) and not any(type(value) is Tensor and value.is_sure for value, _ in arguments.all())


def went_back(frame: Frame, value: Value | None) -> None:
    """A backward pass runs from here: what it goes through is recorded, and gradients are on."""
    passes = frame.kept(BackwardPasses)
    passes.run = True
    for tensor in alternatives(value or UNKNOWN):
        if type(tensor) is Tensor and tensor.origin is not None:
            passes.crossed.update(step.node for step in tensor.origin.chain())
