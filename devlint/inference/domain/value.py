"""The base of all abstract values, and the lattice operations, which know no concrete class.

A value that may be one of several is a `Union` of alternatives, each with the path condition under
which it is the one. A class of values says of itself how two of its kind become one (`merge`),
which values it holds (`children`, `map`) and under which condition it came about (`when`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from devlint.inference.domain.path_conditions import (
    ALWAYS,
    PathCondition,
    Sides,
    both,
    either,
    exclude,
)

MAX_ALTERNATIVES = 4
MAX_MODULES = 16  # that the elements of a container may be


class Value:
    """The base of all values."""

    __slots__ = ()

    @property
    def when(self) -> PathCondition:
        """The condition under which it came about."""
        return ALWAYS

    @property
    def room(self) -> int:
        """How many alternatives a container's element may have, if all are of this kind."""
        return MAX_ALTERNATIVES

    def resolved(self) -> Value:
        """The value itself, or the one that it stands for."""
        return self

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        """One value for this one and another of its class, part by part; None if they differ."""
        return None

    def stand_for(self, other: Value) -> None:
        """It was kept as one of several, and `other` is merged into it."""

    def children(self) -> Iterator[Value]:
        """The values that it holds, or may be."""
        return iter(())

    def map(self, change: Callable[[Value], Value]) -> Value:
        """The same with other children; itself, if none is another."""
        return self

    def with_facts(self, change: Callable[[PathCondition], PathCondition]) -> Value:
        """The value with another path condition for each tensor that it is or holds; itself if
        they are the same."""
        return self.map(lambda child: child.with_facts(change))

    def is_like(self, other: Value) -> bool:
        """A second pass over a loop with `other` in its place would show nothing new."""
        merged = merge(self, other)
        return merged is self or merged is other


class Unknown(Value):
    """Anything. It meets anything in silence."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Unknown"

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        # An unknown alternative must not hide what the other branch is known to hold, but the
        # whole is no longer certain: rules of meeting treat it through the other alternatives.
        return self


UNKNOWN = Unknown()
# Anything, and what made it was told a device: where its tensors are is open, too.
PLACED = Unknown()


class Union(Value):
    """One of several values: what different branches left. `whens`: what holds where it is each."""

    __slots__ = ("alternatives", "whens")

    def __init__(
        self, alternatives: tuple[Value, ...], whens: tuple[PathCondition, ...] = ()
    ) -> None:
        self.alternatives = alternatives
        self.whens = whens or (ALWAYS,) * len(alternatives)

    def __repr__(self) -> str:
        return f"Union{self.alternatives}"

    def children(self) -> Iterator[Value]:
        return iter(self.alternatives)

    def map(self, change: Callable[[Value], Value]) -> Value:
        changed = tuple(map(change, self.alternatives))
        if are_same(changed, self.alternatives):
            return self
        return choose(zip(changed, self.whens, strict=True))

    def with_facts(self, change: Callable[[PathCondition], PathCondition]) -> Value:
        changed = tuple(value.with_facts(change) for value in self.alternatives)
        whens = tuple(change(when) for when in self.whens)
        if whens == self.whens and are_same(changed, self.alternatives):
            return self
        return Union(changed, whens)


def are_same(a: Iterable[object], b: Iterable[object]) -> bool:
    """The very same things, one by one."""
    return all(x is y for x, y in zip(a, b, strict=True))


def alternatives(value: Value) -> tuple[Value, ...]:
    """The values that `value` may be."""
    value = value.resolved()
    return value.alternatives if type(value) is Union else (value,)


def cases(value: Value) -> tuple[tuple[Value, PathCondition], ...]:
    """The values that `value` may be, each with the condition under which it is."""
    value = value.resolved()
    if type(value) is Union:
        return tuple(zip(value.alternatives, value.whens, strict=True))
    return ((value, ALWAYS),)


def merge(a: Value, b: Value, sides: Sides | None = None) -> Value | None:
    """One alternative for two that say the same, or None."""
    if a is b:
        return a
    return a.merge(b, sides) if type(a) is type(b) else None


def union(values: Iterable[Value], limit: int = MAX_ALTERNATIVES) -> Value:
    """One value for several, without doubles."""
    kept: list[Value] = []
    for value in values:
        for alternative in alternatives(value):
            for index, other in enumerate(kept):
                merged = merge(other, alternative)
                if merged is not None:
                    if merged is not alternative:
                        merged.stand_for(alternative)
                    kept[index] = merged
                    break
            else:
                if len(kept) == limit:
                    return UNKNOWN
                kept.append(alternative)
    if not kept:
        return UNKNOWN
    return Union(tuple(kept)) if len(kept) > 1 else kept[0]


def choose(values: Iterable[tuple[Value, PathCondition]]) -> Value:
    """One value for several, each with the condition under which it is taken: alternatives that
    only one of them has keep that."""
    kept: list[tuple[Value, PathCondition]] = []
    for value, when in values:
        for alternative, own in cases(value):
            whole = both(own, when)
            for index, (other, meanwhile) in enumerate(kept):
                merged = merge(other, alternative, (meanwhile, whole))
                if merged is not None:
                    kept[index] = merged, either(meanwhile, whole)
                    break
            else:
                if len(kept) == MAX_ALTERNATIVES:
                    return UNKNOWN
                kept.append((alternative, whole))
    if not kept:
        return UNKNOWN
    if len(kept) == 1:
        return kept[0][0]
    return Union(tuple(under(v, when) for v, when in kept), tuple(when for _, when in kept))


def join(a: Value, b: Value, sides: Sides | None = None) -> Value:
    """The value of a name after two branches; `sides`: the conditions of the two."""
    if a is b:
        return a
    return union((a, b)) if sides is None else choose(((a, sides[0]), (b, sides[1])))


def join_all(values: list[Value]) -> Value:
    """One value for the elements of a container."""
    return union(values, min((value.room for value in values), default=MAX_ALTERNATIVES))


def under(value: Value, when: PathCondition) -> Value:
    """The value where this holds as well."""
    return value.with_facts(lambda known: both(known, when)) if when else value


def possible(value: Value, when: PathCondition) -> Value:
    """The value where this holds: without the alternatives that are contrary to it."""
    if type(value) is not Union:
        return value
    fits = [not exclude(known, when) and not exclude(v.when, when) for v, known in cases(value)]
    return _some_of(value, fits) if any(fits) else value


def without(value: Value, is_out: Callable[[Value], bool]) -> Value:
    """The value without some of its alternatives."""
    if type(value) is not Union:
        return value
    return _some_of(value, [not is_out(v) for v in value.alternatives])


def _some_of(value: Union, chosen: list[bool]) -> Value:
    left = list(itertools.compress(cases(value), chosen))
    if len(left) == len(value.alternatives):
        return value
    if len(left) > 1:
        return Union(tuple(v for v, _ in left), tuple(when for _, when in left))
    return left[0][0] if left else UNKNOWN


def same(a: Value, b: Value) -> bool:
    """Whether a second pass over a loop with `b` in place of `a` would show nothing new."""
    return a is b or (type(a) is type(b) and a.is_like(b))
