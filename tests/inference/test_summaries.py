"""Functions are inferred once, in terms of their parameters' devices, and instantiated by calls."""

import pytest
from given import given, met, moves, revealed


def test_a_result_is_where_the_argument_is():
    assert revealed(
        """
        def double(x):
            return x * 2

        reveal(double(torch.zeros(3).cuda()))
        reveal(double(torch.zeros(3)))
        """
    ) == ["cuda", "cpu"]


def test_a_tuple_of_results_is_taken_apart():
    assert revealed(
        """
        def pair(x):
            return x, torch.zeros(3)

        a, b = pair(torch.zeros(3).cuda())
        reveal(a)
        reveal(b)
        """
    ) == ["cuda", "cpu"]


ADD = "def add(a, b):\n    return a + b\n\n"


@pytest.mark.parametrize(
    "call",
    [
        "add(torch.zeros(3), torch.ones(3).cuda())",
        "add(b=torch.ones(3).cuda(), a=torch.zeros(3))",
        "add(torch.ones(3).cuda(), b=torch.zeros(3))",
    ],
)
def test_arguments_that_the_callee_brings_together_meet_at_the_call(call):
    assert met(ADD + call) == ["torch.zeros(3)@cpu + torch.ones(3).cuda()@cuda likely inside a + b"]


def test_arguments_that_agree_meet_in_silence():
    assert met(f"{ADD}add(torch.zeros(3), torch.ones(3))\nadd(x.cuda(), y.cuda())") == []


def test_a_meeting_two_calls_deep_is_told_at_the_outer_call():
    assert met(
        f"""{ADD}
def outer(a, b):
    return add(b, a)

outer(torch.zeros(3), torch.ones(3).cuda())
"""
    ) == ["torch.zeros(3)@cpu + torch.ones(3).cuda()@cuda likely inside add(b, a)"]


def test_what_the_callee_makes_meets_the_argument_at_the_call():
    code = "def shift(t):\n    return t + torch.ones(3)\n"
    assert met(code + "shift(torch.zeros(3).cuda())") == [
        "torch.ones(3)@cpu + torch.zeros(3).cuda()@cuda likely inside t + torch.ones(3)"
    ]
    assert met(code + "shift(torch.zeros(3))\nshift(3)") == []


def test_a_parameter_that_is_certainly_a_tensor_is_enough():
    assert met(
        """
        device = torch.device("cuda")

        def shift(t: torch.Tensor):
            return t + torch.ones(3)
        """
    ) == ["torch.ones(3)@cpu + t@δ(t) likely"]


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ('make(3, "cuda")', "cuda"),
        ('make(3, device="cuda:1")', "cuda:1"),
        ('make(3, torch.device("mps"))', "mps"),
        ("make(3)", "cpu"),
    ],
)
def test_a_device_parameter_has_its_default(call, place):
    code = 'def make(n, device="cpu"):\n    return torch.zeros(n, device=device)\n'
    assert revealed(f"{code}reveal({call})") == [place]


def test_no_device_is_the_default_device():
    code = "def make(n, device=None):\n    return torch.zeros(n, device=device)\n"
    assert revealed(f'{code}reveal(make(3))\nreveal(make(3, "cuda"))') == ["cpu", "cuda"]


@pytest.mark.parametrize(
    "fallback",
    [
        "if device is None:\n        device = 'cuda' if torch.cuda.is_available() else 'cpu'",
        "device = device or 'cuda'",
        "device = 'cuda' if device is None else device",
    ],
)
def test_a_fallback_for_no_device_is_not_taken_for_the_cpu(fallback):
    code = f"def make(n, device=None):\n    {fallback}\n    return torch.zeros(n, device=device)\n"
    assert met(f"{code}make(3) + torch.zeros(3).cuda()") == []
    assert revealed(f'{code}reveal(make(3, "mps"))') == ["mps"]


def test_an_optional_tensor_is_not_made_when_one_is_given():
    assert (
        met(
            """
            def weigh(x, mask=None):
                if mask is None:
                    mask = torch.ones(3)
                return x * mask

            weigh(torch.zeros(3).cuda(), torch.ones(3).cuda())
            """
        )
        == []
    )


def test_a_function_that_calls_itself():
    assert revealed(
        """
        def f(x, n):
            if n == 0:
                return x
            return f(x + 1, n - 1)

        reveal(f(torch.zeros(3).cuda(), 3))
        """
    ) == ["cuda"]


