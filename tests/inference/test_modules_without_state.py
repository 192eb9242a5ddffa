"""A module without parameters is wherever its inputs are, and so is what it makes of them."""

import pytest
from given import met, revealed

FOCAL = """
class Focal(nn.Module):
    def __init__(self, gamma, balance=None):
        super().__init__()
        self.gamma = gamma
        self.balance = balance
        self.nll = nn.NLLLoss(weight=balance, reduction="none")

    def forward(self, x, y):
        rows = self.nll(torch.log_softmax(x, -1), y)
        return (rows ** self.gamma).mean()


class Scale(nn.Module):
    def forward(self, x):
        return out_of_sight(x)

"""


@pytest.mark.parametrize(
    ("given", "is_wrong"),
    [
        ("2.0", False),
        ("gamma=2.0, balance=None", False),
        ("2.0, torch.ones(3)", True),
        ("2.0, balance=torch.ones(3)", True),
        ("settings.gamma", True),  # that may be a parameter
    ],
)
def test_a_loss_that_was_given_no_weight_is_everywhere(given, is_wrong):
    made = f"def loss(x, y):\n    criterion = Focal({given})\n"
    code = made + "    return criterion(x.cuda(), y.cuda())"
    assert bool(met(FOCAL + code)) is is_wrong


def test_its_move_moves_nothing():
    code = "scale = Scale().cuda()\nreveal(scale(torch.ones(3)))"
    assert revealed(FOCAL + code) == ["cpu"]


def test_the_output_of_a_module_out_of_sight_that_is_elsewhere_than_its_input_is_a_guess():
    code = """
def check(wrap, net):
    x = torch.rand(4)
    model = wrap(net).cuda()
    return torch.allclose(model(x), x)
"""
    assert met(code) == ["input: x@cpu model model@cuda likely"]


def test_a_module_may_hold_others_of_its_own_class():
    code = """
class Tree(nn.Module):
    def __init__(self, depth, kind):
        super().__init__()
        self.left = Tree(depth - 1, kind) if depth > 0 else None
        {more}

    def forward(self, x):
        return self.{used}(x)

def run(x):
    return Tree(3, "a")(x.cuda())
"""
    assert met(code.format(more="self.kind = kind", used="left")) == []
    found = met(code.format(more="self.leaf = nn.Linear(3, 3)", used="leaf"))
    assert [each.partition("@")[0] for each in found] == ['input: Tree(3, "a")']
