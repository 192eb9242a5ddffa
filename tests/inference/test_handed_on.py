"""What a call hands on: generators, and what stands behind `*xs`; and whose method it calls."""

import pytest
from given import met, revealed

DRAW = """
def draw(shape, device, generator):
    return torch.randn(shape, generator=generator, device=device)

def noise(shape, device, generator):
    return draw(shape, device, generator)

def main():
    device = torch.device("cuda")
    {name}(3, device, torch.Generator({made}))
"""


@pytest.mark.parametrize("name", ["draw", "noise"])
@pytest.mark.parametrize(("made", "count"), [("", 1), ("device", 0), ("'cuda'", 0)])
def test_a_generator_meets_what_the_callee_fills(name, made, count):
    assert len(met(DRAW.format(name=name, made=made))) == count


ROWS = """
from torch.utils.data import DataLoader, RandomSampler, random_split

def split(rows, device):
    generator = torch.Generator({made})
    {default}
    return {draws}
"""
CALLS = [
    "random_split(rows, [1, 2], generator=generator)",
    "DataLoader(rows, shuffle=True, generator=generator)",
    "RandomSampler(rows, generator=generator)",
]


@pytest.mark.parametrize("draws", CALLS)
@pytest.mark.parametrize(
    ("made", "default", "count"),
    [
        ("'cuda'", "", 1),
        ("device", "", 1),
        ("", "", 0),
        ("'cuda'", "torch.set_default_device('cuda')", 0),
    ],
)
def test_what_hands_out_rows_draws_on_the_host(draws, made, default, count):
    assert len(met(ROWS.format(draws=draws, made=made, default=default))) == count


CHILDREN = """
from torch.utils.data import RandomSampler

def seeded(seed, device):
    generator = torch.Generator(device=device)
    return generator.manual_seed(seed)

def children(parent, count):
    return [seeded(i, device=parent.device) for i in range(count)]

def sampler(rows):
    master = torch.Generator({made})
    return RandomSampler(rows, generator={generator})
"""


@pytest.mark.parametrize(
    ("made", "generator", "count"),
    [
        ("", "children(master, 2)[0]", 0),
        ("'cuda'", "children(master, 2)[0]", 1),
        ("", "seeded(3, 'cpu')", 0),
        ("", "seeded(3, 'cuda')", 1),
        ("", "seeded(3, master.device)", 0),
    ],
)
def test_a_callee_makes_a_generator_where_this_call_tells_it_to(made, generator, count):
    assert len(met(CHILDREN.format(made=made, generator=generator))) == count


SPREAD = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 4, 3)

    def places(self, height, width, stride{more}):
        return torch.arange(0, height * width, step=stride) + stride

    def forward(self, x, stride):
        return reveal(self.places({given}))
"""


@pytest.mark.parametrize(
    ("more", "given"),
    [
        ("", "*x.shape[-2:], stride"),
        ("", "*x.shape[-2:], stride=stride"),
        ("", "3, *x.shape[-1:], stride"),
        (", scale=1", "*x.shape[-2:], stride"),
    ],
)
def test_what_stands_behind_a_spread_comes_last(more, given):
    assert revealed(SPREAD.format(more=more, given=given)) == ["cpu"]


STATE = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 3)

    def begin(self, count):
        return torch.zeros(1, count, 3{device})

{other}
def train(model, rows, device):
    model = model.to(device)
    return model(rows.to(device), model.begin(4))
"""
OTHER = """
class Writer(nn.Module):
    def begin(self, count):
        return count
"""


@pytest.mark.parametrize(
    ("device", "other", "count"),
    [
        ("", "", 1),
        (", device=self.rnn.weight_hh_l0.device", "", 0),
        ("", OTHER, 0),  # of which of the two it is one is not in sight
    ],
)
def test_a_method_of_one_class_in_sight_is_that_of_the_model(device, other, count):
    assert len(met(STATE.format(device=device, other=other))) == count


FILLED = """
def alike(found: torch.Tensor, labels: torch.Tensor):
    return found.exp() - labels.exp()

class Net(nn.Module):
    def guess(self, rows, device):
        found = torch.zeros(10, 3)
        for at, row in enumerate(rows):
            found[at] = {filled}
        return found

def measure(net, rows, labels: torch.Tensor, device):
    return alike(net.guess(rows, device), labels)
"""


@pytest.mark.parametrize(
    ("filled", "confidence"),
    [("self(row.to(device))", "likely"), ("self(row.to(device)).cpu()", "possible")],
)
def test_what_is_filled_from_the_host_is_there_on_purpose(filled, confidence):
    (found,) = met(FILLED.format(filled=filled))
    assert confidence in found.split()
