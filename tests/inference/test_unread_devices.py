"""A function takes a device, never reads it, and makes tensors."""

import pytest
from given import given

from devlint.inference.facts import Neglect

SHARES = """
    class Shares:
        def __init__(self, values):
            self.values = values

        @staticmethod
        def draw(count, device=None):
            {0}
            return drawn

        def to(self, device="cuda:0"):
            self.values = self.values.to(device)
            return self

        def cuda(self, device="cuda:0"):
            return {1}
"""


@pytest.mark.parametrize(
    ("made", "moved", "found"),
    [
        ("drawn = Shares([]); drawn.values = torch.rand(count)", "self.to(device)", ["torch.rand"]),
        ("drawn = Shares(torch.rand(count))", "self.to(device)", ["torch.rand"]),
        ("drawn = Shares(torch.rand(count, device=device))", "self.to()", ["self.to"]),
        ("drawn = Shares(torch.rand(count, device=device))", "self.to(device)", []),
        ("drawn = Shares(torch.rand(count, device='cpu'))", "self.to(device)", []),
        ("drawn = Shares(torch.rand(count).numpy())", "self.to(device)", []),
        ("drawn = Shares([]); drawn.size = torch.rand(3).numel()", "self.to(device)", []),
        ("drawn = Shares(torch.rand(count).to(0))", "self.to(device)", []),
    ],
)
def test_a_device_that_is_never_read(made, moved, found):
    dropped = given(SHARES.format(made, moved)).dropped_arguments
    assert [d.callee for d in dropped if d.neglect is Neglect.UNUSED] == found


@pytest.mark.parametrize(
    ("bases", "others", "found"),
    [
        ("", "", True),
        ("Base", "class Base:\n        def place(self, count, device): ...", False),
        ("Base", "class Base:\n        def place(self, count): ...", True),
        ("Elsewhere", "from elsewhere import Elsewhere", False),
        ("nn.Module", "", True),
    ],
)
def test_a_base_may_ask_for_the_parameter(bases, others, found):
    code = f"""
    {others}

    class Store({bases}):
        def place(self, count, device):
            self.values = torch.zeros(count)
    """
    dropped = given(code).dropped_arguments
    assert bool(dropped) == found


def test_a_constructor_hands_its_device_to_the_base_that_it_names():
    code = """
    class Base(nn.Module):
        def __init__(self, device="cpu"):
            super().__init__()
            self.device = device

    class Own(Base):
        def __init__(self, device="cpu"):
            super(Own, self).__init__()
            self.layer = nn.Linear(3, 3)

    class Past(Base):
        def __init__(self, device="cpu"):
            super(Base, self).__init__()
            self.weight = nn.Parameter(torch.zeros(3))
    """
    dropped = given(code).dropped_arguments
    assert [d.callee for d in dropped] == ["super(Own, self).__init__"]


def test_without_a_device_a_callee_may_stay_where_its_input_is():
    code = """
    def copied(net, device=None):
        return net if device is None else net.to(device)

    def train(net, device):
        return copied(net)
    """
    assert not given(code).dropped_arguments
