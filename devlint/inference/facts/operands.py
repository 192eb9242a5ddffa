"""Operands and loops: the parts that facts are made of."""

from __future__ import annotations

import enum

from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Site, Step, StepKind
from devlint.records import NamedTuple


class Operand(NamedTuple):
    """A value that takes part in a fact.

    `name` is its source text (shortened), `steps` its history, oldest first, at most five.
    """

    name: str
    placement: Placement
    site: Site
    steps: tuple[Step, ...] = ()
    by_default: bool = False  # made by a factory without `device=`: on the default device
    loaded: bool = False  # came from a DataLoader or the disk, never moved
    scalar: bool = False  # 0-dim
    is_parameter: bool = False
    pinned: bool = False
    pageable: bool = False  # a batch of a DataLoader in sight that does not pin its batches
    indirect: bool = False  # it, or the other operand's place, went through an unknown callee
    element: bool = False  # an element of the container whose name and site these are
    converted: bool = False  # made of what the caller may hand in as a tensor, and here did not
    boolean: bool = False  # a mask on the host, by how it was made
    mixed: bool = False  # computed from several that were made apart: none of them alone decides

    @property
    def moved(self) -> bool:
        """Whether a move is in its history."""
        return any(step.kind is StepKind.MOVED for step in self.steps)


class Hotness(str, enum.Enum):
    """How often a loop's body runs for each unit of work."""

    HOT = "hot"  # batches, steps, tokens, time steps
    EPOCHS = "epochs"
    COLD = "cold"  # a few items: layers, files, devices; or under `if step % n == 0`


class Loop(NamedTuple):
    """A loop around a fact. `feeds_device`: its body runs operations on an accelerator."""

    site: Site
    over: str  # source text of what it iterates over, or its condition
    hotness: Hotness
    feeds_device: bool
    depth: int  # 1 is the outermost
    trains: bool = False  # its body runs a backward pass or an optimizer's step
    nested: bool = False  # inside another hot loop
    goes_back: bool = False  # each turn runs a backward pass itself, and no loop inside does
    per_epoch: bool = False  # beside the training loop: all of it is gone through once per epoch
