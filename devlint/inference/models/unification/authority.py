"""Authority: which operand of an operation the others have to follow, and who turned out to."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from devlint.inference.domain.placement import Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, SCALAR, Tensor
from devlint.inference.models.unification.operands import Candidate


class Authority(enum.IntEnum):
    """Who put a tensor where it is: the higher, the more others must follow it."""

    UNKNOWN = 0
    DEFAULT = 1  # nobody: a factory without `device=`
    HOST = 2
    INPUT = 3
    CHOSEN = 4
    MODULE = 5


_OF_VARIABLES = {
    VariableKind.MODULE: Authority.MODULE,
    VariableKind.DEVICE: Authority.CHOSEN,
}


def authority(tensor: Tensor) -> Authority:
    place = tensor.place
    if place is None:
        return Authority.UNKNOWN
    if isinstance(place, Variable):
        return _OF_VARIABLES.get(place.kind, Authority.INPUT)
    if place.is_accelerator:
        return Authority.CHOSEN
    return Authority.DEFAULT if tensor.traits & DEFAULT else Authority.HOST


def setter(candidates: list[Candidate]) -> Candidate:
    """The candidate that sets the place of the result."""
    return max(candidates, key=_weight)


def by_authority(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates, each before those that have to follow it."""
    return sorted(candidates, key=_weight, reverse=True)


def _weight(candidate: Candidate) -> tuple[Authority, bool, bool, bool, bool]:
    tensor = candidate.tensor
    place = tensor.place
    fixed = type(place) is Device and place.index is not None  # says more than the current card
    number = tensor.evidence is not None and tensor.evidence.hints.number
    return authority(tensor), tensor.is_sure, not number, not tensor.traits & SCALAR, fixed


def decider(tensor: Tensor) -> Tensor | None:
    """What turned out to be a tensor, and decides where this value is: when the value was computed
    that was open."""
    for step in _since_moved(tensor):
        if type(step.rival) is Tensor and step.rival.is_sure:
            return step.rival
    return None


def mended_place(tensor: Tensor) -> Placement:
    """Where a tensor is once the contradiction is mended that it was computed by: with the operand
    that sets the device. Else where it is."""
    if tensor.place is not None:
        return tensor.place
    return next((step.mended for step in _since_moved(tensor) if step.mended is not None), None)


def _since_moved(tensor: Tensor) -> Iterator[Provenance]:
    """The steps of a tensor since its last move, newest first."""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        if step.kind is StepKind.MOVED:
            return
        yield step
