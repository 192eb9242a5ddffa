"""`hasattr(self, "x")` is no question where nothing in sight sets `x`."""

import pytest
from given import met

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
