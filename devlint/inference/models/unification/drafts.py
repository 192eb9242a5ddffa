"""Drafts: contradictions, until the function is done and has shown which values are tensors."""

from __future__ import annotations

import libcst as cst

from devlint.inference.confidence.policy import strength
from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.facts import MeetingKind
from devlint.inference.models.unification.authority import decider
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import MeetingDraft, Meetings


def note(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    left_node: cst.CSTNode,
    right: Tensor,
    right_node: cst.CSTNode,
    assumptions: Assumptions,
    inside: Site | None = None,
) -> None:
    """Remember a contradiction: one for each cause and place that sets the device."""
    if frame.control.expecting:
        return
    root = left.origin.root.node if left.origin is not None else left_node
    key = (root, right.place)
    drafts = frame.kept(Meetings).drafts
    old = drafts.get(key)
    is_stronger = old is None or strength(assumptions) > strength(old.assumptions)
    if old is not None and (old.node is node or not is_stronger):
        guessed = not (old.left.is_sure and old.right.is_sure)
        if not (guessed and left.is_sure and right.is_sure):
            return
    caught = frame.control.caught
    drafts[key] = MeetingDraft(
        node, kind, operation, left, left_node, right, right_node, assumptions, inside, caught
    )


def is_told(draft: MeetingDraft) -> bool:
    """Both are tensors, by all that the function shows, and where they were thought to be."""
    sides = (draft.left, draft.right)
    return all(side.is_sure and decider(side) is None for side in sides)
