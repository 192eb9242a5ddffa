"""Traffic: what a function brings to which device, and what the host reads of it."""

from __future__ import annotations

from dataclasses import field

import libcst as cst

from devlint.inference.domain.placement import Placement, Variable
from devlint.records import dataclass


@dataclass(slots=True, eq=False)
class Moves:
    """Where a function moves what."""

    goals: dict[Variable, set[Placement]] = field(default_factory=dict)  # by where that was
    # Of parts of batches, by what the batches came from.
    of_batches: dict[cst.CSTNode, list[Placement]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class HostCopies:
    """Copies that a function makes to the host."""

    landing: set[cst.CSTNode] = field(default_factory=set)  # non-blocking, and nothing waited yet
    needed: set[cst.CSTNode] = field(default_factory=set)  # those of which the host made use


@dataclass(slots=True, eq=False)
class HostInputs:
    """The inputs of a function that its host reads as they are."""

    inputs: set[Placement] = field(default_factory=set)
    unshown: set[Placement] = field(default_factory=set)  # those of which nothing shows more
    made: set[cst.CSTNode] = field(default_factory=set)  # what makes and computes what it reads so
