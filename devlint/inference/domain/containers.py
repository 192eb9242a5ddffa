"""Containers: sequences and mappings, and what yields their elements."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.domain.path_conditions import Sides
from devlint.inference.domain.value import UNKNOWN, Union, Value, are_same, combine, join, union


class Sequence(Value):
    """A list, tuple, set or iterator. `items` when each is known, `element` for any of them."""

    __slots__ = ("element", "items", "kind", "mixed", "names", "node")

    def __init__(
        self,
        items: list[Value] | None = None,
        element: Value | None = None,
        kind: str = "list",
        node: cst.CSTNode | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        self.items = items
        self.element = element
        self.kind = kind
        self.node = node
        self.names = names  # of a named tuple
        self.mixed = False  # filled from several places, so that its elements differ

    def __repr__(self) -> str:
        return f"{self.kind}({self.items if self.items is not None else self.element})"

    def any(self) -> Value:
        """A value that stands for every element."""
        if self.items is not None:
            return union(self.items) if self.items else (self.element or UNKNOWN)
        return self.element if self.element is not None else UNKNOWN

    def add(self, value: Value) -> None:
        """Append: weak, since another branch may not have."""
        value = no_circle(self, value)
        self.mixed = True
        if self.items is not None:
            self.element = union([*self.items, value]) if self.items else value
            self.items = None
        else:
            self.element = value if self.element is None else join(self.element, value)

    def children(self) -> Iterator[Value]:
        yield from self.items or ()
        if self.element is not None:
            yield self.element

    def map(self, change: Callable[[Value], Value]) -> Sequence:
        items = None if self.items is None else [change(item) for item in self.items]
        element = None if self.element is None else change(self.element)
        if element is self.element and are_same(items or (), self.items or ()):
            return self
        changed = Sequence(items, element, self.kind, self.node, self.names)
        changed.mixed = self.mixed
        return changed

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Sequence
        kind = self.kind if self.kind == other.kind else "list"
        names = self.names if self.names == other.names else ()
        mine, others = self.items, other.items
        if mine is not None and others is not None and len(mine) == len(others):
            if are_same(mine, others) and kind == self.kind and names == self.names:
                return self
            joined = [combine(x, y, sides) for x, y in zip(mine, others, strict=True)]
            merged = Sequence(joined, None, kind, self.node, names)
        else:
            elements = [
                side.any() for side in (self, other) if side.items or side.element is not None
            ]
            if len(elements) == 2:
                elements = [combine(elements[0], elements[1], sides)]
            merged = Sequence(None, elements[0] if elements else None, kind, self.node, names)
        merged.mixed = self.mixed or other.mixed
        return merged

    def content(self, depth: int) -> Hashable:
        if not depth:
            return Sequence
        items = None if self.items is None else tuple(v.content(depth - 1) for v in self.items)
        element = None if self.element is None else self.element.content(depth - 1)
        return Sequence, self.kind, items, element, self.names, self.mixed


class NamedTuple(Value):
    """A class made by `namedtuple`: the names of its fields."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is NamedTuple
        return self if self.names == other.names else None

    def content(self, depth: int) -> Hashable:
        return NamedTuple, self.names


class Mapping(Value):
    """A dict: known string keys, and a value for any other."""

    __slots__ = ("element", "entries")

    def __init__(
        self, entries: dict[Any, Value] | None = None, element: Value | None = None
    ) -> None:
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
        return Mapping(entries, element)

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Mapping
        entries = dict(self.entries)
        for key, value in other.entries.items():
            mine = entries.get(key)
            entries[key] = value if mine is None else combine(mine, value, sides)
        element = self.element
        if other.element is not None:
            element = other.element if element is None else combine(element, other.element, sides)
        return Mapping(entries, element)

    def content(self, depth: int) -> Hashable:
        if not depth:
            return Mapping
        entries = frozenset((key, v.content(depth - 1)) for key, v in self.entries.items())
        return Mapping, entries, None if self.element is None else self.element.content(depth - 1)


def no_circle(holder: Value, value: Value) -> Value:
    """The value as a container may hold it: unknown if the container is itself a part of it, as in
    `root = []; root[:] = [root, root]`."""
    reached: list[Value] = [value]
    known = {id(value)}
    for each in reached:  # grows on the way
        if each is holder:
            return UNKNOWN
        for part in each.children():
            if isinstance(part, (Sequence, Mapping, Union)) and id(part) not in known:
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

    def content(self, depth: int) -> Hashable:
        return Loader, self.batch.content(depth - 1) if depth else None
