"""`hasattr(self, "x")` is no question where nothing in sight sets `x`."""

import pytest
from given import given, met

ASKING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        {set}

    def forward(self, x):
        x = self.linear(x)
        if hasattr(self, "offset"):
            x = x + torch.ones(3)
        return x
"""


@pytest.mark.parametrize(
    ("sets", "found"),
    [
        ("pass", 0),
        ("self.offset = 1", 1),
        ('self.register_buffer("offset", torch.ones(3))', 1),
        ('setattr(self, "off" + "set", 1)', 1),
    ],
)
def test_a_branch_that_nothing_comes_to(sets, found):
    assert len(met(ASKING.replace("{set}", sets))) == found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("self.grow(3)", 0),  # where it is made anew it is there already
        ("self.rows = nn.Parameter(torch.ones(3))", 0),
        ("if wide: self.grow(3)", 1),
        ("self.grow(3); del self.rows", 1),
    ],
)
def test_what_the_constructor_sets_is_there_from_then_on(made, found):
    code = f"""
    class Table(nn.Module):
        def __init__(self, wide):
            super().__init__()
            {made}

        def grow(self, count):
            rows = torch.randn(count)
            if hasattr(self, "rows"):
                rows = rows.to(self.rows.device)
            self.rows = nn.Parameter(rows)

        def forward(self, x):
            self.grow(len(x))
            return x + self.rows
    """
    facts = given(code)
    assert len([a for a in facts.plain_attributes if a.overwrites == "parameter"]) == found


def test_an_attribute_that_others_set():
    code = ASKING.replace("{set}", "pass") + "\nnet = Net()\nnet.offset = 1\n"
    assert len(met(code)) == 1


def test_a_base_out_of_sight_may_set_it():
    code = "from zoo import Base\n" + ASKING.replace("{set}", "pass").replace("nn.Module", "Base")
    assert len(met(code)) == 1


@pytest.mark.parametrize(
    ("base", "held", "found"),
    [("nn.Module", "probs", 0), ("Base, nn.Module", "probs", 1), ("nn.Module", "prob", 1)],
)
def test_where_it_would_be_says_nothing(base, held, found):
    code = f"""
from zoo import Base

class Sampler({base}):
    def __init__(self):
        super().__init__()
        self.{held} = torch.ones(3)
        self.weight = nn.Parameter(torch.ones(3))

    def draw(self):
        rows = torch.zeros(2, dtype=torch.long, device=self.{{asked}}.device)
        return self.{held}.index_select(0, rows)
"""
    asked = "prob" if held == "probs" else "weight"
    assert len(met(code.format(asked=asked))) == found
