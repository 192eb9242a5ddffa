"""Attributes that several suites assign: which of their values belong together.

    if train:
        self.mask, self.scale = torch.ones(3), torch.ones(1)
    else:
        self.mask, self.scale = None, None

The mask of one suite never meets the scale of the other, nor another mask. Nor does what a method
moved meet what was there before, where it moves all of them.
"""

from __future__ import annotations

import functools

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.path_conditions import (
    ALWAYS,
    STATE,
    PathCondition,
    Predicate,
    both,
    differ,
    either,
)
from devlint.inference.domain.tensors import EMPTY, Tensor
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    cases,
    choose,
    merge,
    under,
    union,
)
from devlint.inference.program import attribute_conditions
from devlint.inference.program.attribute_notes import Written
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import code, dotted, every


def held_under(frame: Frame, info: ClassInfo, name: str, found: Value) -> Value:
    """What `self.name` holds where conditions came out as they did when it was assigned. Where they
    never did, nothing in sight says what it holds."""
    if not frame.state.when:
        return found
    written = _written(info, name)
    if not any(each.facts for each in written):
        return found
    facts = attribute_conditions.facts(frame)
    fitting = [each.value for each in written if not differ(each.facts, facts)]
    return union(fitting) if len(fitting) < len(written) else found


def as_tested(frame: Frame, info: ClassInfo, name: str, found: Value) -> Value:
    """The alternatives of an attribute, each where the tests that this function made came out as
    they did where it was assigned: `self.table` of `a if self.is_small() else b` beside what
    another `if self.is_small():` made."""
    if type(found) is not Union or not frame.state.choices:
        return found
    assigned = _written(info, name)
    if not any(each.facts for each in assigned):
        return found
    asked = attribute_conditions.asked(frame)
    written = [(each.value, asked(each.facts)) for each in assigned]
    if not any(when for _, when in written):
        return found
    told = []
    for value, meanwhile in cases(found):
        own = [when for left, when in written if merge(value, left) is not None]
        known = functools.reduce(either, own) if own else ALWAYS
        told.append((under(value, known), both(meanwhile, known)))
    return choose(told)


def _written(info: ClassInfo, name: str) -> list[Written]:
    """What the assignments to an attribute left, inherited ones included."""
    return [each for base in info.lineage() for each in base.branches.get(name, ())]


def told_apart(info: ClassInfo, name: str, found: Value) -> Value:
    """The alternatives of an attribute, each with the fact which suite left it there: an object is
    in one state at a time, so what one suite left never meets what another did, in this attribute
    or in one that is always assigned beside it."""
    if type(found) is not Union or found is not info.attributes.get(name):
        return found
    suites = _suites_of(info, name)
    if len(suites) < 2:
        return _each_apart(info, name, found)
    choice = info.together.setdefault(suites, Predicate())
    by_source: dict[cst.CSTNode, cst.BaseSuite] = {v: suite for suite, v in info.assigned[name]}
    together = _moved_together(info, suites)
    left = []
    for each in info.branches.get(name, ()):
        suite = by_source.get(each.source)
        value, when = each.value, ALWAYS
        if suite in suites:
            when = ((choice, True, suite),)
        elif each.method in together:
            when = ((choice, True, each.method),)
            value = value.with_facts(lambda facts: _without(facts, choice))
        left.append((under(value, when), when))
    return _each_apart(info, name, choose(left))


def _each_apart(info: ClassInfo, name: str, found: Value) -> Value:
    """The alternatives of an attribute, of which an object has one at a time: also those of one
    suite, as a helper returns them, and those that are kept in different ways."""
    if len({each.place for each in alternatives(found) if type(each) is Tensor}) < 2:
        return found
    state = info.states.setdefault(name, Predicate(subject=STATE))
    apart = ((v, both(when, ((state, True, i),))) for i, (v, when) in enumerate(cases(found)))
    return choose((under(value, when), when) for value, when in apart)


def _without(facts: PathCondition, choice: Predicate) -> PathCondition:
    """What was so before a method brought an object from one state to another."""
    return tuple(fact for fact in facts if fact[0] is not choice)


def _moved_together(info: ClassInfo, suites: frozenset[cst.BaseSuite]) -> frozenset[str]:
    """The methods that make a value of what was there before for each of the attributes which
    these suites assign: `self.mean, self.moment = self.mean.to(d), self.moment.to(d)`."""
    anew = {method for method, suite in _suites_by_method(info) if suite in suites}
    found: list[frozenset[str]] = []
    for name in _assigned_with(info, suites):
        moving = frozenset(info.writers.get(name, ())) - anew
        if moving or _holds_tensor(info, name):  # a count is moved by nobody
            found.append(moving)
    return frozenset.intersection(*found) if len(found) > 1 else frozenset()


def _holds_tensor(info: ClassInfo, name: str) -> bool:
    held = alternatives(info.attributes.get(name, UNKNOWN))
    return any(type(each) is Tensor and each.is_sure for each in held)


def _suites_by_method(info: ClassInfo) -> list[tuple[str, cst.BaseSuite]]:
    """The suites of a class that assign attributes, with the methods they are in."""
    if not info.suites:
        assigning = {suite for assigned in info.assigned.values() for suite, _ in assigned}
        for name, method in info.methods.items():
            own = (
                *every(method.node, cst.IndentedBlock),
                *every(method.node, cst.SimpleStatementSuite),
            )
            info.suites += [(name, suite) for suite in own if suite in assigning]
    return info.suites


def stands_in(info: ClassInfo, name: str, value: Tensor, source: cst.CSTNode) -> bool:
    """An attribute begins with nothing, and is given its content later: a tensor without
    elements where the class asks for that, or one of memory that nobody has written to."""
    if value.traits & EMPTY:
        return _awaits(info, name)
    is_unwritten = isinstance(source, cst.Call) and dotted(source.func) == "torch.empty"
    return is_unwritten and len(_suites_of(info, name)) > 1


def _awaits(info: ClassInfo, name: str) -> bool:
    """The class gives an attribute its content later, and asks whether that has been: of the
    attribute itself, or of one that always gets its own with it."""
    suites = _suites_of(info, name)
    if len(suites) < 2:
        return False
    return any(
        holds("emptiness-test", info.text, f"self.{n}") for n in _assigned_with(info, suites)
    )


def _assigned_with(info: ClassInfo, suites: frozenset[cst.BaseSuite]) -> list[str]:
    """The attributes to which these suites give a value of their own, and no other ones."""
    if not info.alike:
        for name in info.assigned:
            info.alike.setdefault(_suites_of(info, name), []).append(name)
    return info.alike.get(suites, [])


def _suites_of(info: ClassInfo, name: str) -> frozenset[cst.BaseSuite]:
    """The suites that give an attribute a value of its own, not computed of the one before."""
    suites = info.sets.get(name)
    if suites is None:
        assigned = info.assigned.get(name, ())
        suites = frozenset(
            suite for suite, value in assigned if not holds("mention", code(value), f"self.{name}")
        )
        info.sets[name] = suites
    return suites
