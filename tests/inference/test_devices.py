"""Values that are devices: `.device`, `torch.device`, the default device, `with torch.device`."""

import pytest
from given import given, host_reads, met, moves, revealed

X = 'x = torch.zeros(3, device="cuda:1")\n'


@pytest.mark.parametrize(
    "device",
    ["x.device", "torch.device(x.device)", 'torch.device("cuda", 1)', 'torch.device("cuda:1")'],
)
def test_a_device_value_names_its_device(device):
    assert revealed(f"{X}reveal(torch.zeros(1, device={device}))") == ["cuda:1"]


def test_the_type_of_a_device_has_no_index():
    assert revealed(f"{X}reveal(torch.zeros(1, device=x.device.type))") == ["cuda"]


def test_a_device_is_bound_to_a_name():
    assert revealed('d = torch.device("cuda")\nreveal(torch.zeros(3, device=d))') == ["cuda"]


def test_is_cuda_of_a_moved_tensor_is_true():
    assert revealed(f"{X}y = torch.zeros(3)\nif x.is_cuda:\n    y = y.cuda(1)\nreveal(y)") == [
        "cuda:1"
    ]


def test_a_comparison_of_device_types_is_decided():
    assert revealed(
        """
        x = torch.zeros(3).cuda()
        y = torch.zeros(3).cuda()
        if x.device.type == "cpu":
            y = torch.zeros(3)
        reveal(y)
        """
    ) == ["cuda"]


def test_set_default_device_changes_what_factories_do():
    assert revealed(
        """
        torch.set_default_device("cuda")
        reveal(torch.zeros(3))
        reveal(torch.zeros(3, device=torch.get_default_device()))
        reveal(torch.zeros(3, device="cpu"))
        """
    ) == ["cuda", "cuda", "cpu"]


def test_set_default_device_does_not_reach_legacy_constructors():
    assert revealed(
        """
        torch.set_default_device("cuda")
        reveal(torch.Tensor([1.0]))
        reveal(torch.LongTensor([1]))
        """
    ) == ["cpu", "cpu"]


def test_a_default_type_of_cuda_reaches_legacy_constructors():
    code = """
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        reveal(torch.Tensor([1.0]))
        """
    assert revealed(code) == ["cuda"]


def test_set_default_device_takes_effect_from_where_it_is_called():
    assert revealed(
        """
        def main():
            reveal(torch.zeros(3))
            torch.set_default_device("cuda")
            reveal(torch.zeros(3))

        main()
        """
    ) == ["cpu", "cuda"]


def test_with_a_device_makes_tensors_and_modules_there():
    assert revealed(
        """
        with torch.device("cuda"):
            x = torch.zeros(3)
            net = nn.Linear(1, 1)
        reveal(x)
        reveal(net.weight)
        reveal(torch.zeros(3))
        """
    ) == ["cuda", "cuda", "cpu"]


def test_the_inner_with_wins():
    assert revealed(
        """
        with torch.device("cuda"):
            with torch.device("cpu"):
                reveal(torch.zeros(3))
            reveal(torch.zeros(3))
        """
    ) == ["cpu", "cuda"]


def test_a_device_in_a_name_serves_as_context_too():
    assert revealed('d = torch.device("cuda:1")\nwith d:\n    reveal(torch.zeros(3))') == ["cuda:1"]


def test_choosing_the_current_card_is_no_default_device():
    assert revealed("with torch.cuda.device(1):\n    reveal(torch.zeros(3))") == ["cpu"]


def test_a_module_made_on_meta_is_nowhere_yet():
    assert revealed(
        """
        with torch.device("meta"):
            net = nn.Linear(2, 2)
        reveal(net.weight)
        """
    ) == ["meta"]


def test_two_fixed_indices_contradict():
    assert met("a = torch.zeros(3).cuda(0)\nb = torch.zeros(3).cuda(1)\na + b") == [
        "b@cuda:1 + a@cuda:0 certain"
    ]


def test_the_current_device_and_a_fixed_index_possibly_contradict():
    assert met("a = torch.zeros(3).cuda()\nb = torch.zeros(3).cuda(1)\na + b") == [
        "a@cuda + b@cuda:1 possible"
    ]


def test_the_current_device_is_the_first_one():
    assert met("a = torch.zeros(3).cuda()\nb = torch.zeros(3).cuda(0)\na + b") == []


def test_an_argument_of_the_configuration_is_a_device_of_its_own():
    facts = given("x = torch.zeros(3)\ny = x.to(args.device)")
    assert moves(facts) == ["x: cpu -> δ(args.device)"]


def test_what_stays_behind_meets_the_configured_device():
    assert met("x = torch.zeros(3).to(args.device)\nx + torch.ones(3)") == [
        "torch.ones(3)@cpu + x@δ(args.device) certain"
    ]


def test_the_same_configured_device_is_one_device():
    assert met("torch.zeros(3).to(args.device) + torch.ones(3, device=args.device)") == []


