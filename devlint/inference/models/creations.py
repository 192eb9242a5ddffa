"""Tensors that are made only to be moved: the factory, where all that is moved is made here.

`torch.zeros(n).to(d)`, `torch.triu(torch.ones(n, n)).to(d)`, `(torch.ones(n) * k).to(d)`: there is
no tensor in it that anybody else has made, so that it could be made where it goes to. It may come
by way of names, if all that reads these leads to a move, and out of a function of the file that
makes all that it returns.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.creation_flow import CreationFlow
from devlint.inference.models.factory_expressions import (
    FactoryExpression,
    assigned_before,
    is_last_use,
)
from devlint.inference.program.frames import Frame
from devlint.records import NamedTuple


class Creation(NamedTuple):
    """The factory call of a tensor that is moved. `apart`: other statements stand in between."""

    factory: cst.CSTNode
    apart: bool = False


def creation_of(frame: Frame, tensor: Tensor, node: cst.BaseExpression) -> Creation | None:
    """The creation of a tensor that is only made to be moved: in the same expression, by a name
    that the statement before assigned, or by names that are read for nothing else."""
    origin = tensor.origin
    if origin is None or not _is_made_by_default(tensor):
        return None
    factory = origin.root.node
    if _is_made_at_once(frame, factory, node):
        return Creation(factory)
    if frame.function is None:
        return None
    flow = CreationFlow(frame, factory)
    return Creation(factory, apart=True) if flow.leads_from_factory(node) else None


def _is_made_by_default(tensor: Tensor) -> bool:
    """Made on the default device, and nothing but computed with since then."""
    origin = tensor.origin
    if origin is None or origin.root.kind is not StepKind.CREATED or not tensor.traits & DEFAULT:
        return False
    return all(step.kind is StepKind.COMPUTED for step in origin.chain() if step.parent)


def _is_made_at_once(frame: Frame, factory: cst.CSTNode, node: cst.BaseExpression) -> bool:
    """In the expression that is moved, or in lines right before it that bind its names."""
    latest = frame.fresh
    if latest is not None and not is_last_use(frame, latest, node):
        latest = None
    if isinstance(node, cst.Name):
        if latest is None or latest.name != node.value:
            return False
        node, latest = latest.value, assigned_before(frame, latest)
    if factory is node or is_receiver(factory, node):
        return True
    made = FactoryExpression(frame, latest)
    return made.holds(node) and factory in made.factories


def note_result(frame: Frame, node: cst.BaseExpression, value: Value) -> None:
    """Remember of a function whether it makes all that it returns here: whoever moves that could
    have it made there."""
    function = frame.function
    if function is None:
        return
    tensors = (value.items or ()) if type(value) is Sequence else (value,)
    roots = [_factory_of(tensor) for tensor in tensors]
    function.makes[node] = ()
    if not roots or None in roots:  # most return something else, and need no look at their names
        return
    flow = CreationFlow(frame, None)
    if flow.is_returned(node) and all(each in flow.factories for each in roots):
        function.makes[node] = tuple(flow.factories)


def _factory_of(value: Value) -> cst.CSTNode | None:
    """The call that made a tensor by default, if nothing but computing followed."""
    if type(value) is not Tensor or value.origin is None or not _is_made_by_default(value):
        return None
    return value.origin.root.node


def is_receiver(inner: cst.CSTNode, node: cst.CSTNode) -> bool:
    """`inner.op().op().to(…)`: the whole path from `inner` to `node` is one chain of methods."""
    while isinstance(node, (cst.Call, cst.Attribute)):
        node = node.func if isinstance(node, cst.Call) else node.value
        if node is inner:
            return True
    return False
