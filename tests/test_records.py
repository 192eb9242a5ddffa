"""Records behave as what the type checker takes them for."""

from __future__ import annotations

import copy
import pickle
from dataclasses import field, fields, replace

import pytest

from devlint.records import NamedTuple, dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """From where to where, and what it was called."""

    start: int
    end: int = 9
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        assert self.start <= self.end


@dataclass(frozen=True, slots=True)
class Tagged(Span):
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class Count:
    of: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Own:
    count: int

    def __repr__(self) -> str:
        return f"own {self.count}"


class Pair(NamedTuple):
    """Two."""

    left: int
    right: str = "r"

    @property
    def both(self) -> str:
        return f"{self.left}{self.right}"


def test_objects_are_equal_where_what_is_compared_is() -> None:
    assert Span(1, 2, "a") == Span(1, 2, "b") != Span(1, 3)
    assert {Span(1, 2, "a"), Span(1, 2, "b")} == {Span(1, 2)}
    assert Span(1, 2) != (1, 2)
    assert Own(1) != Own(1)


def test_objects_have_the_order_of_their_fields() -> None:
    assert sorted([Span(2), Span(1, 3), Span(1, 2)]) == [Span(1, 2), Span(1, 3), Span(2)]
    assert Span(1, 2) <= Span(1, 2) < Span(1, 3) > Span(1, 2) >= Span(1, 2)


def test_fields_are_given_or_have_their_defaults() -> None:
    assert Span(1).end == 9
    assert replace(Span(1, 2), end=5) == Span(1, 5)
    assert Tagged(1, tags=("a",)).end == 9
    assert Count().of == []
    assert [each.name for each in fields(Tagged)] == ["start", "end", "name", "tags"]
    with pytest.raises(AssertionError):
        Span(2, 1)
    with pytest.raises(TypeError):
        Span()  # type: ignore[call-arg]


def test_objects_are_shown_with_their_fields() -> None:
    assert repr(Span(1, 2, "a")) == "Span(start=1, end=2, name='a')"
    assert repr(Own(3)) == "own 3"


def test_objects_are_copied_and_sent() -> None:
    for each in (Span(1, 2, "a"), Pair(1)):
        assert pickle.loads(pickle.dumps(each)) == copy.copy(each) == each


def test_what_can_change_has_no_hash() -> None:
    with pytest.raises(TypeError):
        hash(Count())


def test_tuples_have_names_defaults_and_methods() -> None:
    assert Pair(1) == (1, "r")
    assert Pair(left=2, right="s").both == "2s"
    assert Pair(1)._replace(left=3) == Pair(3)
    assert Pair.__doc__ == "Two."
    assert Pair.__annotations__ == {"left": "int", "right": "str"}
