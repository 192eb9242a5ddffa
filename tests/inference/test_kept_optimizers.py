"""The constructor loads the state of an optimizer, and another moves the module of the same object:
the state stays where it was."""

import pytest
from given import given

TRAINER = """
class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        {first}
        self.opt = torch.optim.Adam(self.net.parameters(), lr=0.1)
        self.opt.load_state_dict(torch.load("a.pt", map_location="cpu"))

    def to_card(self):
        {moves}

    def step(self):
        self.opt.step()

"""


def trainer(moves: str = "self.net.cuda()", use: str = "", first: str = "pass") -> str:
    return TRAINER.format(moves=moves, first=first) + use


def late(code: str) -> list[tuple[str, bool]]:
    return [(each.module, each.loaded) for each in given(code).late_moves]


@pytest.mark.parametrize("moves", ["self.net.cuda()", "self.net.to('cuda:0')"])
def test_a_method_moves_the_module_after_the_constructor_loaded_the_state(moves):
    assert late(trainer(moves)) == [("self.net", True)]


@pytest.mark.parametrize(
    "use",
    [
        "t = Trainer()\nt.net.cuda()",
        "def main(device):\n    t = Trainer()\n    t.net.to(device)\n    t.step()",
    ],
)
def test_whoever_made_the_object_moves_its_module(use):
    assert late(trainer("pass", use)) == [("t.net", True)]


@pytest.mark.parametrize(
    "code",
    [
        trainer("self.net.cpu()"),
        trainer("self.net.to(torch.half)"),
        trainer(first="self.net.cuda()"),  # it was there already
        trainer(first="self.to_card()"),
        # nothing was loaded: the parameters are the same ones, wherever they are
        trainer().replace("self.opt.load_state_dict(", "print("),
        # the state is brought along, or loaded anew
        trainer("self.net.cuda(); to_device(self.opt, 'cuda')"),
        trainer("self.net.cuda(); self.opt.state = moved(self.opt.state)"),
        trainer("self.net.cuda(); self.opt.load_state_dict(torch.load('a.pt'))"),
        trainer("self.net.cuda(); self.opt = torch.optim.Adam(self.net.parameters())"),
        trainer(first="self.other = torch.optim.SGD(self.net.parameters())").replace(
            "self.opt.load",
            "self.other.load",  # whose state is not that of the one that steps
        )
        + "    def place(self):\n        to_device(self.other, 'cuda')\n",
        # another object, or another module of this one
        trainer("pass", "t = Other()\nt.net.cuda()"),
        trainer("self.head.cuda()", first="self.head = nn.Linear(3, 3)"),
    ],
)
def test_state_that_is_where_the_module_is_or_is_brought_there_is_right(code):
    assert late(code) == []


def test_one_of_several_modules_that_a_name_may_hold_is_moved_after_its_optimizer():
    code = """
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)

    class Large(Small): ...

    def train(args):
        net = Small() if args.small else Large()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        if args.several:
            net = nn.DataParallel(net)
        net.cuda()
        return optimizer
    """
    assert len(given(code).late_moves) == 1
