"""`*args` and `**kwargs` hold what no other parameter takes, where a call hands it in."""

import pytest
from given import met, revealed

HEAD = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, {takes}):
        return self.fc({hands})

def run(net: Head, rows, labels):
    net = Head().cuda()
    x = torch.zeros(8)
    return {call}
"""


def found(call, takes="*args", hands="*args"):
    return met(HEAD.format(call=call, takes=takes, hands=hands))


@pytest.mark.parametrize(
    ("call", "takes", "hands", "count"),
    [
        ("net(x)", "*args", "*args", 1),
        ("net.forward(x)", "*args", "*args", 1),
        ("net(x.cuda())", "*args", "*args", 0),
        ("net(3, x)", "size, *args", "args[0]", 1),
        ("net(x, x.cuda())", "size, *args", "*args", 0),
        ("net(x=x)", "**named", "named['x']", 1),
        ("net(x=x.cuda())", "**named", "named['x']", 0),
        ("net(3, x=x.cuda())", "size, **named", "named['x']", 0),
        ("net(x, y=x.cuda())", "x, **named", "named['y']", 0),
        ("net(*rows)", "*args", "*args", 0),
        # which of them is taken is open
        ("net(x, x.cuda())", "*args", "args[1]", 0),
        ("net(x, y=x.cuda())", "*args, **named", "named['y']", 0),
    ],
)
def test_a_call_hands_the_rest_on(call, takes, hands, count):
    assert len(found(call, takes, hands)) == count


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("total(x.cuda(), x.cuda())", "cuda"),
        ("total(x, x)", "cpu"),
        ("total(x.cuda(), x)", "?"),
        ("total(*rows)", "δ(rows)"),
    ],
)
def test_what_is_made_of_the_rest_is_where_that_is(call, expected):
    code = f"""
def total(*parts):
    return torch.stack(parts).sum()

def run(rows):
    x = torch.zeros(8)
    reveal({call})
"""
    assert revealed(code) == [expected]
