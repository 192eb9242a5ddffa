"""What stands in for a value until there is one, or for a case that is told elsewhere."""

import pytest
from given import given, meetings, met, plain_attributes


@pytest.mark.parametrize("empty", ["torch.empty(0)", "torch.Tensor()", "torch.tensor([])"])
def test_a_placeholder_never_gets_into_a_module(empty):
    code = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 3)

    def forward(self, xs):
        last = {empty}
        for x in xs:
            last = self.head(x)
        return self.head(last)
"""
    assert met(code) == []


def test_what_has_elements_does():
    code = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 3)

    def forward(self, xs):
        last = torch.zeros(1, 3)
        for x in xs:
            last = self.head(x)
        return self.head(last)
"""
    assert met(code) == ["input: last@cpu self.head self.head@δ(self) likely"]


LEVELS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = [torch.{made}] * 3

    def forward(self, x):
        {forward}
        return x + self.levels[0]
"""


def test_a_list_of_placeholders_that_forward_refills():
    found = given(LEVELS.format(made="zeros(1)", forward="self.levels[0] = x.mean(0)"))
    assert (meetings(found), plain_attributes(found)) == ([], [])


@pytest.mark.parametrize(
    ("made", "forward"),
    [("zeros(1)", "pass"), ("zeros(3, 3)", "self.levels[0] = x.mean(0)")],
)
def test_a_list_that_nobody_refills_or_that_holds_more(made, forward):
    found = given(LEVELS.format(made=made, forward=forward))
    assert plain_attributes(found) == ["Net.levels@cpu"]
    assert len(meetings(found)) == 1


def test_a_return_that_is_out_of_place_is_told_once():
    code = """
def scores(x: torch.Tensor, weights: torch.Tensor = None):
    if weights is None:
        return torch.zeros(3, 3)
    return x @ weights

def loss(x, weights):
    return (x - scores(x, weights)).sum()
"""
    assert met(code) == [
        "return: return torch.zeros(3, 3)@cpu return return x @ weights@δ(x) possible"
    ]


def test_what_is_returned_in_any_case_is_told_where_it_meets():
    code = """
def scores(x):
    return torch.zeros(3, 3)

def loss(x):
    return (x.detach() - scores(x)).sum()
"""
    assert met(code) == ["scores(x)@cpu - x.detach()@δ(x) likely"]
