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


MAX_MODULES = 16  # alternatives, if all are modules


MAX_DEPTH = 4  # of a value that holds others, where it could go deeper by each turn of a loop


UNTOLD: Sides = (ALWAYS, ALWAYS)


class Value:
    """The base of all values."""

    __slots__ = ()

    @property
    def when(self) -> PathCondition:
        """The condition under which it came about."""
        return ALWAYS

    @property
    def room(self) -> int:
        """How many alternatives one value may have, if all are of this kind."""
        return MAX_ALTERNATIVES

    def resolved(self) -> Value:
        """The value itself, or the one that it stands for."""
        return self

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        """One value for this one and another of its class, part by part; None if they differ.

        It is the join of the two; parts of theirs are joined as branches are if `sides` says of
        which. That two values merge is an equivalence, or the join would go by the order.
        """
        return None

    def outweighs(self, other: Value, sides: Sides) -> Value | None:
        """The value that branches leave of this one and another of its class, where in the
        accelerated world only this one is left of the two. `sides`: the conditions of this one and
        of the other."""
        return None

    def stand_for(self, other: Value) -> None:
        """Note that the value was kept as one of several, and `other` is merged into it."""

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

    def of_branch(self, when: PathCondition) -> Value:
        """The value behind a branch with this condition that alone has it."""
        return self

    def within(self, when: PathCondition) -> Value:
        """The value where this holds: it is not where only a branch put it that this excludes."""
        return self

    def is_like(self, other: Value) -> bool:
        """A second pass over a loop with `other` in its place would show nothing new."""
        merged = merge(self, other)
        return merged is self or merged is other

    def covers(self, other: Value, depth: int) -> bool:
        """A pass over a loop with `other` beside it, one of its class, shows nothing new: both are
        in the same place, whichever objects they are."""
        return self.merge(other, None) is not None


class Unknown(Value):
    """A value of which nothing is said. It meets anything in silence."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Unknown"

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        # An unknown alternative must not hide what the other branch is known to hold, but the
        # whole is no longer certain: rules of meeting treat it through the other alternatives.
        return TOP if TOP in (self, other) else UNKNOWN


UNKNOWN = Unknown()  # anything, as Python's `Any`


TOP = Unknown()  # one of more values than are told apart: whatever it is joined with


# Anything, and what made it was told a device: where its tensors are is open, too.
PLACED = Unknown()


UNREAD = Unknown()  # an object of a class of the project's own that was not read


# Anything, and what made it, out of sight, makes tensors of images or arrays by its name: where it
# is known to be matters to nobody but to who says what calls hand in.
CONVERTED = Unknown()


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

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        return union((self, other)) if sides is None else join_branches(self, other, sides)

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
    """One alternative for two, or None if both are to be kept. `sides`: they are what two branches
    left under these conditions, so that the one may outweigh the other."""
    if a is b:
        return a
    if type(a) is not type(b):
        return None
    if sides is not None:
        left = a.outweighs(b, sides) or b.outweighs(a, (sides[1], sides[0]))
        if left is not None:
            return left
    return a.merge(b, sides)


class _Alternatives:
    """Alternatives as they are collected, without doubles."""

    __slots__ = ("is_too_many", "kept", "room")

    def __init__(self) -> None:
        self.kept: list[tuple[Value, PathCondition]] = []
        self.room = MAX_MODULES
        self.is_too_many = False

    def add(self, value: Value, when: PathCondition, of_branches: bool) -> None:
        """One more, or one of those that are kept; `of_branches`: one may outweigh another."""
        self.is_too_many = self.is_too_many or value is TOP
        if self.is_too_many:
            return
        for index, (other, meanwhile) in enumerate(self.kept):
            merged = merge(other, value, (meanwhile, when) if of_branches else None)
            if merged is not None:
                if merged is not value:
                    merged.stand_for(value)
                self.is_too_many = merged is TOP
                self.kept[index] = merged, either(meanwhile, when)
                return
        self.kept.append((value, when))
        self.room = min(self.room, value.room)
        self.is_too_many = len(self.kept) > self.room


def union(values: Iterable[Value]) -> Value:
    """The join of several values."""
    return union_of_cases(case for value in values for case in cases(value))


def union_of_cases(values: Iterable[tuple[Value, PathCondition]]) -> Value:
    """The join of several values, each with its condition."""
    found = _Alternatives()
    for value, when in values:
        found.add(value, when, False)
    if found.is_too_many:
        return TOP
    if len(found.kept) > 1:
        return Union(tuple(v for v, _ in found.kept), tuple(when for _, when in found.kept))
    return found.kept[0][0] if found.kept else UNKNOWN


def choose(values: Iterable[tuple[Value, PathCondition]]) -> Value:
    """The value that branches leave, each under its condition: alternatives that only one of them
    has keep that, and some outweigh others."""
    found = _Alternatives()
    for value, when in values:
        for alternative, own in cases(value):
            found.add(alternative, both(own, when), True)
    if found.is_too_many:
        return TOP
    if len(found.kept) > 1:
        kept = found.kept
        return Union(tuple(under(v, when) for v, when in kept), tuple(when for _, when in kept))
    return found.kept[0][0] if found.kept else UNKNOWN


def join(a: Value, b: Value) -> Value:
    """The least value that says no more than either."""
    return a if a is b else union((a, b))


def join_branches(a: Value, b: Value, sides: Sides = UNTOLD) -> Value:
    """The value of a name after two branches; `sides`: the conditions of the two."""
    return a if a is b else choose(((a, sides[0]), (b, sides[1])))


def combine(a: Value, b: Value, sides: Sides | None) -> Value:
    """The join of two values, or of what branches left, if it is said under which conditions."""
    return join(a, b) if sides is None else join_branches(a, b, sides)


def cut(value: Value, depth: int = MAX_DEPTH) -> Value:
    """The value with anything in place of what it holds deeper than the limit."""
    if next(value.children(), None) is None:
        return value
    return value.map(lambda child: cut(child, depth - 1)) if depth else TOP


def under(value: Value, when: PathCondition) -> Value:
    """The value where this holds as well."""
    return value.with_facts(lambda known: both(known, when)) if when else value


def possible(value: Value, when: PathCondition) -> Value:
    """The value where this holds: without the alternatives that are contrary to it."""
    if type(value) is not Union:
        return value.within(when)
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


def is_untold(value: Value) -> bool:
    """Nothing is said of it."""
    return value is UNKNOWN or value is TOP or value is UNREAD or value is CONVERTED


def same(a: Value, b: Value) -> bool:
    """Whether a second pass over a loop with `b` in place of `a` would show nothing new."""
    return a is b or (type(a) is type(b) and a.is_like(b))


def covers(old: Value, new: Value, depth: int = MAX_DEPTH) -> bool:
    """Whether one more pass over a loop with `new` beside `old` would show nothing new: nothing is
    said of each of its alternatives, or it is covered by one that was there."""
    known = alternatives(old)
    if old is new or TOP in known or not depth:
        return True
    return all(
        is_untold(each) or any(type(v) is type(each) and v.covers(each, depth) for v in known)
        for each in alternatives(new)
    )
