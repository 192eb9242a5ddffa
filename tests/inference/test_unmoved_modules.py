"""A module that is built and never moved, called with what lives elsewhere."""

import pytest
from given import met

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.act = nn.ReLU()
        self.tail = nn.Sequential()
        self.tail.add_module("last", nn.Linear(3, 1))

    def forward(self, x):
        return self.tail(self.act(self.fc(x)))

"""


def test_parts_without_state_do_not_hide_where_a_module_is():
    code = NET + 'net = Net()\nnet(torch.ones(1, 3, device="cuda"))'
    assert met(code) == [
        'input: net@cpu net torch.ones(1, 3, device="cuda")@cuda likely inside self.fc(x)'
    ]
    assert met(code.replace("Net()\n", "Net().cuda()\n")) == []


@pytest.mark.parametrize("call", ["net(image)", "score(image, net)"])
def test_a_module_built_in_a_function_is_applied_to_its_input(call):
    code = f"""{NET}
def score(image: torch.Tensor, net: nn.Module):
    return net(image).mean()

def quality(image: torch.Tensor):
    net = Net()
    {{}}
    return {call}
"""
    (found,) = met(code.format("net.eval()"))
    assert found.startswith("input: net@cpu") and " image@δ(image) likely inside " in found
    assert met(code.format("net.to(image.device)")) == []
