"""In place: a statement that moves something, as modules are moved, and does nothing else."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Provenance
from devlint.inference.domain.tensors import DEFAULT, LOADED, Tensor
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted, receiver_of


def module_alone(frame: Frame, node: cst.Call) -> str:
    """The path of what a statement moves, and does nothing else with: `model` of
    `model.to(device)` or `model.to(device).eval()`; "" for none."""
    return dotted(itself(receiver_of(node))) if is_set_alone(frame, node) else ""


def is_set_alone(frame: Frame, node: cst.Call) -> bool:
    """A statement moves something, and sets its mode at the most."""
    statement = frame.current
    return isinstance(statement, cst.Expr) and itself(statement.value, node) is node


def itself(node: cst.BaseExpression, within: cst.CSTNode | None = None) -> cst.BaseExpression:
    """The module that `net.eval()` or `net.train(False)` gives back: `net` itself."""
    while node is not within and isinstance(node, cst.Call) and type(node.func) is cst.Attribute:
        if node.func.attr.value not in ("train", "eval"):
            break
        node = node.func.value
    return node


def rebind(
    frame: Frame, node: cst.BaseExpression, tensor: Tensor, place: Placement, step: Provenance
) -> None:
    """What the name of a value that was moved in place holds from now on."""
    path = dotted(node)
    if path:
        traits = tensor.traits & ~(DEFAULT | LOADED)
        frame.state.move(path, Tensor(place, step, traits, tensor.evidence))
