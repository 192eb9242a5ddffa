"""A part that is put into a module goes where the module goes from then on: one that is put in
after the module's move is still where it was made."""

import pytest
from given import met

CODE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))

def train(model, device):
    return model(torch.ones(8, device=device))

def moved(net, device):
    return net.to(device)

def main(device, x, flag):
    net = Net().to("cuda")
{put}
"""


def found(put: str) -> list[str]:
    return met(CODE.format(put="\n".join(f"    {line}" for line in put.splitlines())))


@pytest.mark.parametrize(
    ("put", "part"),
    [
        ("net.head = nn.Linear(8, 5)\nnet(x.cuda())", "net.head"),
        ("net.body[0] = nn.Linear(8, 5)\nnet(x.cuda())", "net.body[0]"),
        ("if flag:\n    net.head = nn.Linear(8, 5)\nnet(x.cuda())", "net.head"),
        ("net = nn.Sequential(net).cuda()\nnet[0] = nn.Linear(8, 8)\nnet(x.cuda())", "net[0]"),
        # the callee calls what it is handed
        ("net.head = nn.Linear(8, 5)\ntrain(net, 'cuda')", "net"),
    ],
)
def test_a_part_that_is_put_in_after_the_move_is_left_behind(put, part):
    (meeting,) = found(put)
    assert f"{part}@cpu" in meeting


@pytest.mark.parametrize(
    "put",
    [
        "net.head = nn.Linear(8, 5)\nnet.cuda()\nnet(x.cuda())",
        "net.head = nn.Linear(8, 5)\nnet = moved(net, 'cuda')\nnet(x.cuda())",
        "net.head = nn.Linear(8, 5).cuda()\nnet(x.cuda())",
        "net.head = nn.Linear(8, 5)\nnet.head.cuda()\nnet(x.cuda())",
        "net.head = nn.Linear(8, 5)\nnet.head.to(x.device)\nnet(x)",
        # without parameters it is anywhere
        "net.head = nn.Identity()\nnet(x.cuda())",
        "net.head = nn.ReLU()\nnet(x.cuda())",
        # put in before the move
        "net = Net()\nnet.head = nn.Linear(8, 5)\nnet.cuda()\nnet(x.cuda())",
        # on the host, all of it
        "net.cpu()\nnet.head = nn.Linear(8, 5)\nnet(torch.ones(8))",
    ],
)
def test_a_part_that_is_moved_with_it_or_by_itself_is_there(put):
    assert found(put) == []


@pytest.mark.parametrize("weight", ["net.body.weight", "net.body.bias"])
def test_the_data_of_a_part_is_put_into_all_that_holds_it(weight):
    assert found(f"net = Net()\n{weight}.data = torch.ones(8).cuda()\nnet(x.cuda())") == []
