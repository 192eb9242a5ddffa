"""An object is in one state at a time: of the values that an attribute may have, none meets
another one, and an error that rests on which of them it is is no certain one."""

import pytest
from given import given, met

GRID = """
class Field(nn.Module):
    def __init__(self, kind, count):
        super().__init__()
        self.kind = kind
        if kind == "learnt" or count == 0:
            self.grid = self.build()
        else:
            self.register_buffer("grid", self.build().float())
        self.steps = nn.Parameter(torch.zeros(3)) if count else None

    def build(self):
        if self.kind == "learnt":
            return nn.Parameter(torch.zeros(3))
        return torch.linspace(0, 1, 3)

    def forward(self, x):
        {body}

    def joined(self, grid, steps):
        return torch.cat([grid, steps])
"""
JOIN = """grid, steps, parts = self.grid, self.steps, []
        if grid is not None:
            parts.append(grid[:3])
        if steps is not None:
            parts.append({steps})
        return torch.cat(parts)"""


@pytest.mark.parametrize(
    ("body", "confidences"),
    [
        (JOIN.format(steps="steps[:3]"), {"possible"}),
        (JOIN.format(steps="grid[1:]"), set()),  # one grid, wherever it is
        ("return torch.cat([self.grid, self.grid])", set()),
        ("return torch.cat([self.grid, self.steps])", {"possible"}),
        ("return self.joined(self.grid, self.steps)", {"possible"}),
    ],
)
def test_what_a_helper_returned_to_one_of_the_constructors_branches(body, confidences):
    assert {each.confidence.value for each in given(GRID.format(body=body)).meetings} == confidences


PLAIN = """
class Field(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.grid = torch.linspace(0, 1, 3){rest}
        self.steps = nn.Parameter(torch.zeros(3)) if count else None

    def forward(self, x):
        parts = []
        if self.grid is not None:
            parts.append(self.grid[:3])
        if self.steps is not None:
            parts.append(self.steps[:3])
        return torch.cat(parts)
"""


@pytest.mark.parametrize("rest", ["", " if count > 1 else None"])
def test_a_plain_attribute_beside_a_parameter_is_an_error(rest):
    assert [each.rpartition(" ")[2] for each in met(PLAIN.format(rest=rest))] == ["certain"]
