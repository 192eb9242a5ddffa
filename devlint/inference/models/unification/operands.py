"""Operands: the tensors that come together in an operation, and the alternatives of each."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.path_conditions import PathCondition, exclude
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Unknown, Value
from devlint.inference.facts import MeetingKind
from devlint.inference.models.held_tensors import tensors_in
from devlint.records import NamedTuple

MIXED = -1  # the number of all operands that are elements of a list whose elements differ


class Operation(NamedTuple):
    """What brings operands together. `indirect`: through an unknown callee, so that nothing is
    certain. `indices`: the operands that are an index, a mask or `out=`."""

    node: cst.CSTNode
    name: str
    kind: MeetingKind
    pointwise: bool = True
    indirect: bool = False
    indices: tuple[cst.CSTNode, ...] = ()


class Candidate(NamedTuple):
    """A tensor that an operand is, or may be: its alternatives have the operand's number."""

    tensor: Tensor
    node: cst.CSTNode
    number: int


def candidates_of(
    operands: list[tuple[Value, cst.CSTNode]], when: PathCondition
) -> list[Candidate]:
    """The tensors of the operands, as far as they come about under the condition."""
    found: list[Candidate] = []
    number = 0
    for value, node in operands:
        for part in _parts(value):
            mixed = type(part) is Sequence and part.mixed
            found += [
                Candidate(tensor, node, MIXED if mixed else number)
                for tensor in tensors_in(part)
                if not exclude(tensor.when, when)
            ]
            number += 1
    return found


def is_any_unknown(operands: list[tuple[Value, cst.CSTNode]]) -> bool:
    """Of one of the operands nothing is known, not even whether it is a tensor."""
    return Unknown in [type(value) for value, _ in operands]


def _parts(value: Value, depth: int = 3) -> list[Value]:
    """What meets in an operand: the elements of a list do, the alternatives of a value do not."""
    if type(value) is Sequence and value.items is not None and depth:
        return [part for item in value.items for part in _parts(item, depth - 1)]
    return [value]


def come_together(a: Candidate, b: Candidate) -> bool:
    """They are of two operands, or elements of one list, and not of branches that exclude each
    other."""
    apart = a.number == b.number and a.number != MIXED
    return not apart and not exclude(a.tensor.when, b.tensor.when)


def alternatives_of(number: int, candidates: list[Candidate]) -> list[Tensor]:
    """The tensors that the operand of a number may be."""
    return [each.tensor for each in candidates if each.number == number]
