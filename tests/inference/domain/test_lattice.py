"""Abstract values form a lattice: its laws, for each class of values."""

import libcst as cst
import pytest
from abstract_values import CLASSES, ONE, any_value, subclasses
from hypothesis import given as forall
from hypothesis import settings
from hypothesis import strategies as st

from devlint.inference.domain import containers, host, tensors
from devlint.inference.domain import value as lattice
from devlint.inference.domain.placement import CPU, CUDA
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import (
    MAX_DEPTH,
    TOP,
    UNKNOWN,
    Union,
    Value,
    cases,
    covers,
    cut,
    join,
    join_branches,
    union,
)
from devlint.inference.program import values
from devlint.inference.program.type_expressions import TypeExpression


def content(value, depth=MAX_DEPTH):
    """All that the lattice tells of a value: equal for values that say the same."""
    value = value.resolved()
    tell = CONTENTS.get(type(value))
    return (type(value), id(value) if tell is None else tell(value, depth))


def of_tensor(value, depth):
    evidence = value.evidence
    if evidence is None or evidence.is_tensor:
        kind = "shown" if evidence else "sure"
    else:
        kind = "host" if evidence.is_host else "open"
    return value.place, value.traits, kind, frozenset(value.when)


def of_host(value, depth):
    special = id(value) if value in (host.GLOBAL_RANK, host.DTYPE) else None
    return value.array, id(value.sizes), value.whole, special


def of_part(value, depth):
    return None if value is None or depth <= 0 else content(value, depth - 1)


def of_sequence(value, depth):
    if not depth:
        return None
    items = None if value.items is None else tuple(of_part(item, depth) for item in value.items)
    return value.kind, items, of_part(value.element, depth), value.names, value.mixed


def of_mapping(value, depth):
    if not depth:
        return None
    entries = {(key, of_part(entry, depth)) for key, entry in value.entries.items()}
    return frozenset(entries), of_part(value.element, depth)


def of_object(value, depth):
    if value.info is None:
        return id(value) if value.tensor is None else (value.library, content(value.tensor, depth))
    kind = id(value.info), value.library, value.module, value.place
    if value.module or not depth:
        return kind
    given = {(variable, tensor.place) for variable, tensor in (value.given or {}).items()}
    return *kind, content(value.fields, depth), frozenset(given)


CONTENTS = {  # a value of another class says nothing but that it is itself
    tensors.Tensor: of_tensor,
    host.Const: lambda v, _: (type(v.value), repr(v.value), v is host.ASSUMED),
    host.Host: of_host,
    host.DeviceValue: lambda v, _: (v.place, id(v.of), v.sure, v.one_of),
    host.External: lambda v, _: v.name,
    containers.NamedTuple: lambda v, _: v.names,
    containers.Sequence: of_sequence,
    containers.Mapping: of_mapping,
    containers.Loader: lambda v, depth: of_part(v.batch, depth),
    lattice.Union: lambda v, depth: frozenset(
        (content(each, depth), frozenset(when)) for each, when in cases(v)
    ),
    values.ProjectModule: lambda v, _: id(v.unit),
    values.FunctionValue: lambda v, _: (id(v.function), id(v.bound), id(v.given)),
    values.ClassValue: lambda v, _: id(v.info),
    values.Instance: of_object,
    values.Placed: lambda v, _: v.place,
    values.Optimizer: lambda v, _: (id(v.module), id(v.origin.node)),
    values.Parameters: lambda v, depth: (id(v.module), content(v.tensor, depth)),
    values.Method: lambda v, depth: (v.name, of_part(v.receiver, depth)),
    values.Generator: lambda v, _: v.place,
    values.Super: lambda v, _: (id(v.info), id(v.instance)),
    values.Contract: lambda v, _: repr(v.requirement),
    TypeExpression: lambda v, _: (id(v.node), id(v.frame)),
}


def leq(a, b):
    """`a` says as much as `b`, or more."""
    return content(join(a, b)) == content(b)


def widen(old, new):
    """The join of two values of one name at the head of a loop, no deeper than the limit."""
    return cut(join(old, new))


def test_the_laws_are_tested_for_every_class_of_values():
    assert subclasses(Value) - {Value, containers.Container} == set(CLASSES)


each_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
often = settings(max_examples=25)


@each_class
@often
@forall(data=st.data())
def test_join_is_idempotent(kind, data):
    a = data.draw(CLASSES[kind])
    assert content(join(a, a)) == content(a)
    assert content(union((a, a))) == content(a)


