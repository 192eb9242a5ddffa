"""Constraints: terms that have to be in one place, and which two of them can't be.

A term is on a known device, or on one that a variable stands for. Any two that come together are
put to the test, so whether there is a clash does not go by their order. The order says only which
of two that clash is told as the odd one: the weaker, which stands behind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import Generic, TypeAlias, TypeVar

from devlint.records import dataclass

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Clash(Generic[T, R]):
    """Two terms that can't be in one place, and why."""

    odd: T
    other: T
    reason: R


@dataclass(frozen=True, slots=True)
class Tie(Generic[T]):
    """Two terms that are in different places, as far as is known, and can be in one."""

    term: T
    other: T


def solve(
    terms: Sequence[tuple[Hashable, T]],
    meets: Callable[[T, T], bool],
    conflict: Callable[[T, T], R | None],
) -> tuple[list[Clash[T, R]], list[Tie[T]]]:
    """What follows from these terms being in one place: each is given with its own place, and the
    strongest stand first.

    `meets`: whether two come together at all, as two alternatives of one value do not. `conflict`:
    why two can't be in one place, the weaker given first; None if they can.

    A term that clashes is told with the strongest that it clashes with, or with each of several of
    which only one is there at a time. It asks nothing of what comes together with those. Ties are
    as few as say the same: of three terms that may all be one, two.
    """
    clashes: list[Clash[T, R]] = []
    ties: list[Tie[T]] = []
    before: dict[Hashable, _Groups[T]] = {}
    classes = _Classes()
    for number, (place, term) in enumerate(terms):
        clashing: _Numbered[T] = {}
        met = _strongest_in_each_place(term, before, meets)
        for there, (its, other) in met.items():
            if there == place or any(meets(other, told) for told in clashing.values()):
                continue
            reason = conflict(term, other)
            if reason is not None:
                clashes.append(Clash(term, other, reason))
                clashing[its] = other
        if not clashing:
            for there, (its, other) in met.items():
                if classes.join(number, its) and there != place:
                    ties.append(Tie(term, other))
        groups = before.setdefault(place, {})
        groups.setdefault(tuple(clashing), (clashing, {}))[1][number] = term
    return clashes, ties


_Numbered: TypeAlias = dict[int, T]
# The terms in one place, in groups by what they clash with: where that is, they ask nothing.
_Groups: TypeAlias = dict[tuple[int, ...], tuple[_Numbered[T], _Numbered[T]]]


def _strongest_in_each_place(
    term: T, before: dict[Hashable, _Groups[T]], meets: Callable[[T, T], bool]
) -> dict[Hashable, tuple[int, T]]:
    found: dict[Hashable, tuple[int, T]] = {}
    for place, groups in before.items():
        for clashing, held in groups.values():
            if any(meets(term, other) for other in clashing.values()):
                continue
            first = next((each for each in held.items() if meets(term, each[1])), None)
            if first is not None and (place not in found or first[0] < found[place][0]):
                found[place] = first
    return found


@dataclass(slots=True)
class _Classes:
    """Terms that are one place, as far as is known: union-find."""

    above: dict[int, int] = field(default_factory=dict)

    def join(self, a: int, b: int) -> bool:
        """Make the classes of both one; False if they are."""
        a, b = self._class(a), self._class(b)
        if a != b:
            self.above[a] = b
        return a != b

    def _class(self, number: int) -> int:
        while number in self.above:
            number = self.above[number]
        return number
