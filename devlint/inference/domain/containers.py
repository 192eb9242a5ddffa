"""Containers: sequences and mappings, and what yields their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.domain.path_conditions import Sides
from devlint.inference.domain.value import (
    TOP,
    UNKNOWN,
    Union,
    Value,
    are_same,
    combine,
    covers,
    join,
    union,
)


class Address:
    """Where a container lives: all its names lead there."""

    __slots__ = ("first", "left", "many")

    def __init__(self) -> None:
        self.many = False  # it stands for several containers, those of a comprehension
        self.first: Value | None = None  # its content before anybody wrote to it, once somebody has
        self.left: Value | None = None  # by the functions that wrote to it and are done


MAX_ADDRESSES = 4  # of which one container may be any


class Container(Value):
    """An immutable snapshot of what a container holds, and where the container lives.

    Two addresses: it is one of two containers, and what is written to it is written to one of them.
    None: nobody can write to it.
    """

    __slots__ = ("addresses",)

    addresses: tuple[Address, ...]


def _either_address(a: Container, b: Container) -> tuple[Address, ...]:
    if a.addresses == b.addresses:
        return a.addresses
    both = (*a.addresses, *(each for each in b.addresses if each not in a.addresses))
    return both if len(both) <= MAX_ADDRESSES else ()


class Sequence(Container):
    """A list, tuple, set or iterator. `items` when each is known, `element` for any of them."""

    __slots__ = ("element", "items", "kind", "mixed", "names", "node", "spread")

    def __init__(
        self,
        items: list[Value] | None = None,
        element: Value | None = None,
        kind: str = "list",
        node: cst.CSTNode | None = None,
        names: tuple[str, ...] = (),
        addresses: tuple[Address, ...] | None = None,
    ) -> None:
        self.addresses = (Address(),) if addresses is None else addresses
        self.items = items
        self.element = element
        self.kind = kind
        self.node = node
        self.names = names  # of a named tuple
        self.mixed = False  # filled from several places, so that its elements differ
        # Of `(*rows, device)`: the values as they stand there, and the number of the starred one.
        self.spread: tuple[list[Value], int] | None = None

    def __repr__(self) -> str:
        return f"{self.kind}({self.items if self.items is not None else self.element})"

    def any(self) -> Value:
        """A value that stands for every element."""
        if self.items is not None:
            return union(self.items) if self.items else (self.element or UNKNOWN)
        return self.element if self.element is not None else UNKNOWN

    def unpacked(self, count: int) -> list[Value] | None:
        """The elements of a sequence of so many; None where they are not told apart."""
        if self.items is not None:
            return self.items if len(self.items) == count else None
        if self.spread is None:
            return None
        values, star = self.spread
        more = count - len(values) + 1
        return [*values[:star], *[values[star]] * more, *values[star + 1 :]] if more >= 0 else None

    def adding(self, value: Value, chosen: bool = True) -> Sequence:
        """With one more element, wherever it stands. `chosen`: if it is one of several values, it
        need not be the same for each element."""
        value = no_circle(self, value)
        held = self.any() if self.items or self.element is not None else None
        element = value if held is None else union((held, value))
        differs = held is not None and not (covers(held, value) and covers(value, held))
        if differs and any(each.many for each in self.addresses):
            element = TOP  # which of them holds what is open
        added = Sequence(None, element, self.kind, self.node, self.names, self.addresses)
        added.mixed = self.mixed or chosen or differs
        return added

    def replacing(self, index: int, value: Value) -> Sequence:
        """With another element at a position that is known."""
        assert self.items is not None
        items = list(self.items)
        items[index] = no_circle(self, value)
        return self._with(items, self.element)

    def of(self, element: Value) -> Sequence:
        """With nothing but such elements."""
        return self._with(None, element)

    def _with(self, items: list[Value] | None, element: Value | None) -> Sequence:
        changed = Sequence(items, element, self.kind, self.node, self.names, self.addresses)
        changed.mixed = self.mixed
        return changed

    def children(self) -> Iterator[Value]:
        yield from self.items or ()
        if self.element is not None:
            yield self.element

    def map(self, change: Callable[[Value], Value]) -> Sequence:
        items = None if self.items is None else [change(item) for item in self.items]
        element = None if self.element is None else change(self.element)
        if element is self.element and are_same(items or (), self.items or ()):
            return self
        return self._with(items, element)

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Sequence
        kind = self.kind if self.kind == other.kind else "list"
        names = self.names if self.names == other.names else ()
        addresses = _either_address(self, other)
        mine, others = self.items, other.items
        if mine is not None and others is not None and len(mine) == len(others):
            unchanged = kind == self.kind and names == self.names and addresses == self.addresses
            if are_same(mine, others) and unchanged:
                return self
            joined = [combine(x, y, sides) for x, y in zip(mine, others, strict=True)]
            merged = Sequence(joined, None, kind, self.node, names, addresses)
        else:
            elements = [
                side.any() for side in (self, other) if side.items or side.element is not None
            ]
            if len(elements) == 2:
                elements = [combine(elements[0], elements[1], sides)]
            element = elements[0] if elements else None
            merged = Sequence(None, element, kind, self.node, names, addresses)
        merged.mixed = self.mixed or other.mixed
        return merged

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Sequence
        mine, others = self.items, other.items
        if mine is None or others is None or len(mine) != len(others):
            return mine is None and covers(self.any(), other.any(), depth - 1)
        return all(map(partial(covers, depth=depth - 1), mine, others))


class NamedTuple(Value):
    """A class made by `namedtuple`: the names of its fields."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is NamedTuple
        return self if self.names == other.names else None