@each_class
@often
@forall(data=st.data())
def test_join_is_commutative(kind, data):
    a, b = data.draw(CLASSES[kind]), data.draw(CLASSES[kind] | any_value)
    assert content(join(a, b)) == content(join(b, a))


@each_class
@often
@forall(data=st.data())
def test_join_is_associative(kind, data):
    same = CLASSES[kind]
    a, b, c = data.draw(same), data.draw(same | any_value), data.draw(same | any_value)
    assert content(join(join(a, b), c)) == content(join(a, join(b, c)))


@each_class
@often
@forall(data=st.data())
def test_join_is_an_upper_bound(kind, data):
    a, b = data.draw(CLASSES[kind]), data.draw(CLASSES[kind] | any_value)
    both = join(a, b)
    assert leq(a, both)
    assert leq(b, both)


@each_class
@often
@forall(data=st.data())
def test_leq_is_a_partial_order(kind, data):
    a, b, c = (data.draw(CLASSES[kind]) for _ in range(3))
    assert leq(a, a)
    if leq(a, b) and leq(b, a):
        assert content(a) == content(b)
    if leq(a, b) and leq(b, c):
        assert leq(a, c)


@each_class
@often
@forall(data=st.data())
def test_after_a_join_neither_of_the_two_is_news(kind, data):
    """A loop whose head holds both walks no further for either."""
    a, b = data.draw(CLASSES[kind]), data.draw(CLASSES[kind] | any_value)
    assert covers(join(a, b), a)
    assert covers(join(a, b), b)


@settings(max_examples=100)
@forall(st.lists(any_value, min_size=1, max_size=6))
def test_widening_comes_to_an_end(turns):
    """However a loop goes on with the values, and whatever it wraps them in."""
    held = turns[0]
    wraps = [
        lambda v: v,
        lambda v: containers.Sequence([v]),
        lambda v: containers.Mapping({"next": v}),
        lambda v: containers.Loader(v),
    ]
    changes = 0
    for turn in range(60):
        new = wraps[turn % len(wraps)](join(held, turns[turn % len(turns)]))
        wider = widen(held, new)
        changes += content(wider) != content(held)
        held = wider
    assert changes <= 30


@forall(any_value, any_value)
def test_widening_says_no_more_than_either(a, b):
    wider = widen(a, b)
    assert leq(a, wider) or wider is TOP
    assert leq(b, wider) or wider is TOP


def test_more_alternatives_than_are_told_apart_stay_untold():
    many = union(host.Const(n) for n in range(5))
    assert many is TOP
    assert join(many, Tensor(CPU)) is TOP


def test_beside_an_unknown_alternative_the_other_is_still_seen():
    assert isinstance(join(UNKNOWN, Tensor(CPU)), Union)


def test_branches_leave_the_moved_of_two_and_a_join_keeps_both():
    made = Tensor(CPU, Provenance(StepKind.CREATED, cst.Name("x"), ONE))
    moved = made.with_place(CUDA, Provenance(StepKind.MOVED, cst.Name("y"), ONE, made.origin))
    assert isinstance(join(made, moved), Union)
    for left in (join_branches(made, moved), join_branches(moved, made)):
        assert isinstance(left, Tensor)
        assert left.place is CUDA


@pytest.mark.parametrize("known", [UNKNOWN, Tensor(CPU), join(UNKNOWN, Tensor(CPU))])
def test_a_method_of_too_much_to_tell_apart_is_one_of_too_many_values(known):
    overflown = values.Method(TOP, "to")
    assert content(overflown) == content(TOP)
    assert join(values.Method(known, "to"), overflown) is TOP
    assert leq(values.Method(known, "to"), overflown)


# --- narrowing -----------------------------------------------------------------------------------


@forall(any_value, st.booleans())
def test_a_value_on_one_side_is_one_of_its_alternatives(value, host):
    narrowed = tensors.on_side(value, host)
    assert covers(value, narrowed)
    assert tensors.on_side(narrowed, host) is narrowed


@forall(st.booleans())
def test_of_a_tensor_here_and_one_there_a_test_leaves_one(host):
    here, there = Tensor(CPU), Tensor(CUDA)
    assert tensors.on_side(union([here, there]), host) is (here if host else there)
    assert tensors.on_side(there, host=True) is there, "the code knows more"
