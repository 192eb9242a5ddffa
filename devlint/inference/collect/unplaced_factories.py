"""Tensors made on the default device for one that lives elsewhere, and never brought there.

`torch.zeros(x.size(0))` takes its shape from `x`, so it is going to meet `x` or its like, even
where that is out of sight. It is no bug when the code moves it, or when the host reads it; and one
that meets nothing in sight may be an output that nobody computes with, unless the function makes
others where its inputs are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.placement import CPU, Variable
from devlint.inference.domain.provenance import Provenance
from devlint.inference.domain.tensors import DEFAULT, SCALAR, Tensor
from devlint.inference.facts import MeetingKind
from devlint.inference.models.unification import code_is_accelerated, is_told, note
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.constructors import runs_in_constructor
from devlint.inference.program.device_awareness import makes_by_device
from devlint.inference.program.events import MoveNote
from devlint.inference.program.frames import Frame, MeetingDraft
from devlint.inference.syntax.text import shorten


@dataclass(slots=True, eq=False)
class Orphan:
    """A tensor that a factory made on the default device with the shape of another."""

    node: cst.Call
    tensor: Tensor
    sizes: Tensor
    whole: bool = False  # with its shape, or most of it: `torch.randn(x.shape)`
    settled: bool = False  # moved, read by the host, or seen to meet another
    used: bool = False  # something computes with it, or it is handed on
    joined: bool = False  # it meets another tensor, of which it is open where that is
    filled: Provenance | None = None  # what it is while inputs are written into it
    peers: set[cst.CSTNode] = field(default_factory=set)  # the roots of what it was joined with


def made(frame: Frame, node: cst.Call, tensor: Tensor) -> None:
    """A factory made a tensor."""
    sizes = tensor.sizes
    if sizes is None or not tensor.traits & DEFAULT or tensor.traits & SCALAR:
        return
    if type(sizes.place) is Variable and not frame.constructing:
        frame.orphans.setdefault(node, Orphan(node, tensor, sizes, _takes_whole_shape(node)))


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


def settled(frame: Frame, tensor: Tensor) -> None:
    """The code moves a tensor or reads it on the host: it is meant to be there."""
    if not frame.orphans or tensor.origin is None:
        return
    root = tensor.origin.root.node
    for orphan in frame.orphans.values():
        if orphan.node is root or root in orphan.peers:
            orphan.settled = True


def used(frame: Frame, tensor: Tensor) -> None:
    """A tensor is returned. What is computed of a table that was filled from inputs is a result,
    and not a table that the host has collected."""
    if not frame.orphans or tensor.origin is None:
        return
    orphan = frame.orphans.get(tensor.origin.root.node)
    if orphan is not None:
        orphan.used = True
        if orphan.filled is not None and not orphan.filled.is_same(tensor.origin):
            orphan.joined = True


def filled(frame: Frame, tensor: Tensor, part: Tensor) -> None:
    """`out[i] = step(x[i])`: what is made with the shape of an input holds what is computed from
    inputs, and each write waits for its copy to the host."""
    orphan = frame.orphans.get(tensor.origin.root.node) if tensor.origin is not None else None
    if orphan is None or type(part.place) is not Variable:
        return
    if part.is_sure or part.place is orphan.sizes.place:
        orphan.filled = tensor.origin


def settle(frame: Frame) -> None:
    """Note those that stay behind."""
    if not frame.orphans or runs_in_constructor(frame):
        return
    reported = {key[0] for key, draft in frame.drafts.items() if _decides(draft)}
    on_host = _goes_to_accelerator(frame)
    function = frame.function
    makes_others = function is not None and makes_by_device(function)
    for orphan in frame.orphans.values():
        sizes = orphan.sizes
        if orphan.settled or not orphan.used or orphan.node in reported or not sizes.is_sure:
            continue
        if orphan.tensor.place != CPU or frame.unit.is_test:
            continue
        size_node = orphan.node.args[0].value if orphan.node.args else orphan.node
        said = shorten(orphan.node)
        message = f"`{said}` is for what lives where `{shorten(size_node)}` does"
        assumed = [at(frame, AssumptionKind.SHAPE_SAYS_DEVICE, orphan.node, message), *on_host]
        if not (orphan.joined or makes_others):
            message = f"something out of sight brings `{said}` together with its like"
            kind = AssumptionKind.SHAPED_TENSOR_MEETS_INPUT
            assumed.append(at(frame, kind, orphan.node, message))
        note(
            frame,
            orphan.node,
            MeetingKind.SHAPE,
            "shape",
            orphan.tensor,
            orphan.node,
            sizes,
            size_node,
            tuple(assumed),
        )


def _decides(draft: MeetingDraft) -> bool:
    """A meeting that is told, or one with a number, says all of the tensor; one with what is only
    perhaps a tensor says nothing: `noise * self.scale(x)`, of an abstract method."""
    sides = (draft.left, draft.right)
    return is_told(draft) or any(
        side.evidence is not None and (side.evidence.number or side.evidence.is_host)
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
