"""Outcomes: what a function gives back and leaves, as far as it was walked."""

from __future__ import annotations

from dataclasses import field

import libcst as cst

from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import NamedLiteral, PathCondition
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.program.loops import Environment
from devlint.records import NamedTuple, dataclass


@dataclass(frozen=True, slots=True, eq=False)
class MovedEntry:
    """`batch[key] = batch[key].to(device)`: a container's entry, moved where it is."""

    holder: Evidence  # of what may be the container
    key: object  # None: each of its entries
    moved: Tensor


class AttributeWrite(NamedTuple):
    """`self.name = value`, and the conditions around it."""

    name: str
    value: Value
    node: cst.CSTNode
    source: cst.CSTNode
    facts: frozenset[NamedLiteral]


@dataclass(slots=True, eq=False)
class Outcome:
    """That of one walk over a function: its summary is made of it."""

    returns: list[tuple[cst.CSTNode, Value]] = field(default_factory=list)
    ways: list[PathCondition] = field(default_factory=list)  # what holds at each of them
    yields: list[Value] = field(default_factory=list)
    exits: list[Environment] = field(default_factory=list)  # at each return, and at the end
    writes: list[AttributeWrite] = field(default_factory=list)
    left: dict[str, Value] = field(default_factory=dict)  # by methods of its own object
    kept: dict[str, Value] = field(default_factory=dict)  # the same, as the object keeps it
    left_default: Placement = None  # the default device, where this function sets it
    moved_entries: list[MovedEntry] = field(default_factory=list)  # of what it may be handed