class Mapping(Container):
    """A dict: known string keys, and a value for any other."""

    __slots__ = ("element", "entries")

    def __init__(
        self,
        entries: dict[Any, Value] | None = None,
        element: Value | None = None,
        addresses: tuple[Address, ...] | None = None,
    ) -> None:
        self.addresses = (Address(),) if addresses is None else addresses
        self.entries = entries if entries is not None else {}
        self.element = element

    def any(self) -> Value:
        """A value that stands for every entry."""
        values = list(self.children())
        return union(values) if values else UNKNOWN

    def get(self, key: object) -> Value:
        """The entry under a key."""
        if isinstance(key, Const) and key.value in self.entries:
            return self.entries[key.value]
        if isinstance(key, Const):
            return self.element if self.element is not None else UNKNOWN
        return self.any()

    def children(self) -> Iterator[Value]:
        yield from self.entries.values()
        if self.element is not None:
            yield self.element

    def map(self, change: Callable[[Value], Value]) -> Mapping:
        entries = {key: change(entry) for key, entry in self.entries.items()}
        element = None if self.element is None else change(self.element)
        if element is self.element and are_same(entries.values(), self.entries.values()):
            return self
        return Mapping(entries, element, self.addresses)

    def putting(self, entries: dict[Any, Value], element: Value | None = None) -> Mapping:
        """With these entries, and perhaps others, besides those it has."""
        new = {key: no_circle(self, value) for key, value in entries.items()}
        rest = self.element
        if element is not None:
            element = no_circle(self, element)
            rest = element if rest is None else join(rest, element)
        return Mapping(self.entries | new, rest, self.addresses)

    def merge(self, other: Value, sides: Sides | None) -> Mapping:
        assert type(other) is Mapping
        entries = dict(self.entries)
        for key, value in other.entries.items():
            mine = entries.get(key)
            entries[key] = value if mine is None else combine(mine, value, sides)
        element = self.element
        if other.element is not None:
            element = other.element if element is None else combine(element, other.element, sides)
        return Mapping(entries, element, _either_address(self, other))

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Mapping
        known = other.entries.keys() <= self.entries.keys()
        return (
            known
            and all(covers(self.entries[k], v, depth - 1) for k, v in other.entries.items())
            and (
                other.element is None
                or (self.element is not None and covers(self.element, other.element, depth - 1))
            )
        )


def no_circle(holder: Container, value: Value) -> Value:
    """The value as a container may hold it: unknown if the container is itself a part of it, as in
    `root = []; root[:] = [root, root]`."""
    reached: list[Value] = [value]
    known = {id(value)}
    for each in reached:  # grows on the way
        if isinstance(each, Container) and any(a in holder.addresses for a in each.addresses):
            return UNKNOWN
        for part in each.children():
            if isinstance(part, (Container, Union)) and id(part) not in known:
                known.add(id(part))
                reached.append(part)
    return value


class Loader(Value):
    """A DataLoader or what stands for one: each iteration yields a fresh `batch` on the host."""

    __slots__ = ("batch",)

    def __init__(self, batch: Value) -> None:
        self.batch = batch

    def children(self) -> Iterator[Value]:
        yield self.batch

    def map(self, change: Callable[[Value], Value]) -> Loader:
        batch = change(self.batch)
        return self if batch is self.batch else Loader(batch)

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Loader
        batch = combine(self.batch, other.batch, sides)
        return self if batch is self.batch else Loader(batch)

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Loader
        return covers(self.batch, other.batch, depth - 1)
