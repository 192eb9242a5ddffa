"""Places of tensors, as questions."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.placement import CPU, Device, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Union
from devlint.inference.program.assumption_sites import is_out_of_sight
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted
from devlint.inference.syntax.words import names_module


def on_accelerator(tensor: Tensor) -> int:
    """How sure it is that a tensor is on an accelerator: 2, 1, 0, or -1 when it is on the host.

    An input of a function may be: 0. An unknown place says nothing: -1.
    """
    place = tensor.place
    if type(place) is Device:
        return 2 if place.is_accelerator else -1
    if type(place) is Variable:
        if place.kind is VariableKind.INPUT:
            return 0
        return 2
    return -1


def last_move(tensor: Tensor) -> Provenance | None:
    """The last step by which the code moved it somewhere, or what it was computed from."""
    steps = tensor.origin.chain() if tensor.origin is not None else ()
    return next((step for step in steps if step.kind is StepKind.MOVED), None)


def was_moved(tensor: Tensor) -> bool:
    """The code moved it somewhere, or what it was computed from."""
    return last_move(tensor) is not None


def brought_to_host(value: Union) -> bool:
    """One branch moves it to the host: whoever wrote that knows when it must be there."""
    return any(type(v) is Tensor and v.place == CPU and was_moved(v) for v in value.alternatives)


def is_output(frame: Frame, tensor: Tensor) -> bool:
    """What a model made of inputs on an accelerator is there as well, and so is the loss of that:
    `criterion(model(x), y)`."""
    place = tensor.place
    chosen = type(place) is Variable and place.kind is VariableKind.DEVICE
    return (chosen or type(place) is Device) and is_model_output(frame, tensor)


def is_model_output(frame: Frame, tensor: Tensor) -> bool:
    """A model made it, by its name, or a loss of what one made."""
    if tensor.origin is None:
        return False
    of_loss = False
    for node in ((step.within or step).node for step in tensor.origin.chain()):
        if isinstance(node, cst.Call) and is_out_of_sight(frame, node):
            name = dotted(node.func).rpartition(".")[2]
            if of_loss or not holds("criterion-callee", name):
                return names_module(name)
            of_loss = True
    return False