def test_functions_that_call_each_other():
    assert revealed(
        """
        def f(x, n):
            return x if n == 0 else g(x, n - 1)

        def g(x, n):
            return f(x, n)

        reveal(f(torch.zeros(3).cuda(), 3))
        """
    ) == ["cuda"]


def test_a_closure_reads_the_parameters_around_it():
    assert met(
        """
        def outer(x):
            def inner(y):
                return x + y

            return inner(torch.ones(3))

        outer(torch.zeros(3).cuda())
        """
    ) == ["torch.ones(3)@cpu + torch.zeros(3).cuda()@cuda likely inside inner(torch.ones(3))"]


def test_a_generator_yields_what_it_makes():
    assert revealed(
        """
        def batches():
            for i in range(3):
                yield torch.zeros(3).cuda()

        for batch in batches():
            reveal(batch)
        """
    ) == ["cuda"]


def test_partial_gives_arguments_ahead():
    assert revealed(
        """
        from functools import partial
        zeros = partial(torch.zeros, device="cuda")
        reveal(zeros(3))
        """
    ) == ["cuda"]


OP = """
class Op:
    def __init__(self, device):
        self.device = device

    def make(self, n):
        return torch.zeros(n, device=self.device)

    @property
    def grid(self):
        return torch.zeros(3, device=self.device)

    @staticmethod
    def plain(x):
        return x + 1

    @classmethod
    def of_class(cls, x):
        return x * 2


op = Op("cuda")
gpu = torch.zeros(3).cuda()
"""


@pytest.mark.parametrize(
    "value",
    ["op.make(3)", "op.grid", "Op.plain(gpu)", "op.plain(gpu)", "Op.of_class(gpu)"],
)
def test_methods_are_functions_of_their_object(value):
    assert revealed(f"{OP}reveal({value})") == ["cuda"]


def test_two_objects_of_one_class_have_devices_of_their_own():
    code = f'{OP}cpu = Op("cpu")\nreveal(cpu.make(3))\nreveal(op.make(3))'
    assert revealed(code) == ["cpu", "cuda"]


def test_a_decorator_of_torch_changes_no_devices():
    code = "@torch.no_grad()\ndef f(x):\n    return x + 1\n\nreveal(f(torch.zeros(3).cuda()))"
    assert revealed(code) == ["cuda"]


