"""Conditions on attributes: how the tests on what an object keeps came out, the same for each of
its methods.

    def __init__(self, kind, net):
        self.kind = kind
        if kind == "torch":            # "kind" is "torch"
            net = net.cuda()
        self.net = net

    def predict(self, x):
        if self.kind == "flax":        # "kind" is "flax": the net was not moved
            return self.net(x).numpy()

The constructor's parameter goes by the name of the attribute that it is kept in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from devlint.inference.domain.path_conditions import (
    ALWAYS,
    NamedLiteral,
    PathCondition,
    Predicate,
    both,
)
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, cases
from devlint.inference.program import tests
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import Instance


def facts(frame: Frame) -> frozenset[NamedLiteral]:
    """What the tests around a place say, as far as their subjects are still what they were."""
    return _named(frame, frame.state.when)


def by_facts(
    frame: Frame, value: Value, around: frozenset[NamedLiteral]
) -> list[tuple[Value, frozenset[NamedLiteral]]]:
    """The alternatives of what an attribute is given, each with what the tests say under which it
    came about, or was moved, besides those around the assignment."""
    found = []
    for each, when in cases(value):
        origin = each.origin if type(each) is Tensor or type(each) is Instance else None
        moved = ALWAYS if origin is None else both(origin.when, origin.assumed)
        found.append((each, around | _named(frame, both(when, moved))))
    return found


def asked(frame: Frame) -> Callable[[frozenset[NamedLiteral]], PathCondition]:
    """What gives the part of such facts on what a function has asked, too: as conditions in it."""
    own = {_as_kept(p.subject): p for p in frame.state.choices.values() if _is_same(frame, p)}
    return lambda facts: tuple((own[on], is_so, v) for on, is_so, v in facts if on in own)


def _is_same(frame: Frame, predicate: Predicate) -> bool:
    """Its subject has a name, and is still what it was."""
    return bool(predicate.names) and not predicate.inner and tests.is_current(frame, predicate)


def _named(frame: Frame, when: PathCondition) -> frozenset[NamedLiteral]:
    return frozenset(
        (_as_kept(predicate.subject), is_so, value)
        for predicate, is_so, value in when
        if _is_same(frame, predicate)
    )


def _as_kept(subject: Hashable) -> Hashable:
    if isinstance(subject, tuple):
        return tuple(map(_as_kept, subject))
    return subject.removeprefix("self.") if isinstance(subject, str) else subject
