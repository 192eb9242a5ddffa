"""Kinds: whether a value is a tensor, as far as its uses show, and what else they show of it."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.records import dataclass

MAX_WAYS = 8  # on which a function moves one value
MAX_ANCESTORS = 64  # that one question after a value's evidence goes back to


class Kind(enum.Enum):
    """Unknown becomes a tensor, and either becomes something else: what is shown to be no tensor
    was never one."""

    UNKNOWN = enum.auto()
    TENSOR = enum.auto()
    OTHER = enum.auto()


@dataclass(slots=True, eq=False)
class Effects:
    """What the code does with a value."""

    moved: bool = False  # somewhere, by the function itself
    ways: tuple[PathCondition, ...] = ()  # on which it does so
    in_place: bool = False  # moved as modules are: `x.to(device)` alone
    handed: bool = False  # to a callee out of sight, which may move it if it is a module
    tested: bool = False  # whether there is any of it: `if rates:`
    as_index: bool = False  # of a device
    converted: bool = False  # where it is no tensor, one is made of it
    # It has a method or an attribute that tensors lack, or is asked whether it is of another
    # class: an object of a class out of sight.
    foreign: bool = False
    unread: bool = False  # it is an object of a class of the project's own that was not read

    def move(self, when: PathCondition) -> None:
        self.moved = True
        if when not in self.ways:
            self.ways = (*self.ways, when) if len(self.ways) < MAX_WAYS else (ALWAYS,)


@dataclass(slots=True, eq=False)
class Hints:
    """What the beginning of a value says of it."""

    number: bool = False  # by its name it is rather a number
    part: bool = False  # one of several that a batch was unpacked into
    inner: bool = False  # an entry of a part, `batch["meta"]["size"]`: that is moved by itself
    output: bool = False  # a model out of sight gave it: a tensor, or several values
    either: bool = False  # its annotation admits tensors beside numbers or arrays
    # An attribute of an object that was not read: one of a module may be no part of what moves.
    kept: bool = False
    owner: bool = False  # nothing but its `.device` shows a tensor: of a configuration it is a text


class Evidence:
    """Whether a value of unknown type is a tensor: shown by how it is used, here or later on."""

    __slots__ = ("declared", "effects", "hints", "kind", "parents", "taken_from")

    def __init__(self, tensor: bool = False, parents: tuple[Evidence, ...] = ()) -> None:
        self.kind = Kind.TENSOR if tensor else Kind.UNKNOWN
        self.declared = tensor  # from the start: by an annotation, by what made it
        self.effects = Effects()
        self.hints = Hints()
        self.parents = parents
        self.taken_from: Evidence | None = None  # that of what a loop goes through

    def mark_tensor(self) -> None:
        self.hints.owner = False
        if self.kind is Kind.UNKNOWN:
            self.kind = Kind.TENSOR

    def mark_owner(self) -> None:
        """It has a `device`, as a tensor does, and an object that keeps what was chosen."""
        self.mark_tensor()
        self.hints.owner = True

    def mark_host(self) -> None:
        self.kind = Kind.OTHER

    def mark_number(self) -> None:
        """The value stands for a size, so it is a number unless it is shown to be a tensor.

        What a tensor is computed with is a tensor, so all that a number was computed from are
        numbers.
        """
        if not self.is_tensor:
            for evidence in list(self.ancestry()):
                evidence.kind = Kind.OTHER

    @property
    def is_host(self) -> bool:
        """Shown to be no tensor, by its own use or by that of all it was computed from."""
        if self.kind is Kind.OTHER or not self.parents:
            return self.kind is Kind.OTHER
        return all(parent.kind is Kind.OTHER for parent in self.parents)

    @property
    def is_tensor(self) -> bool:
        """Shown of the value itself, or of one that it was computed from."""
        if self.kind is not Kind.UNKNOWN or not self.parents:
            return self.kind is Kind.TENSOR
        return any(each.kind is Kind.TENSOR for each in self.ancestry())

    @property
    def is_declared(self) -> bool:
        """The value is a tensor from the start, or what it was computed from: no use had to show
        it."""
        return any(each.declared for each in self.ancestry())

    @property
    def was_moved(self) -> bool:
        """The function itself moves it somewhere, or one that it was computed from."""
        return any(each.effects.moved for each in self.ancestry())

    @property
    def is_inner(self) -> bool:
        """It stems from a table in a table: who moves entry by entry may leave it where it was."""
        return any(each.hints.inner for each in self.ancestry())

    @property
    def is_kept(self) -> bool:
        """It stems from an attribute of an object that was not read."""
        return any(each.hints.kept for each in self.ancestry())

    def ancestry(self) -> Iterator[Evidence]:
        """The value's evidence and that of what it was computed from, but for what is no tensor."""
        asked: list[Evidence] = [self]
        for evidence in asked:  # grows on the way
            yield evidence
            if len(asked) < MAX_ANCESTORS and evidence.kind is not Kind.OTHER:
                asked += [parent for parent in evidence.parents if parent not in asked]
