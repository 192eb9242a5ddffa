"""The state at a place: branches fork it, and it is joined where they meet."""

from __future__ import annotations

from devlint.inference.domain.host import FALSE, NONE, TRUE
from devlint.inference.domain.path_conditions import Predicate
from devlint.inference.domain.value import alternatives
from devlint.inference.program.state import State


def test_what_a_branch_binds_is_not_bound_beside_it() -> None:
    here = State({"x": NONE})
    branch = here.fork()
    branch.bind("x", TRUE)
    branch.bind("y", TRUE)
    assert here.env == {"x": NONE}
    assert here.fork().env == {"x": NONE}


def test_behind_two_branches_a_name_holds_what_either_left() -> None:
    here = State({"x": NONE, "y": NONE})
    choice = Predicate()
    taken, untaken = here.fork(), here.fork()
    taken.bind("x", TRUE)
    untaken.bind("x", FALSE)
    taken.join(untaken, (((choice, True, 0),), ((choice, False, 0),)))
    assert set(alternatives(taken.env["x"])) == {TRUE, FALSE}
    assert taken.env["y"] is NONE


def test_a_time_is_given_once_in_all_branches() -> None:
    here = State({})
    taken, untaken = here.fork(), here.fork()
    taken.forget_tests("x")
    untaken.forget_tests("x")
    assert taken.bound["x"] != untaken.bound["x"]


def test_behind_two_branches_a_name_is_as_old_as_its_last_binding_in_either() -> None:
    here = State({})
    here.forget_tests("x")
    here.forget_tests("y")
    taken, untaken = here.fork(), here.fork()
    taken.forget_tests("x")
    last = taken.bound["x"]
    assert untaken.bound["x"] < last  # a test there is still one of what `x` held before
    untaken.join(taken)
    assert untaken.bound["x"] == last
    assert untaken.bound["y"] == here.bound["y"]


def test_a_turn_begins_with_other_names_and_goes_on_with_the_ages_of_those_before() -> None:
    here = State({"x": NONE})
    here.forget_tests("x")
    turn = here.fork({"x": TRUE})
    assert turn.env["x"] is TRUE
    assert turn.bound == here.bound
    assert here.env["x"] is NONE