@pytest.mark.parametrize(
    ("condition", "guarded"),
    [("args.small or not args.cuda", True), ("args.small or not args.slow", False)],
)
def test_both_branches_of_a_question_about_accelerators_are_guarded(condition, guarded):
    facts = given(f"""
        def main(args):
            if {condition}:
                device = torch.device("cpu")
            else:
                device = torch.device("cuda")
            return torch.zeros(3, device=device)
    """)
    assert [mention.guarded for mention in facts.mentions] == [guarded]


@pytest.mark.parametrize(
    ("lines", "moved"),
    [
        ("return steps(4).to(device)", True),
        ("found = steps(4)\n    return found.to(device)", True),
        ("found = steps(4)\n    return found", False),
    ],
)
def test_a_device_that_is_not_passed_on_and_the_result_that_is_moved(lines, moved):
    (fact,) = given(f"""
def steps(count, device=None):
    return torch.linspace(0, 1, count, device=device)

def sigmas(device):
    {lines}
""").dropped_arguments
    assert fact.moved is moved


@pytest.mark.parametrize(("first", "count"), [(", map_location=map_location", 0), ("", 2)])
def test_a_loader_that_is_told_where_to_for_some_of_it(first, count):
    assert (
        len(
            given(f"""
def load(path, map_location=None):
    return torch.load(path, map_location=map_location)

def restore(folder, map_location):
    weights = load(folder.joinpath("weights"){first})
    return weights, load(folder.joinpath("random"))
""").dropped_arguments
        )
        == count
    )


def test_the_number_of_a_tensors_card_stands_for_its_device():
    code = """
        def f(x: torch.Tensor):
            reveal(torch.zeros(3, device=x.get_device()))
            reveal(torch.zeros(3).to(x.get_device()))
            reveal(torch.zeros(3).cuda(x.get_device()))
            if x.get_device() == -1:
                reveal(torch.zeros(3))
        """
    assert revealed(code)[:3] == ["δ(x)", "δ(x)", "δ(x)"]


def test_the_context_of_a_card_is_no_device():
    """`torch.cuda.device(i)` chooses the current card; factories do not take it."""
    assert revealed("with torch.cuda.device(1):\n    reveal(torch.zeros(3))\n") == ["cpu"]
    assert revealed("reveal(torch.zeros(3, device=torch.cuda.device(1)))") == ["?"]


def test_a_number_that_is_a_rank_is_the_number_of_a_card():
    code = """
        import os
        local_rank = int(os.environ["LOCAL_RANK"])
        kind = torch.zeros(1).dtype
        reveal(torch.zeros(3).to(local_rank))
        reveal(torch.zeros(3).to(kind))
        """
    assert revealed(code) == ["δ(local_rank)", "cpu"]


SET_UP = """
import unittest
from cases import common, plain

class Packed(unittest.TestCase):
    def setUp(self):
        self.size = 8
        {set_up}

    def test_packed(self):
        rnn = nn.RNN(3, 3)
        x = torch.randn(5, 4, 3)
        torch.set_default_tensor_type(torch.FloatTensor)
        lens = torch.tensor([5, 4])
        torch.set_default_tensor_type({then})
        hidden = torch.zeros(1, 4, 3)
        reveal(x)
        reveal(rnn.weight)
        reveal(lens)
        reveal(hidden)
        rnn(x, hidden)
"""
CASES = {
    "cases.py": """
        def common(case):
            case.width = 4
            torch.set_default_tensor_type(torch.cuda.FloatTensor)

        def plain(case):
            case.width = 4
        """
}
CUDA_TYPE = "torch.cuda.FloatTensor"


@pytest.mark.parametrize("set_up", [f"torch.set_default_tensor_type({CUDA_TYPE})", "common(self)"])
def test_what_a_test_sets_up_is_the_default_of_its_methods(set_up):
    code = SET_UP.format(set_up=set_up, then=CUDA_TYPE)
    assert revealed(code, CASES) == ["cuda", "cuda", "cpu", "cuda"]
    assert met(code, CASES) == []


def test_a_class_of_tests_with_a_constructor_is_set_up_after_it():
    code = """
    import unittest

    class Case(unittest.TestCase):
        def __init__(self, name="runTest"):
            super().__init__(name)
            self.weight = torch.ones(3)

        def setUp(self):
            self.batch = torch.ones(3, device="cuda")

    class Scaled(Case):
        def test_scaled(self):
            print(self.batch * self.weight)
    """
    assert met(code) == ["self.weight@cpu * self.batch@cuda certain"]


def test_a_default_that_nobody_set_is_the_host():
    code = SET_UP.format(set_up="plain(self)", then="torch.DoubleTensor")
    assert revealed(code, CASES) == ["cpu", "cpu", "cpu", "cpu"]
    moved = code.replace("rnn(x, hidden)", "rnn(x.cuda(), hidden)")
    assert met(moved, CASES)[0] == "input: rnn@cpu rnn x.cuda()@cuda certain"


