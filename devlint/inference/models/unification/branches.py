"""Branches: alternatives of one operand, of which not each comes together with each of another."""

from __future__ import annotations

import math

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, both, exclude
from devlint.inference.domain.placement import same_place
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, Tensor
from devlint.inference.domain.value import UNKNOWN, alternatives
from devlint.inference.models.unification.contradictions import never_meet
from devlint.inference.models.unification.operands import MIXED, Candidate, alternatives_of
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted

MAX_WAYS = 16  # of the alternatives of several operands to come together


def is_optional(frame: Frame, tensor: Tensor) -> bool:
    """The tensor comes of a parameter that the caller may leave out: the other stands in for
    that."""
    root = tensor.origin.root if tensor.origin is not None else None
    if root is None or not isinstance(root.node, cst.Param) or frame.function is None:
        return False
    default = frame.function.defaults.get(root.node.name.value)
    return type(default) is Const and default.value is None


def stands_in(frame: Frame, tensor: Tensor, others: list[Tensor]) -> bool:
    """What a method of a module makes for an input that is left out: the others are that input."""
    rest = [t for t in others if t.origin is not tensor.origin]
    return (
        frame.in_module
        and bool(rest)
        and bool(tensor.traits & DEFAULT and tensor.when)
        and all(is_optional(frame, t) for t in rest)
    )


def come_of_one_choice(
    frame: Frame, odd: Candidate, anchor: Candidate, candidates: list[Candidate]
) -> bool:
    """The choice that puts the one where it is may put the other there as well: the two
    alternatives need not come together."""
    several = odd.number != MIXED and len(alternatives_of(odd.number, candidates)) > 1
    if (several or odd.number == MIXED) and _is_converted(odd.tensor, anchor.tensor):
        return True
    if odd.number != MIXED and _goes_along(odd.tensor, alternatives_of(anchor.number, candidates)):
        return True
    others = _siblings(frame, anchor, candidates)
    return _is_converted_alike(odd.tensor, anchor, others) or _fits_default(
        frame, odd.tensor, anchor, others
    )


def _siblings(frame: Frame, one: Candidate, candidates: list[Candidate]) -> list[Tensor]:
    """All that the operand may be. Of what a method is called of, one is looked at at a time."""
    held = frame.state.env.get(dotted(one.node), UNKNOWN)
    found = [each for each in alternatives(held) if type(each) is Tensor]
    return alternatives_of(one.number, candidates) + (found if one.tensor in found else [])


def _fits_default(frame: Frame, tensor: Tensor, anchor: Candidate, others: list[Tensor]) -> bool:
    """The anchor is a parameter that may be left out, and what stands in for it is where the
    tensor is: `if limits is None: limits = torch.arange(…)`."""
    return is_optional(frame, anchor.tensor) and any(
        same_place(other.place, tensor.place) and not never_meet(frame, other, tensor)
        for other in others
    )


def _is_converted(tensor: Tensor, other: Tensor) -> bool:
    """One was made a tensor because its value was none, the other is where that value is if it is
    one: the elements of a list are all of one kind, and a value is of one kind everywhere."""
    origin = tensor.origin
    return tensor.was_converted and origin is not None and origin.root.before is other.place


def _is_converted_alike(tensor: Tensor, anchor: Candidate, others: list[Tensor]) -> bool:
    """Both are inputs that are made tensors where they are none: who hands in a list for the one
    does so for the other. `if isinstance(x, list): x = torch.tensor(x)`, and the same of `y`"""
    return tensor.was_converted and any(
        same_place(other.place, tensor.place) and _is_converted(other, anchor.tensor)
        for other in others
    )


def _goes_along(tensor: Tensor, others: list[Tensor]) -> bool:
    """One alternative of an operand comes from the same value as one of the other operand: where
    the one is taken, the other is."""
    root = tensor.origin.root.node if tensor.origin is not None else None
    return root is not None and any(
        other.origin is not None and other.origin.root.node is root and other.place == tensor.place
        for other in others
    )


def is_moved_by_another_branch(branches: list[Tensor], anchor: Tensor) -> bool:
    """One of the branches of an operand leaves it where the other operand is, by a move."""
    return any(
        t.place == anchor.place and t.origin is not None and t.origin.kind is StepKind.MOVED
        for t in branches
    )


def operands_apart(candidates: list[Candidate]) -> list[int]:
    """The numbers of the operands that are one of several in different places, by tests that came
    out this way or that."""
    found: dict[int, None] = {}
    if len({each.number for each in candidates}) == len(candidates):
        return []
    for index, (tensor, _, number) in enumerate(candidates):
        for other, _, its in candidates[:index]:
            if number == its and tensor.place is not other.place:
                if number == MIXED or not exclude(tensor.when, other.when):
                    return []
                found[number] = None
    count = math.prod(len(alternatives_of(number, candidates)) for number in found)
    return list(found) if count <= MAX_WAYS else []


def ways(
    apart: list[int], candidates: list[Candidate]
) -> list[tuple[list[Candidate], PathCondition]]:
    """The alternatives of these operands as they may come together, each with all other operands,
    and under which condition."""
    found: list[tuple[list[Candidate], PathCondition]] = [([], ALWAYS)]
    for number in apart:
        found = [
            ([*chosen, one], both(when, one.tensor.when))
            for chosen, when in found
            for one in candidates
            if one.number == number and not exclude(when, one.tensor.when)
        ]
    others = [each for each in candidates if each.number not in apart]
    return [([*chosen, *others], when) for chosen, when in found]
