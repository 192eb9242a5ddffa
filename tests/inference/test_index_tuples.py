"""A tuple of positions is an index: what is called with one out of sight may do no more than read
at it, and so the host may have it."""

import pytest
from given import given

NET = """
class Tuner(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.unet = load("unet")

    def forward(self, rows):
        hidden = self.embed(rows)
        ends = (rows == 2).nonzero()[:, 1]
        return self.unet(hidden, {given})
"""


@pytest.mark.parametrize(
    ("handed", "count"),
    [
        ("where=(torch.arange(len(rows)), ends)", 0),
        ("where=[torch.where(rows == 1), (torch.arange(len(rows)), ends)]", 0),
        ("(torch.arange(4), torch.randperm(4))", 0),
        # it is added, or looked up in a table of the module
        ("position_ids=torch.arange(4)", 1),
        ("torch.arange(4)", 1),
        ("noise=(torch.arange(4), torch.rand(4))", 1),
        ("scale=(torch.arange(0.0, 1.0, 0.1), ends)", 1),
        ("words=(torch.randint(0, 9, (4,)), torch.randint(0, 9, (4,)))", 1),
    ],
)
def test_a_tuple_of_positions_may_be_on_the_host(handed, count):
    found = given(NET.format(given=handed)).meetings
    assert min(len(found), 1) == count