CHOSEN = """
    class Rows:
        def __init__(self, size, device="auto"):
            self.device = "cuda" if device == "auto" else device

        def get(self, rows):
            return torch.tensor(rows, device=self.device)

    class Steps(Rows):
        def __init__(self, *args, steps=1, **kwargs):
            super().__init__(*args, **kwargs)
            self.steps = steps

    def use():
        rows = {made}
        return rows.get([1.0]).numpy()
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ('Rows(3, device="cpu")', 0),
        ('Steps(3, steps=2, device="cpu")', 0),
        ('Rows(3, device="cuda:1")', 1),
    ],
)
def test_what_a_caller_chooses_goes_before_what_stands_in_for_it(made, count):
    assert len(host_reads(given(CHOSEN.format(made=made)))) == count


SET_LATER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.{attribute} = {first}
{inside}
    def forward(self, x):
        return self.lin(x) + torch.zeros(3, device=self.device)
{outside}
"""
PROPERTY = """
    @property
    def device(self):
        return self._device
"""
SETTER = """
    @device.setter
    def device(self, device):
        self.to(device)
        self._device = device
"""
OUTSIDE = """
def fit({owner}, device):
    {owner}.device = device
"""


@pytest.mark.parametrize(
    ("attribute", "first", "inside", "outside", "count"),
    [
        ("_device", "torch.device('cpu')", PROPERTY + SETTER, "", 0),
        ("_device", "torch.device('cpu')", PROPERTY, "", 1),
        ("device", "torch.device('cpu')", "", OUTSIDE.format(owner="net"), 0),
        ("device", "'cpu'", "", OUTSIDE.format(owner="net"), 0),
        ("device", "'cpu'", "", OUTSIDE.format(owner="args"), 1),  # no such object
        ("device", "'cpu'", "", "", 1),
    ],
)
def test_a_device_that_others_set_is_not_what_it_starts_with(
    attribute, first, inside, outside, count
):
    code = SET_LATER.format(attribute=attribute, first=first, inside=inside, outside=outside)
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ("device=self.device", []),
        ("device=None", ["one@cpu * net(x)@δ(self.device) certain"]),
    ],
)
def test_a_device_that_starts_with_none_is_one_device_wherever_it_is_read(device, found):
    code = f"""
    class Critic:
        device: str = None

        def score(self, x):
            net = nn.Linear(3, 3).to(self.device)
            one = torch.ones(3, {device})
            return one * net(x)
    """
    assert met(code) == found


def script(imports, line):
    return {"train.py": f"import torch\n{imports}\n\ndef main():\n    {line}\n"}


TO_CUDA = "torch.set_default_tensor_type('torch.cuda.FloatTensor')"


@pytest.mark.parametrize(
    ("files", "count"),
    [
        (script("from main import *", TO_CUDA), 0),
        (script("from main import (\n    decibels,\n)", "torch.set_default_device(device)"), 0),
        (script("import main", "torch.set_default_device('cpu')"), 2),
        (script("import maintained", TO_CUDA), 2),  # another program's
        (script("", TO_CUDA), 2),
        ({}, 2),
    ],
)
def test_a_script_that_imports_the_file_may_choose_its_default_device(files, count):
    code = """
    def decibels(x: torch.Tensor):
        return torch.log(x) / torch.log(torch.Tensor([10.0]))

    def shifted(x: torch.Tensor):
        return torch.log(x) + torch.ones(3)
    """
    assert len(met(code, files)) == count


def test_what_is_converted_stays_on_the_host_whatever_the_default_device_is():
    code = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.weight * torch.from_numpy(self.table)
    """
    assert len(met(code, script("from main import Net", TO_CUDA))) == 1


BY_NUMBER = """
def build(n, device_id=None):
    net = nn.Linear(n, n)
    if device_id is not None:
        net.to(device_id)
    return net
"""


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ("build(3)", "?"),
        ("build(3, device_id=None)", "?"),
        ("build(3, 1)", "cuda:1"),
        ("build(3, device_id='cuda')", "cuda"),
    ],
)
def test_a_device_by_its_number_is_what_the_call_says(call, place):
    """`device_id` is a device where something is brought to it: of each call, not of the file."""
    assert revealed(f"{BY_NUMBER}reveal({call})") == [place]


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ('torch.device(options["device"])', True),
        ("torch.device(preferred())", True),
        ("torch.device(name)", True),
        ('torch.device("cuda", options["card"])', True),
        ('torch.device("no such")', False),
    ],
)
def test_a_device_that_is_made_of_what_is_out_of_sight_is_one_that_somebody_chose(device, found):
    code = f"""
    from elsewhere import options, preferred

    def shifted(name, rows: torch.Tensor):
        device = {device}
        return rows.to(device) + torch.arange(3)
    """
    assert bool(met(code)) is found
