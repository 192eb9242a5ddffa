"""A parameter that a method makes anew is where it is made, and not where its module was moved."""

import pytest
from given import plain_attributes, settled

GROWING = """
class Growing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, width))
        {built}

    def grow(self, width):
        made = {made}
        self.weight = nn.Parameter(made)
"""


@pytest.mark.parametrize(
    ("built", "made", "found"),
    [
        ("pass", "torch.zeros(4, width)", 1),
        ("pass", "torch.zeros(4, width, device=self.weight.device)", 0),
        ("pass", "torch.zeros(4, width).to(self.weight)", 0),
        ("pass", "self.weight.new_zeros(4, width)", 0),
        ("self.grow(width)", "torch.zeros(4, width)", 0),  # nobody has moved the module then
    ],
)
def test_a_parameter_of_another_place(built, made, found):
    kept = plain_attributes(settled(GROWING.format(built=built, made=made)))
    assert [each for each in kept if each.endswith("overwrites parameter")] == [
        "Growing.weight@cpu overwrites parameter"
    ] * found


def test_a_first_parameter_of_a_method_is_registered_there():
    code = GROWING.format(built="pass", made="torch.zeros(4, width)")
    lazily = code.replace("self.weight = nn.Parameter(torch.zeros(3, width))", "self.weight = None")
    assert plain_attributes(settled(lazily)) == []
