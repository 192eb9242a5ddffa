"""Loops being walked, and environments: what names and containers hold at a place."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import libcst as cst

from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.value import Value
from devlint.inference.facts import Hotness
from devlint.records import dataclass

# By name, by "self.x", by address (what a container holds) and by module (where it is now).
Environment = dict[Any, Value]


@dataclass(slots=True, eq=False)
class LoopState:
    """A loop being walked."""

    node: cst.CSTNode
    over: cst.CSTNode | None
    hotness: Hotness
    depth: int
    feeds_device: bool = False
    outer: LoopState | None = None
    nests: bool = False  # another one is in its body
    trains: bool = False  # a backward pass or an optimizer's step is in its body
    goes_back: bool = False  # a backward pass, and in no loop inside
    evaluates: bool = False  # something in its body runs without gradients
    wraps_training: bool = False  # a hot loop in its body trains
    of_gradients: bool | None = None  # it reads those of what it goes through; once asked for
    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)
    assigned: set[str] = field(default_factory=set)  # names the body rebinds or writes in place
    rebound: set[str] = field(default_factory=set)  # names that only their own move rebinds
    # The environments before the loop, at its head, and where a turn ends: None in the first walk.
    entry: Environment | None = None
    head: Environment | None = None
    back: Environment | None = None
    differs: bool = False  # the first turn takes other branches than those behind it
    turns: PathCondition = ALWAYS  # what holds where as many turns were made as were walked
    since: int = 0  # when the turn began, by the frame's clock
    # `xs[i] = value` for each element of the list that it goes over, and what that put there.
    replacing: cst.Subscript | None = None
    replacement: Value | None = None
    # Objects of which each turn moves the entry under its own key, as they are behind the loop.
    moved_parts: Environment = field(default_factory=dict)
