"""Tensors made on the default device for one that lives elsewhere, and never brought there.

`torch.zeros(x.size(0))` takes its shape from `x`, so it is going to meet `x` or its like, even
where that is out of sight. It is no bug when the code moves it, or when the host reads it; and one
that meets nothing in sight may be an output that nobody computes with, unless the function makes
others where its inputs are.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.placement import CPU, Placement, Variable, VariableKind
from devlint.inference.domain.tensors import DEFAULT, SCALAR, Tensor
from devlint.inference.facts import MeetingKind
from devlint.inference.models.unification.accelerated_code import code_is_accelerated
from devlint.inference.models.unification.drafts import is_told, note
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.constructors import runs_in_constructor
from devlint.inference.program.device_awareness import makes_by_device
from devlint.inference.program.events import (
    ItemWritten,
    MoveNote,
    PlaceSettled,
    TensorMade,
    TensorReturned,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import MeetingDraft, Meetings
from devlint.inference.program.unplaced_factories import UnplacedFactories, UnplacedFactory
from devlint.inference.syntax.text import dotted, every, shorten


def made(frame: Frame, event: TensorMade) -> None:
    """A factory made a tensor."""
    node, tensor = event
    sizes = tensor.sizes
    if sizes is None or not tensor.traits & DEFAULT or tensor.traits & SCALAR:
        return
    if type(sizes.place) is Variable and not frame.constructing:
        frame.kept(UnplacedFactories).by_call.setdefault(
            node,
            UnplacedFactory(
                node,
                tensor,
                sizes,
                _assigned_name(frame.current),
                _takes_whole_shape(node),
                _takes_place(frame.current, node),
            ),
        )


def _assigned_name(statement: cst.CSTNode | None) -> str:
    """`t` of `t = torch.rand(len(x)) * scale`."""
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return ""
    return dotted(statement.targets[0].target)


def _takes_place(statement: cst.CSTNode | None, factory: cst.Call) -> bool:
    """`self.seen = torch.zeros(self.seen.shape)`: what the object kept there was elsewhere, and the
    methods that it was for get this in its stead."""
    if not isinstance(statement, cst.Assign) or statement.value is not factory:
        return False
    kept = {dotted(target.target) for target in statement.targets}
    return any(
        dotted(node.value) in kept and "." in dotted(node.value)
        for node in every(factory.args[0], cst.Attribute)
        if node.attr.value in ("shape", "size")
    )


def _takes_whole_shape(factory: cst.Call) -> bool:
    return bool(factory.args) and _is_shape(factory.args[0].value)


def _is_shape(node: cst.BaseExpression) -> bool:
    """`x.shape`, `x.size()`, `x.shape[1:]`, `(n,) + x.shape[1:]`."""
    if isinstance(node, cst.BinaryOperation):
        return _is_shape(node.left) or _is_shape(node.right)
    if isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Slice):
        return _is_shape(node.value)
    if isinstance(node, cst.Call):
        return not node.args and isinstance(node.func, cst.Attribute) and _is_shape(node.func)
    return isinstance(node, cst.Attribute) and node.attr.value in ("shape", "size")


def settled(frame: Frame, event: PlaceSettled) -> None:
    """The code moves a tensor or reads it on the host: it is meant to be there."""
    tensor, name = event
    unplaced = frame.kept(UnplacedFactories).by_call
    if not unplaced or tensor.origin is None:
        return
    root = tensor.origin.root.node
    for factory in unplaced.values():
        if factory.node is root or root in factory.peers or (name and factory.name == name):
            factory.settled = True


def used(frame: Frame, event: TensorReturned) -> None:
    """A tensor is returned. What is computed of a table that was filled from inputs is a result,
    and not a table that the host has collected; and what is handed back together is for one use."""
    tensor, beside = event
    unplaced = frame.kept(UnplacedFactories).by_call
    if not unplaced or tensor.origin is None:
        return
    factory = unplaced.get(tensor.origin.root.node)
    if factory is not None:
        factory.used = True
        if factory.filled is not None and not factory.filled.is_same(tensor.origin):
            factory.joined = True
        factory.joined |= any(_lives_with(frame, place, factory.sizes) for place in beside)


def _lives_with(frame: Frame, place: Placement, sizes: Tensor) -> bool:
    """It is where the shape comes from; and a module's inputs are where the module is."""
    if place == sizes.place:
        return True
    return frame.in_module and type(place) is Variable and place.kind is VariableKind.MODULE


def filled(frame: Frame, event: ItemWritten) -> None:
    """`out[i] = step(x[i])`: what is made with the shape of an input holds what is computed from
    inputs, and each write waits for its copy to the host."""
    tensor, part = event
    unplaced = frame.kept(UnplacedFactories).by_call
    factory = unplaced.get(tensor.origin.root.node) if tensor.origin is not None else None
    if factory is None or type(part.place) is not Variable:
        return
    if part.is_sure or part.place is factory.sizes.place:
        factory.filled = tensor.origin


def settle(frame: Frame) -> None:
    """Note those that stay behind."""
    unplaced = frame.kept(UnplacedFactories).by_call
    if not unplaced or runs_in_constructor(frame):
        return
    reported = {key[0] for key, draft in frame.kept(Meetings).drafts.items() if _decides(draft)}
    on_host = _goes_to_accelerator(frame)
    function = frame.function
    makes_others = function is not None and makes_by_device(function)
    for factory in unplaced.values():
        sizes = factory.sizes
        is_told = not reported.isdisjoint({factory.node, *factory.peers})
        if factory.settled or is_told or not sizes.is_sure:
            continue
        if not (factory.used or factory.stands_in):
            continue
        if factory.tensor.place != CPU or frame.unit.is_test:
            continue
        size_node = factory.node.args[0].value if factory.node.args else factory.node
        said = shorten(factory.node)
        message = f"`{said}` is for what lives where `{shorten(size_node)}` does"
        assumed = [at(frame, AssumptionKind.SHAPE_SAYS_DEVICE, factory.node, message), *on_host]
        if not (factory.joined or factory.stands_in or makes_others):
            message = f"something out of sight brings `{said}` together with its like"
            kind = AssumptionKind.SHAPED_TENSOR_MEETS_INPUT
            assumed.append(at(frame, kind, factory.node, message))
        made = (factory.tensor, factory.node)
        meeting = (factory.node, MeetingKind.SHAPE, "shape")
        note(frame, *meeting, made, (sizes, size_node), tuple(assumed))


def _decides(draft: MeetingDraft) -> bool:
    """A meeting that is told, or one with a number, says all of the tensor; one with what is only
    perhaps a tensor says nothing: `noise * self.scale(x)`, of an abstract method."""
    sides = (draft.left, draft.right)
    return is_told(draft) or any(
        side.evidence is not None and (side.evidence.hints.number or side.evidence.is_host)
        for side in sides
    )


def _goes_to_accelerator(frame: Frame) -> list[Assumption]:
    """What has to be assumed of code that looks as if it worked on the host."""
    found = code_is_accelerated(frame)
    moves = (e for e in frame.notes if type(e) is MoveNote and e.target == CPU)
    move = next(moves, None)
    if move is not None:
        message = "this function goes on with tensors of an accelerator, though it brings some back"
        kind = AssumptionKind.HOST_CODE_GETS_DEVICE_TENSORS
        found.append(at(frame, kind, move.node, message))
    return found
