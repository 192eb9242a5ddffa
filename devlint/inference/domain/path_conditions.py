"""Path conditions: which way the tests came out under which a value came about.

    if to_numpy:
        rows = rows.cpu()
    …
    if to_numpy:
        rows.numpy()

Behind the first `if`, `rows` is one of two; only one of them is there in the second. Where branches
join, each side's alternatives keep the condition of their side, and whatever is computed of them
keeps it as well. Two values with contrary conditions never meet, nor does a value in a branch
contrary to it.

This is the algebra alone: which predicate a test is on is for the interpreter to say.
"""

from __future__ import annotations

from collections.abc import Hashable

from devlint.records import dataclass

MAX_FACTS = 12  # that one value keeps: the latest


MAX_AROUND = 16  # that are known of one place in the code


@dataclass(slots=True, eq=False, repr=False)
class Predicate:
    """The subject of a test, as it was when the test was made: the same object for the same
    subject, as long as none of its names is bound anew.

    `born`: when the last of them was bound; `inner`: a callee made the test.
    """

    born: int = 0
    inner: bool = False
    subject: Hashable = None
    names: tuple[str, ...] = ()


Literal = tuple[Predicate, bool, Hashable]  # it was, or was not, this value


PathCondition = tuple[Literal, ...]  # all of these


Sides = tuple[PathCondition, PathCondition]  # of a test that came out true, and one that did not


ALWAYS: PathCondition = ()


TRUE = "true"


STATE = frozenset({"state"})  # the subject of a predicate: which of its values an attribute has


def is_of_state(when: PathCondition) -> bool:
    """A value is one of several that an object may keep, by what it was made with."""
    return any(predicate.subject == STATE for predicate, _, _ in when)


def exclude(a: PathCondition, b: PathCondition) -> bool:
    """The two never hold together."""
    return contrary(a, b) is not None


def contrary(a: PathCondition, b: PathCondition) -> Predicate | None:
    """The predicate on which the two differ, if they never hold together."""
    for predicate, is_so, value in a:
        for other, other_is_so, other_value in b:
            if predicate is other and _differ(is_so, value, other_is_so, other_value):
                return predicate
    return None


def _differ(is_so: bool, value: Hashable, other_is_so: bool, other: Hashable) -> bool:
    """One subject is not both: this value, or any but that."""
    return (is_so or other_is_so) and (value == other) is not (is_so is other_is_so)


# The same of a subject that is known by its name alone, in other functions, too.
NamedLiteral = tuple[Hashable, bool, Hashable]


def differ(some: frozenset[NamedLiteral], others: frozenset[NamedLiteral]) -> bool:
    """The two never hold together."""
    return any(
        subject == other and _differ(is_so, value, other_is_so, its)
        for subject, is_so, value in some
        for other, other_is_so, its in others
    )


def both(a: PathCondition, b: PathCondition, limit: int = MAX_FACTS) -> PathCondition:
    """The condition of a value that takes both."""
    if not b or a is b:
        return a
    if not a:
        return b
    return (*(fact for fact in a if fact not in b), *b)[-limit:]


def either(a: PathCondition, b: PathCondition) -> PathCondition:
    """The condition of a value that is the one or the other."""
    if a is b or not a:
        return a
    return tuple(fact for fact in a if fact in b)


def lasting(when: PathCondition, since: int) -> PathCondition:
    """The part on predicates that are older: it holds for every turn of a loop that began then."""
    return tuple(fact for fact in when if fact[0].born <= since)
