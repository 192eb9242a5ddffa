"""What a caller moved is a tensor where its callee computes with it; and a contradiction that is
only possible in a callee is left to the calls that say more."""

import pytest
from given import met

HELPER = """
def scaled(rows, weight, near):
    steps = torch.linspace(0.0, 1.0, 4)
    return {made}

def use(rows, weight):
    rows = rows.to("cuda")
    scaled({given}, weight, 2.0)
"""


@pytest.mark.parametrize("made", ["rows * steps", "rows[0] + steps", "rows * (near * steps)"])
def test_arithmetic_of_a_callee_shows_what_its_caller_moved(made):
    (found,) = met(HELPER.format(made=made, given="rows"))
    assert "cpu" in str(found) and "cuda" in str(found)


@pytest.mark.parametrize(
    "made, given",
    [("rows.weight * steps", "rows"), ("rows * steps", "weight"), ("rows(steps)", "rows")],
    ids=["an attribute may be a module's", "nobody moved it", "it is called: a module"],
)
def test_nothing_is_shown_of_what_is_no_operand(made, given):
    assert met(HELPER.format(made=made, given=given)) == []
