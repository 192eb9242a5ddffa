"""Meetings: operands that one function brings together, before it is known what comes of them."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import libcst as cst

from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.facts import MeetingKind
from devlint.records import dataclass

Operand = tuple[Tensor, cst.CSTNode]  # a tensor, and how the code writes it


@dataclass(slots=True, eq=False)
class MeetingDraft:
    """A contradiction, before the rest of the function has had its say on what is a tensor."""

    node: cst.CSTNode
    kind: MeetingKind
    operation: str
    left: Tensor
    left_node: cst.CSTNode
    right: Tensor
    right_node: cst.CSTNode
    assumptions: Assumptions
    inside: Site | None
    caught: bool


@dataclass(slots=True, eq=False)
class Pending:
    """Two operands that agree only if the caller makes them: checked at each call."""

    node: cst.CSTNode
    kind: MeetingKind
    operation: str
    left: Tensor
    right: Tensor
    pointwise: bool
    when: PathCondition = ALWAYS
    called: Evidence | None = None  # `right` is a parameter that is called like a module
    assumptions: Assumptions = ()  # what it rests on, whoever calls


@dataclass(slots=True, eq=False)
class Meetings:
    """Those of one function."""

    drafts: dict[tuple[Any, Placement], MeetingDraft] = field(default_factory=dict)
    pendings: dict[tuple[Placement, Placement], Pending] = field(default_factory=dict)
    undecided: list[MeetingDraft] = field(default_factory=list)  # of places that are one or two
