"""Drafts: contradictions, until the function is done and has shown which values are tensors."""

from __future__ import annotations

import libcst as cst

from devlint.inference.confidence.policy import strength
from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.provenance import Site
from devlint.inference.facts import MeetingKind
from devlint.inference.models.unification.authority import decider
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import MeetingDraft, Meetings, Operand
from devlint.inference.program.options import turned_on


def note(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Operand,
    right: Operand,
    assumptions: Assumptions,
    inside: Site | None = None,
) -> None:
    """Remember a contradiction: one for each cause and place that sets the device."""
    if frame.control.expecting:
        return
    tensor, other = left[0], right[0]
    root = tensor.origin.root.node if tensor.origin is not None else left[1]
    key = (root, other.place)
    drafts = frame.kept(Meetings).drafts
    old = drafts.get(key)
    is_stronger = old is None or strength(assumptions) > strength(old.assumptions)
    if old is not None and (old.node is node or not is_stronger):
        guessed = not (old.left.is_sure and old.right.is_sure)
        if not (guessed and tensor.is_sure and other.is_sure):
            return
    caught = frame.control.caught
    when = (*frame.state.when, *tensor.when, *other.when)
    assumed = (*assumptions, *turned_on(frame, when))
    drafts[key] = MeetingDraft(node, kind, operation, *left, *right, assumed, inside, caught)


def is_told(draft: MeetingDraft) -> bool:
    """Both are tensors, by all that the function shows, and where they were thought to be."""
    sides = (draft.left, draft.right)
    return all(side.is_sure and decider(side) is None for side in sides)
