"""Attributes that the constructor sets one way or the other: a flag tells which one is held."""

import pytest
from given import given, host_reads, met, revealed

CLASS = """
class Conv(nn.Module):
    def __init__(self, spin, kind="plain", scale=None):
        super().__init__()
        self.spin = spin
        self.kind = kind
        self.scale = scale
        self.weight = nn.Parameter(torch.ones(3))
        if {condition}:
            self.shift = nn.Parameter(torch.ones(3))
        else:
            self.shift = torch.zeros(3)

    def forward(self, x):
        x = x * self.weight
"""


def in_forward(condition, *lines):
    return CLASS.format(condition=condition) + "".join(f"        {line}\n" for line in lines)


CONDITIONS = [
    ("spin", "self.spin"),
    ("not spin", "not self.spin"),
    ("scale is not None", "self.scale is not None"),
    ('kind == "moving"', 'self.kind == "moving"'),
]


@pytest.mark.parametrize(("built", "used"), CONDITIONS)
def test_where_a_flag_is_as_it_was_the_attribute_is_what_it_chose(built, used):
    assert met(in_forward(built, f"if {used}:", "    x = x + self.shift", "return x")) == []


@pytest.mark.parametrize(("built", "used"), CONDITIONS)
def test_where_it_is_not_the_attribute_is_the_other_one(built, used):
    found = met(in_forward(built, f"if not ({used}):", "    x = x + self.shift", "return x"))
    assert [m.partition(" + ")[0] for m in found] == ["self.shift@cpu"]


@pytest.mark.parametrize(
    "use", ["if self.other:\n            x = x + self.shift", "x = x + self.shift"]
)
def test_any_other_condition_says_nothing(use):
    assert len(met(in_forward("spin", use, "return x"))) == 1


STAGES = """
class Stage(nn.Module):
    def __init__(self, width, whole=False):
        super().__init__()
        self.whole = whole
        self.layer = nn.Linear(width, width)
        {also}

    def forward(self, x: torch.Tensor):
        if self.whole:
            return torch.zeros(3), self.layer(x)
        return self.around(x), self.layer(x)

    def around(self, x):
        return {around}

class Net(nn.Module):
    def __init__(self, whole):
        super().__init__()
        self.first = Stage({built})

    def forward(self, x: torch.Tensor):
        rows, x = self.first(x)
        reveal(rows)
"""


@pytest.mark.parametrize(
    ("built", "also", "around", "place"),
    [
        ("3", "pass", "x + 1", "δ(x)"),
        ("3, False", "pass", "x + 1", "δ(x)"),
        ("3", "pass", "unseen[0]", "no tensor"),
        ("3, whole=True", "pass", "x + 1", "cpu"),
        ("3, whole", "pass", "x + 1", "cpu | δ(x)"),
        ("*whole", "pass", "x + 1", "cpu | δ(x)"),
        ("3", "self.whole = len(self.layer) > 0", "x + 1", "cpu | δ(x)"),
    ],
)
def test_a_flag_is_what_the_constructor_was_given(built, also, around, place):
    code = STAGES.format(built=built, also=also, around=around)
    assert revealed(code) == [place]


CACHED = """
def mean_so_far(x: torch.Tensor, cache, step: int):
    if cache[0]:
        return (x.exp() + step * cache[1]["before"]) / (step + 1)
    return x.cumsum(1)

class Averager(nn.Module):
    def __init__(self, live):
        super().__init__()
        self.cache = {cache}

    def forward(self, x: torch.Tensor, step: int):
        return mean_so_far(x, self.cache, step)
"""


@pytest.mark.parametrize(
    ("cache", "count"),
    [
        ('False, {"before": torch.ones(3)}', 0),
        ('True, {"before": torch.ones(3)}', 1),
        ('len(live) > 0, {"before": torch.ones(3)}', 1),
    ],
)
def test_a_flag_in_a_tuple_says_whether_the_rest_of_it_is_used(cache, count):
    found = met(CACHED.format(cache=cache))
    assert len(found) == count, found


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("use_gpu=False", 0),
        ("use_gpu=True", 1),
        ("use_gpu=torch.cuda.is_available()", 1),
        ("bias=False", 1),
    ],
)
def test_an_object_that_is_told_to_do_without_an_accelerator_has_none(said, count):
    code = f"""
        class Scaled(nn.Module):
            def __init__(self, use_gpu=True, bias=True):
                super().__init__()
                self.device = torch.device("cuda" if use_gpu else "cpu")
                self.one = torch.tensor([1.0], device=self.device)

            def forward(self, x):
                return x * self.one

        def run():
            return Scaled({said})(torch.ones(1)).numpy()
    """
    assert len(host_reads(given(code))) == count


SOFT = """
class Scores(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.soft = {value}

    def forward(self, x):
        if self.soft:
            return self.weight + torch.ones(3)
        return self.weight * x

{beside}
"""


@pytest.mark.parametrize(
    ("value", "beside", "other", "is_walked"),
    [
        # the project uses the class, and nothing in it ever sets it
        ("False", "", "from main import Scores\n\nnet = Scores(4)", False),
        ("True", "", "from main import Scores\n\nnet = Scores(4)", True),
        # whoever has the object sets it, out of sight, here or in another file, by any name perhaps
        ("False", "", "", True),
        ("False", "net = Scores(4)\nnet.soft = True", "net = Scores(4)", True),
        ("False", "", "from main import Scores\n\nnet = Scores(4)\nnet.soft = True", True),
        ("False", "def switch(net, name):\n    setattr(net, name, True)", "net = Scores(4)", True),
        ("n > 3", "", "net = Scores(4)", True),
    ],
)
def test_the_branch_of_a_switch_that_nothing_in_the_project_turns(value, beside, other, is_walked):
    code = SOFT.format(value=value, beside=beside)
    assert bool(met(code, {"use.py": other})) is is_walked


@pytest.mark.parametrize(
    ("given_to_it", "count"),
    [
        # with the flag off, in so many words or by a default that is off, nothing is moved
        ("", 0),
        ("cuda=False", 0),
        ("False", 0),
        ("cuda=True", 1),
        ("True", 1),
        ("cuda=torch.cuda.is_available()", 1),
        ("cuda=settings.gpu", 1),
        ("**settings", 1),
    ],
)
def test_a_call_that_leaves_the_flag_off_does_not_come_to_what_is_behind_it(given_to_it, count):
    code = f"""
        def run(net: nn.Module, x: torch.Tensor, cuda=False):
            if cuda:
                x = x.cuda()
            return net(x)

        def test_it(settings):
            return run(nn.Linear(3, 3), torch.rand(3, 3){given_to_it and ", " + given_to_it})
    """
    assert len(met(code)) == count
