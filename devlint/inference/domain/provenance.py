"""Provenance: how a value came to be where it is, step by step."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Protocol

from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, both, exclude
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.value import Value
from devlint.nodes import cst
from devlint.records import dataclass


class Source(Protocol):
    """The file that a site lies in. `path` is relative to the project root, `/`-separated."""

    path: str


@dataclass(frozen=True, slots=True)
class Site:
    """A node in a file."""

    source: Source
    node: cst.CSTNode


class StepKind(str, enum.Enum):
    """How a value came to be where it is."""

    CREATED = "created"  # a factory
    LOADED = "loaded"  # a batch of a DataLoader, torch.load, from_numpy
    MOVED = "moved"  # a move, of a tensor or of its module
    COMPUTED = "computed"  # an operation on other values
    PARAMETER = "parameter"  # handed in by the caller
    REGISTERED = "registered"  # a parameter or buffer of a module
    ATTRIBUTE = "attribute"  # kept on an object
    BRANCH = "branch"  # one of several branches
    DECLARED = "declared"  # a contract says so


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a value's history. `text` reads after its name: "is on cpu: made here"."""

    kind: StepKind
    site: Site
    text: str
    takes_device: bool = False  # a creation by a call that has a parameter `device`


class Provenance:
    """One step of a value's history, linked to the step before.

    `when`: the path condition under which it came about, and all that follows from it.
    `assumed`: that of a move that is taken to have been made, since it is in one branch.
    """

    __slots__ = (
        "_root",
        "assumed",
        "before",
        "handed",
        "kind",
        "mended",
        "mixes",
        "node",
        "note",
        "parent",
        "rival",
        "source",
        "takes_device",
        "when",
        "within",
    )

    def __init__(
        self,
        kind: StepKind,
        node: cst.CSTNode,
        source: Source,
        parent: Provenance | None = None,
        note: str = "",
        before: Placement = None,
    ) -> None:
        # Of a move: where the value was. Of a conversion to a tensor: where it is if it was one.
        self.before = before
        self.kind = kind
        self.node = node
        self.source = source
        self.parent = parent
        self.note = note
        self._root: Provenance | None = None if parent is None else parent.root
        # Of a computation: an operand that decides where its result is, should it be a tensor.
        self.rival: Value | None = None
        # Of a contradiction: where its result is once it is mended.
        self.mended: Placement = None
        # Of a parameter: an object was handed it, which may register it, and move it in place.
        self.handed = False
        # Of a computation: another operand, made elsewhere, is where its result is, too.
        self.mixes = False
        # Of a creation: the call has a parameter `device`.
        self.takes_device = False
        # Of a call of a function in sight: the call out of sight in it that its result comes from.
        self.within: Provenance | None = None
        self.when: PathCondition = ALWAYS if parent is None else parent.when
        self.assumed: PathCondition = ALWAYS if parent is None else parent.assumed

    @property
    def root(self) -> Provenance:
        """The creation, or the parameter, with which the history begins."""
        return self if self._root is None else self._root

    @property
    def taken(self) -> Provenance:
        """The last step but for those that only keep the value under another name."""
        step = self
        while step.kind is StepKind.ATTRIBUTE and step.parent is not None:
            step = step.parent
        return step

    def known(self, when: PathCondition) -> Provenance:
        """The same step, of a value that comes about under this condition."""
        step = Provenance(self.kind, self.node, self.source, self.parent, self.note, self.before)
        step.rival, step.mended, step.mixes = self.rival, self.mended, self.mixes
        step.handed, step.takes_device = self.handed, self.takes_device
        step.when, step.assumed, step.within = when, self.assumed, self.within
        return step

    def of_branch(self, when: PathCondition) -> Provenance:
        """The same step, which a branch with this condition took."""
        step = self.known(self.when)
        step.assumed = both(step.assumed, when)
        return step

    def is_excluded(self, when: PathCondition) -> bool:
        """A branch took the step, or one before, that this condition excludes."""
        return bool(self.assumed) and exclude(self.assumed, when)

    def is_same(self, other: Provenance | None) -> bool:
        """One step, whatever is known of the values that took it."""
        return self is other or (
            other is not None
            and self.node is other.node
            and self.kind is other.kind
            and self.parent is other.parent
        )

    def chain(self) -> Iterator[Provenance]:
        """This step and those before it, newest first."""
        step: Provenance | None = self
        while step is not None:
            yield step
            step = step.parent