def test_a_helper_that_asks_its_argument_for_the_device_is_right():
    assert (
        met(
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.proj = nn.Linear(3, 3)

                def positions(self, x):
                    return torch.arange(3, device=x.device)

                def forward(self, x):
                    h = self.proj(x)
                    return h + self.positions(h)
            """
        )
        == []
    )


def test_a_helper_that_makes_its_tensor_on_the_cpu_is_not():
    assert met(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)

            def positions(self):
                return torch.arange(3)

            def forward(self, x):
                return self.proj(x) + self.positions()
        """
    ) == ["self.positions()@cpu + self.proj(x)@δ(self) certain"]


def test_a_function_is_moved_in_once_however_often_it_is_called():
    code = "def up(x: torch.Tensor):\n    return x.cuda()\n"
    assert moves(given(code + "up(torch.zeros(3))\n" * 3)) == ["x: δ(x) -> cuda"]


def test_a_scalar_of_an_argument_meets_anything_whichever_branch_made_the_argument():
    code = """
    def scale(out: torch.Tensor, ref: torch.Tensor):
        return out * {}

    ref = torch.zeros(3) if flag else torch.zeros(3).cuda()
    scale(torch.ones(3).cuda(), ref)
    """
    assert met(code.format("ref.std()")) == []
    assert len(met(code.format("ref"))) == 1


def test_what_turns_out_to_be_a_tensor_decides_where_earlier_results_are():
    code = """
        def remaining(rate, infected):
            left = torch.ones(4).mul(infected).exp()
            other = {use}
            return left * other
    """
    assert met(code.format(use="infected.sigmoid()")) == [
        "torch.ones(4)@cpu .mul infected@δ(infected) likely"  # said once, where they meet first
    ]
    assert met(code.format(use="rate.sigmoid()")) == ["left@cpu * other@δ(rate) likely"]


@pytest.mark.parametrize(("use", "contradicts"), [("given.sigmoid()", False), ("len(given)", True)])
def test_as_tensor_keeps_a_tensor_where_it_is(use, contradicts):
    found = met(f"""
        def spread(x: torch.Tensor, given):
            weights = torch.as_tensor(given)
            return x.cumsum(0) * weights.clamp(min=0), {use}
    """)
    assert bool(found) is contradicts


def test_a_call_that_hands_in_a_tensor_decides_where_the_result_is():
    assert met("""
        def weighted(domain):
            return domain * torch.linspace(0, 1, 9)

        def density(x: torch.Tensor):
            return weighted(x) + x
    """) == [  # and no `+`
        "torch.linspace(0, 1, 9)@cpu * x@δ(x) likely inside domain * torch.linspace(0, 1, 9)"
    ]


@pytest.mark.parametrize(("annotation", "found"), [(" -> int", 0), ("", 1)])
def test_what_a_function_says_to_return_is_no_tensor(annotation, found):
    code = f"""
    def count(rows: torch.Tensor, given=None){annotation}:
        return rows.sum() if given is None else given

    def pairs(rows: torch.Tensor):
        left = rows.cpu()
        return torch.arange(8) * count(rows)
    """
    assert len(met(code)) == found


@pytest.mark.parametrize("type_", ["Device", "DeviceLike", "TorchDevice", "DeviceLikeType"])
def test_a_device_under_a_projects_own_name_for_its_type(type_):
    code = f"""
    def build(width, device: {type_} = None):
        model = nn.Linear(width, 1)
        model.to(device=device)
        return model

    reveal(torch.zeros(2, device=build(3).weight.device))
    print(build({{given}})(torch.zeros(2, 3)))
    """
    assert revealed(code.format(given="3")) == ["cpu"]
    assert met(code.format(given="3")) == []
    assert met(code.format(given='3, "cuda"')) != []


@pytest.mark.parametrize(
    ("alias", "place"),
    [("Union[np.ndarray, Tensor]", "?"), ("Union[np.ndarray, float]", "cpu")],
)
def test_a_type_under_a_name_of_the_projects_own(alias, place):
    types = f"""
    from typing import Union
    import numpy as np
    from torch import Tensor
    Rows = {alias}
    """
    code = """
    from types_of_ours import Rows

    def as_rows(x: Rows):
        reveal(torch.as_tensor(x, dtype=torch.float32))
    """
    assert revealed(code, {"types_of_ours.py": types}) == [place]


RESCALE = """
class Head(nn.Module):
    def rescale(self, x, scale, device=torch.device("cpu")):
        return x * {scale}

    def forward(self, x: torch.Tensor, scale: torch.Tensor):
        return self.rescale(x, scale)
"""


@pytest.mark.parametrize(
    ("scale", "found"),
    [
        ("torch.ones(3, device=device)", "likely"),  # the caller forgot the device
        ("scale.to(device)", "possible"),  # what is moved goes to the host on purpose
    ],
)
def test_a_move_to_a_device_that_is_left_out_is_meant(scale, found):
    (meeting,) = met(RESCALE.format(scale=scale))
    assert f" {found} inside" in meeting


HEAD = """
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 4)

        def forward(self, x):
            return self.out(x)
"""


@pytest.mark.parametrize(
    ("moved", "handed", "apart"),
    [
        ('.to("cuda:0")', "torch.zeros(4)", True),
        (".cuda()", "torch.zeros(4)", True),
        (".to(device)", "torch.zeros(4)", True),
        ("", 'torch.zeros(4, device="cuda")', False),  # others may move the head
        ("", "torch.zeros(4)", False),
        (".cuda()", 'torch.zeros(4, device="cuda")', False),
        (".cuda()", "torch.zeros(4).cuda()", False),
        (".cuda()", "rows", False),
    ],
)
def test_what_an_object_hands_to_a_module_of_its_own_is_for_the_outer_call(moved, handed, apart):
    code = f"""{HEAD}
    class Scorer:
        def __init__(self, device):
            self.head = Head(){moved}

        def score(self, x):
            return self.head(x)

    def total(device, rows):
        return Scorer(device).score({handed}).sum()
    """
    assert any("likely" in each for each in met(code)) is apart


def test_who_moves_what_comes_in_leaves_nothing_to_the_outer_call():
    code = f"""{HEAD}
    class Scorer:
        def __init__(self):
            self.head = Head().cuda()

        def score(self, x):
            x = x.cuda()
            return self.head(x)

    def total():
        return Scorer().score(torch.zeros(4)).sum()
    """
    assert met(code) == []
