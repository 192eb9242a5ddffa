"""Batches: parts of what a loader or a caller hands in as a whole, and where the others went."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.placement import same_place
from devlint.inference.domain.tensors import INDIRECT, LOADED, Tensor
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.unification.operands import Candidate
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.frames import Frame
from devlint.inference.program.traffic import Moves
from devlint.inference.syntax.filled_parts import fills
from devlint.inference.syntax.text import shorten


def belongs_to_moved_batch(frame: Frame, part: Tensor) -> bool:
    """A part of a batch of which the function moved another part: `images.to(device)` says that
    `labels` is on the host, and that both are tensors."""
    evidence, origin = part.evidence, part.origin
    if evidence is None or origin is None:
        return False
    if not (comes_with_others(frame, part) or (evidence.hints.part and part.traits & LOADED)):
        return False
    return origin.root.node in frame.kept(Moves).of_batches


def comes_with_others(frame: Frame, part: Tensor) -> bool:
    """A part of what the function is handed in as a whole, and does not fill itself; no framework
    has brought that to the device already."""
    if not is_given_part(part) or frame.unit.moves_batches or frame.function is None:
        return False
    root = part.origin.root.node if part.origin is not None else None
    return isinstance(root, cst.Param) and not fills(frame.function.node, root.name.value)


def is_left_behind(frame: Frame, part: Tensor, other: Tensor) -> bool:
    """A part of a batch meets what is where another part of the batch was moved to. What a callee
    out of sight makes of a part is none: a model's output is where the model is."""
    if part.traits & INDIRECT or part.origin is None or not belongs_to_moved_batch(frame, part):
        return False
    goals = frame.kept(Moves).of_batches[part.origin.root.node]
    return any(same_place(other.place, goal) for goal in goals)


def belongs_with(frame: Frame, odd: Tensor, candidates: list[Candidate]) -> bool:
    """A part of a batch meets something where another part of the batch was moved to."""
    others = (each.tensor for each in candidates if each.tensor is not odd)
    return any(is_left_behind(frame, odd, other) for other in others)


def with_its_batch(frame: Frame, expression: cst.CSTNode) -> Assumption:
    """The assumption that a part is needed where the rest of its batch was moved to."""
    message = f"`{shorten(expression)}` is needed where the rest of its batch was moved to"
    return at(frame, AssumptionKind.BATCH_BELONGS_TOGETHER, expression, message)


def left_behind(frame: Frame, part: Tensor, expression: cst.CSTNode) -> list[Assumption]:
    """What has to be assumed of a part that stayed behind when the rest of its batch was moved. Of
    what a loader yields all that counts are tensors; what a caller hands in may hold a number."""
    assumed = [with_its_batch(frame, expression)]
    if not part.is_sure and is_given_part(part):
        message = f"`{shorten(expression)}` is a tensor"
        assumed.append(at(frame, AssumptionKind.VALUE_IS_TENSOR, expression, message))
    part.show()
    return assumed
