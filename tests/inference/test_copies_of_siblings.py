"""Methods of one class that read what its module computes: where one of them copies it to the host
first, nobody is said to bring the module there for the others."""

import pytest
from given import given

from devlint.inference.domain.assumptions import AssumptionKind

ACTOR = """
class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 2)
    def act(self, seen):
        return {copied}
    def step(self, seen):
        return {read}
"""


def is_left_open(copied, read):
    kinds = [
        {each.kind for each in found.assumptions}
        for found in given(ACTOR.format(copied=copied, read=read)).host_reads
    ]
    assert kinds
    return any(AssumptionKind.READING_MODULE_IS_MOVED in each for each in kinds)


@pytest.mark.parametrize(
    ("copied", "is_open"),
    [
        ("self.net(seen).cpu().numpy()", False),
        ("self.net(seen).detach().cpu().squeeze().tolist()", False),
        ("self.net(seen)", True),
        ("self.net(seen).cpu()", True),
    ],
)
def test_what_a_module_computes(copied, is_open):
    assert is_left_open(copied, "self.net(seen).detach().numpy()") is is_open


def test_what_a_module_has_may_be_written_down_on_the_host():
    assert is_left_open("self.net(seen).cpu().numpy()", "self.net.weight.numpy()")
