"""Meetings: operands that one function brings together, before it is known what comes of them.

So are tensors that factories made on the default device, with the shapes of tensors elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Provenance, Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.facts import MeetingKind

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


@dataclass(slots=True, eq=False)
class UnplacedFactory:
    """A tensor that a factory made on the default device with the shape of another."""

    node: cst.Call
    tensor: Tensor
    sizes: Tensor
    whole: bool = False  # with its shape, or most of it: `torch.randn(x.shape)`
    stands_in: bool = False  # it takes the other's place: `self.x = torch.zeros(self.x.shape)`
    settled: bool = False  # moved, read by the host, or seen to meet another
    used: bool = False  # something computes with it, or it is handed on
    joined: bool = False  # it meets another tensor, of which it is open where that is
    filled: Provenance | None = None  # what it is while inputs are written into it
    peers: set[cst.CSTNode] = field(default_factory=set)  # the roots of what it was joined with


@dataclass(slots=True, eq=False)
class UnplacedFactories:
    """Those of one function, by the call."""

    by_call: dict[cst.CSTNode, UnplacedFactory] = field(default_factory=dict)
