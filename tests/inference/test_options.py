"""What stands in a branch that an option opens is for those who set the option: where nothing in
the project does, that somebody does is an assumption."""

import pytest
from given import given

ATTENTION = """
class Attention(nn.Module):
    def __init__(self, n, causal=False, exact=True, norm="layer"):
        super().__init__()
        self.proj = nn.Linear(n, n)
        self.causal = causal
        self.exact = exact
        self.traced = False
        self.norm = norm

    def forward(self, x, noisy=False, mode="plain"):
        x = self.proj(x)
        extra = None
        if {test}:
            extra = torch.ones(4)
        if extra is not None:
            x = x * extra
        return x
"""


def assumed(test: str, other: str = "") -> list[str]:
    """What the contradiction in the branch rests on."""
    facts = given(ATTENTION.format(test=test), {"other.py": other})
    return [each.kind.value for found in facts.meetings for each in found.assumptions]


@pytest.mark.parametrize(
    "test",
    [
        "self.causal",
        "noisy",
        "self.traced",
        "not self.exact",
        "mode == 'loud'",
        "mode != 'plain'",
        "self.norm == 'batch'",
    ],
)
def test_an_option_that_nothing_sets(test):
    assert assumed(test) == ["option-is-turned-on"]


@pytest.mark.parametrize(
    "test",
    [
        "self.exact",
        "not self.causal",
        "x.dim() == 2",
        "not noisy",
        "mode == 'plain'",
        "mode != 'loud'",
        "self.norm == 'layer'",
    ],
)
def test_what_runs_by_default_rests_on_nothing(test):
    assert assumed(test) == []


@pytest.mark.parametrize(
    "other",
    [
        "net = Attention(3, causal=True)",
        "net = Attention(3, causal=args.is_causal)",
        "net.causal = True",
        "parser.add_argument('--causal', action='store_true')",
        "settings = {'causal': True}",
    ],
)
def test_an_option_that_something_sets(other):
    assert assumed("self.causal", other) == []


@pytest.mark.parametrize(
    "other",
    [
        "def build(n, causal: bool = False):\n    return Attention(n, causal=causal)",
        "net = Attention(3, causal=args.causal)",
        "settings = {'causal': False}",
    ],
)
def test_who_hands_it_on_or_leaves_it_off_does_not_set_it(other):
    assert assumed("self.causal", other) == ["option-is-turned-on"]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("net(x, mode='loud')", []),
        ("net(x, mode=args.chosen)", []),
        ("net(x, mode='soft')", ["option-is-turned-on"]),
        ("def run(net, x, mode='plain'):\n    net(x, mode=mode)", ["option-is-turned-on"]),
    ],
)
def test_a_word_that_something_chooses(other, expected):
    assert assumed("mode == 'loud'", other) == expected


@pytest.mark.parametrize(
    ("test", "other", "expected"),
    [
        ("mode == Mode.LOUD", "", ["option-is-turned-on"]),
        ("mode == Mode.LOUD", "net(x, mode=Mode.LOUD)", []),
        ("mode != Mode.LOUD", "", []),
        ("mode == torch.float16", "", []),  # no enumeration
    ],
)
def test_a_member_of_an_enumeration(test, other, expected):
    assert assumed(test, other) == expected


def test_a_call_in_the_file_that_gives_it_by_position():
    calls = "\n\ndef run(net, x):\n    return net.forward(x, True)\n"
    facts = given(ATTENTION.format(test="noisy") + calls)
    assert [m.assumptions for m in facts.meetings] == [()]


QUANTIZER = """
class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        {first}

    def configure(self, bits, search=False):
        self.bits = bits
        {kept}

    def forward(self, x):
        if self.search:
            return self.scale * torch.ones(4)
        return self.scale * x
"""


@pytest.mark.parametrize(
    ("first", "kept", "other", "expected"),
    [
        ("pass", "self.search = search", "", ["option-is-turned-on"]),
        ("pass", "self.search = search", "q.configure(3, search=False)", ["option-is-turned-on"]),
        ("self.search = False", "self.search = search", "", ["option-is-turned-on"]),
        ("pass", "self.search = search", "q.configure(3, search=True)", []),
        ("self.search = False", "self.search = True", "", []),
        ("pass", "self.search = bits > 2", "", []),
        ("pass", "if bits: self.search = search", "", []),
    ],
)
def test_an_option_that_a_method_keeps(first, kept, other, expected):
    facts = given(QUANTIZER.format(first=first, kept=kept), {"other.py": other})
    assert [each.kind.value for found in facts.meetings for each in found.assumptions] == expected


def test_a_method_that_is_given_the_option_by_position():
    code = QUANTIZER.format(first="pass", kept="self.search = search")
    facts = given(code + "\n\ndef run(q):\n    q.configure(3, True)\n")
    assert [m.assumptions for m in facts.meetings] == [()]
