"""The assumptions that the interpreter adds, each with its place and its words."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.tensors import INDIRECT, Tensor
from devlint.inference.domain.value import alternatives
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import called, called_name, dotted, shorten
from devlint.inference.syntax.words import names_module


def at(frame: Frame, kind: AssumptionKind, node: cst.CSTNode, message: str) -> Assumption:
    """An assumption that a node of this file causes."""
    return Assumption(kind, frame.site(node), message)


def of_value(frame: Frame, kind: AssumptionKind, tensor: Tensor, message: str) -> Assumption:
    """An assumption about a value, at its beginning. `{}` in the message is its name."""
    origin = tensor.origin
    if origin is None:
        return of_code(frame, kind, message.format("it"))
    root = origin.root
    return Assumption(kind, Site(root.source, root.node), message.format(f"`{name(tensor)}`"))


def of_code(frame: Frame, kind: AssumptionKind, message: str) -> Assumption:
    """An assumption about the function, or the file, that is being inferred."""
    function = frame.function
    if function is None:
        return Assumption(kind, frame.site(frame.unit.tree), message)
    node = function.node
    named = node.name if isinstance(node, cst.FunctionDef) else node
    return Assumption(kind, frame.site(named), message)


def branch_taken(frame: Frame, node: cst.CSTNode, tensor: Tensor) -> Assumption:
    """The assumption that a value, as it is written, is what one of several branches left."""
    steps = tensor.origin.chain() if tensor.origin is not None else ()
    is_kept = frame.in_module and any(step.kind is StepKind.ATTRIBUTE for step in steps)
    kind = AssumptionKind.KEPT_VALUE_IS_OF_BRANCH if is_kept else AssumptionKind.BRANCH_TAKEN
    return at(frame, kind, node, f"`{shorten(node)}` is as this one of its branches leaves it")


def of_receiver(frame: Frame, tensor: Tensor) -> list[Tensor]:
    """The tensors that the object of a method or an index may be, if this is one of them: in
    `rows.add(x)` and `rows[x]`, of rows that are one of several, as in `rows + x`."""
    receiver = frame.control.receiver
    found = [] if receiver is None else [v for v in alternatives(receiver) if type(v) is Tensor]
    return found if any(each is tensor for each in found) else []


def guess(frame: Frame, *tensors: Tensor) -> Assumption | None:
    """The assumption that the callee out of sight, which one of these came through, left it where
    it was."""
    for tensor in tensors:
        if tensor.traits & INDIRECT:
            kind = AssumptionKind.UNKNOWN_CALLEE_KEEPS_DEVICE
            if tensor.origin is None:
                return of_code(frame, kind, "a callee out of sight keeps devices as they are")
            step = guessed_step(frame, tensor.origin) or tensor.origin
            site = Site(step.source, step.node)
            callee = dotted(called(step.node.func)) if isinstance(step.node, cst.Call) else ""
            if names_module(callee.rpartition(".")[2]):
                message = f"`{callee}` is a model, by its name"
                return Assumption(AssumptionKind.NAME_SUGGESTS_MODEL, site, message)
            message = f"`{shorten(step.node)}` is where its arguments are"
            return Assumption(kind, site, message)
    return None


def guessed_step(frame: Frame, origin: Provenance) -> Provenance | None:
    """The last call out of sight that a value came through, in this function or in one that it
    calls."""
    computed = (s for s in origin.chain() if s.kind is StepKind.COMPUTED)
    found = (s.within or s for s in computed if s.within or is_out_of_sight(frame, s.node))
    return next(found, None)


def is_out_of_sight(frame: Frame, node: cst.CSTNode) -> bool:
    """A call of a function of which nothing is known."""
    if not isinstance(node, cst.Call):
        return False
    name, knowledge = called_name(node), frame.unit.context.knowledge
    libraries = ("torch", "torch.nn.functional")
    return name not in knowledge.methods and not any(
        knowledge.function(f"{library}.{name}") for library in libraries
    )


def name(tensor: Tensor) -> str:
    """A value as messages name it: a parameter, or what made it."""
    assert tensor.origin is not None
    node = tensor.origin.root.node
    return node.name.value if isinstance(node, cst.Param) else shorten(node)
