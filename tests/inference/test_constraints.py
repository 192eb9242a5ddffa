"""Constraints: whether terms can be in one place, in whatever order they come."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from given import given
from hypothesis import given as forall
from hypothesis import strategies as st

from devlint.inference.domain.placement import CPU, CUDA, Device, Placement, Variable, VariableKind
from devlint.inference.models.unification.constraints import solve

SELF = Variable("self", VariableKind.MODULE)
INPUT = Variable("x", VariableKind.INPUT)
OTHER = Variable("y", VariableKind.INPUT)


class Term(NamedTuple):
    place: Placement
    operand: int  # those of one operand are its alternatives, and do not meet


def meets(a: Term, b: Term) -> bool:
    return a.operand != b.operand


def conflict(a: Term, b: Term) -> str | None:
    """Two known devices that differ, or the host and what somebody else chooses."""
    if isinstance(a.place, Device) and isinstance(b.place, Device):
        return None if a.place == b.place else "differ"
    return "rigid" if CPU in (a.place, b.place) and a.place != b.place else None


def solved(terms):
    return solve([(term.place, term) for term in terms], meets, conflict)


def told(terms):
    clashes, ties = solved(terms)
    return (
        {(c.odd.place, c.other.place, c.reason) for c in clashes},
        {(t.term.place, t.other.place) for t in ties},
    )


places = st.sampled_from([CPU, CUDA, Device("cuda", 1), SELF, INPUT, OTHER])
terms = st.builds(Term, places, st.integers(0, 3))
lists = st.lists(terms, max_size=6)


@forall(lists)
def test_there_is_a_clash_where_two_that_meet_are_in_conflict(found):
    clashes, _ = solved(found)
    pairs = combinations(found, 2)
    assert bool(clashes) == any(meets(a, b) and conflict(a, b) is not None for a, b in pairs)


@forall(lists, st.randoms())
def test_whether_there_is_a_clash_does_not_go_by_the_order(found, random):
    shuffled = random.sample(found, len(found))
    assert bool(solved(found)[0]) == bool(solved(shuffled)[0])


@forall(lists)
def test_a_clash_is_of_exactly_two_terms_that_meet_and_the_weaker_is_the_odd_one(found):
    for clash in solved(found)[0]:
        assert meets(clash.odd, clash.other)
        assert conflict(clash.odd, clash.other) == clash.reason
        assert found.index(clash.other) < len(found) - found[::-1].index(clash.odd) - 1


@forall(lists)
def test_terms_that_come_again_say_nothing_new(found):
    assert told([term for term in found for _ in range(2)])[0] == told(found)[0]


@forall(lists)
def test_without_the_odd_ones_the_others_agree(found):
    odd = [clash.odd for clash in solved(found)[0]]
    assert not solved([term for term in found if term not in odd])[0]


@forall(lists)
def test_other_names_of_the_variables_change_nothing(found):
    names = {SELF: Variable("net", VariableKind.MODULE), INPUT: OTHER, OTHER: INPUT}

    def renamed(place):
        return names.get(place, place)

    clashes, ties = told([term._replace(place=renamed(term.place)) for term in found])
    before = told(found)
    assert clashes == {(renamed(a), renamed(b), why) for a, b, why in before[0]}
    assert ties == {(renamed(a), renamed(b)) for a, b in before[1]}


@forall(lists)
def test_ties_are_of_terms_that_meet_and_agree(found):
    for tie in solved(found)[1]:
        assert meets(tie.term, tie.other)
        assert conflict(tie.term, tie.other) is None


@forall(lists)
def test_where_nothing_clashes_ties_hold_together_all_that_meet(found):
    clashes, ties = solved(found)
    if clashes:
        return
    classes = [{place} for place in {term.place for term in found}]
    for tie in ties:
        one = next(each for each in classes if tie.term.place in each)
        other = next(each for each in classes if tie.other.place in each)
        if one is not other:
            one |= other
            classes.remove(other)
    for a, b in combinations(found, 2):
        if meets(a, b):
            assert any({a.place, b.place} <= each for each in classes)


@forall(lists)
def test_a_term_clashes_with_several_only_if_these_never_meet(found):
    for one, other in combinations(solved(found)[0], 2):
        assert one.odd is not other.odd or not meets(one.other, other.other)


def test_two_cards_clash_beside_a_module_that_may_be_on_either():
    code = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self):
                one = torch.ones(3, device="cuda:0")
                other = torch.ones(3, device="cuda:1")
                return torch.cat([{}])
    """
    cards = {"cuda:0", "cuda:1"}
    for order in ("self.fc.weight, one, other", "other, self.fc.weight, one"):
        found = given(code.format(order)).meetings
        assert [{str(m.left.placement), str(m.right.placement)} for m in found] == [cards]


def test_a_fixed_card_says_more_than_the_current_one():
    for order in ("a, b, c", "a, c, b", "b, a, c", "c, a, b", "b, c, a", "c, b, a"):
        code = f"""
            a = torch.ones(3, device="cuda")
            b = torch.ones(3, device="cuda:0")
            c = torch.ones(3, device="cuda:1")
            torch.cat([{order}])
        """
        assert () in [m.assumptions for m in given(code).meetings], order
