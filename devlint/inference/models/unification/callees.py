"""Callees out of sight: one may compute with what it is given, as a model or a loss does."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.tensors import KEPT
from devlint.inference.models.places import was_moved
from devlint.inference.models.unification.batches import belongs_with, with_its_batch
from devlint.inference.models.unification.exemptions import is_made_up
from devlint.inference.models.unification.operands import Candidate, Operation
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted, shorten


def of_callee(
    frame: Frame, operation: Operation, odd: Candidate, candidates: list[Candidate]
) -> Assumptions:
    """The assumptions under which a callee, known by its name only, computes with both."""
    node, name = operation.node, operation.name
    in_batch = belongs_with(frame, odd.tensor, candidates)
    if _are_inputs(name, odd, candidates):
        message = f"`{name}` is a model, by its name"
        named = at(frame, AssumptionKind.NAME_SUGGESTS_MODEL, node, message)
        return (named, with_its_batch(frame, odd.node)) if in_batch else (named,)
    if in_batch and _is_criterion(frame, node, name):
        odd.tensor.show()
        return (with_its_batch(frame, odd.node),)
    if is_made_up(odd.tensor) and holds("criterion-callee", name.rpartition(".")[2]):
        message = f"`{name}` is a loss, by its name"
        return (at(frame, AssumptionKind.NAME_SUGGESTS_MODEL, node, message),)
    message = f"`{name}` computes with its arguments as a model does"
    return (at(frame, AssumptionKind.CALLEE_IS_MODEL, node, message),)


def _are_inputs(name: str, odd: Candidate, candidates: list[Candidate]) -> bool:
    """A model or a criterion gets what its caller moved, beside something of the kind that stayed
    behind: it computes with both. Any other callee may have them for different ends."""
    tensor = odd.tensor
    if tensor.traits & KEPT or not any(holds("module-name", n) for n in name.split(".")[-2:]):
        return False  # `model(x)`, and a method of it: `model.decode(x)`
    made = is_made_up(tensor)  # here, for the model
    if not made and not holds("input-expression", shorten(odd.node)):
        return False
    return any(
        other.place is not tensor.place
        and was_moved(other)
        and (made or holds("input-expression", shorten(node)))
        for other, node, _ in candidates
    )


def _is_criterion(frame: Frame, node: cst.CSTNode, operation: str) -> bool:
    """A callee out of sight that computes a loss: by its name, or since its result is gone back
    through: `loss = crit(out, y)`, `loss.backward()`."""
    if holds("criterion-callee", operation.rpartition(".")[2]):
        return True
    statement, function = frame.current, frame.function
    if not isinstance(statement, cst.Assign) or statement.value is not node or function is None:
        return False
    names = [dotted(target.target) for target in statement.targets]
    return any(name and f"{name}.backward(" in function.text for name in names)
