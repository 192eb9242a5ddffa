"""Where tensors are made: factories, `device=`, `*_like`, `new_*`, legacy constructors."""

import pytest
from given import met, revealed


@pytest.mark.parametrize(
    "call",
    [
        "torch.zeros(3)",
        "torch.empty(3)",
        "torch.rand(3)",
        "torch.arange(3)",
        "torch.linspace(0, 1, 3)",
        "torch.eye(3)",
        "torch.full((3,), 1.0)",
        "torch.tensor([1, 2])",
        "torch.as_tensor([1])",
        "torch.randint(3, (2,))",
        "torch.randperm(3)",
        "torch.from_numpy(array)",
        "torch.Tensor(3)",
        "torch.LongTensor([1])",
        "torch.zeros(3, device=None)",
    ],
)
def test_a_factory_makes_its_tensor_on_the_cpu(call):
    assert revealed(f"reveal({call})") == ["cpu"]


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ('torch.arange(3, device="cuda")', "cuda"),
        ("torch.zeros(3, device=0)", "cuda:0"),
        ('torch.tensor([1], device=torch.device("cuda", 1))', "cuda:1"),
        ('torch.full((2,), 1.0, device="mps")', "mps"),
        ('torch.randn(3, device="meta")', "meta"),
        ('torch.zeros(1, device=f"cuda:{0}")', "cuda:0"),
        ('torch.zeros(1, device="cuda:0" if n else "cuda:0")', "cuda:0"),
        ("torch.cuda.FloatTensor(3)", "cuda"),
    ],
)
def test_a_factory_puts_its_tensor_where_device_says(call, place):
    assert revealed(f"reveal({call})") == [place]


@pytest.mark.parametrize(
    "call",
    [
        "torch.zeros_like(x)",
        "torch.full_like(x, 1)",
        "torch.empty_like(x, dtype=torch.int)",
        "x.new_zeros(3)",
        "x.new_tensor([1.0])",
        "x.new(3)",
    ],
)
def test_a_like_factory_follows_its_model(call):
    assert revealed(f'x = torch.zeros(3, device="cuda:1")\nreveal({call})') == ["cuda:1"]


@pytest.mark.parametrize(
    "call", ['torch.rand_like(x, device="cpu")', 'x.new_full((3,), 1, device="cpu")']
)
def test_device_overrules_the_model(call):
    assert revealed(f'x = torch.zeros(3, device="cuda")\nreveal({call})') == ["cpu"]


@pytest.mark.parametrize(
    "operation",
    [
        "torch.cat([x, x])",
        "x @ x",
        "-x",
        "x > 0",
        "x.T",
        "x.data",
        "x[None]",
        "x.float().contiguous().detach()",
        "F.relu(x)",
        "x.max(0)[1]",
        "torch.topk(x, 1).values",
        "x.sort().indices",
        'torch.einsum("i,i", x, x)',
    ],
)
def test_an_operation_leaves_its_result_where_its_operands_are(operation):
    assert revealed(f'x = torch.zeros(3, device="cuda")\nreveal({operation})') == ["cuda"]


def test_several_results_are_all_there():
    assert (
        revealed(
            """
        x = torch.zeros(3, device="cuda")
        values, indices = x.max(0)
        first, *others = x.split(1)
        reveal(values)
        reveal(indices)
        reveal(first)
        reveal(others[0])
        """
        )
        == ["cuda"] * 4
    )


def test_out_decides_where_a_factory_makes_its_tensor():
    code = "x = torch.arange(0, 3, out=torch.cuda.LongTensor(3))\nreveal(x)"
    assert revealed(code) == ["cuda"]
    assert revealed("x = torch.arange(0, 3, out=torch.empty(3))\nreveal(x)") == ["cpu"]


def test_a_sample_rate_among_the_results_is_no_tensor():
    code = "import torchaudio\nwav, rate = torchaudio.load(path)\nreveal(wav)\nreveal(rate)"
    assert revealed(code) == ["cpu", "no tensor"]


def test_a_factory_fills_what_it_is_given_whichever_that_is():
    code = """
    def number(x, y, buffer=None):
        if x is not None:
            held = x.new(3)
        else:
            held = y.new(3)
        reveal(torch.arange(3, out=held))
        reveal(torch.arange(3, out=unseen()))
        reveal(torch.arange(3, out=None))
    """
    assert revealed(code) == ["δ(x) | δ(y)", "no tensor", "cpu"]


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("torch.Tensor(x + 1)", 0),  # the very tensor
        ("torch.Tensor(x.size(0))", 1),
        ("torch.Tensor([1.0, 2.0])", 1),
    ],
)
def test_a_legacy_constructor_keeps_a_tensor_as_it_is(made, count):
    found = met(f"""
    def scale(x: torch.Tensor):
        weights = {made}
        return weights * x.exp()
    """)
    assert len(found) == count


@pytest.mark.parametrize(("default", "count"), [('="hann_window"', 1), ("", 0), ("=None", 0)])
def test_a_factory_by_a_name_that_has_a_default(default, count):
    code = f"""
    class Spectrum:
        def __init__(self, length, shape{default}):
            self.length = length
            self.shape = getattr(torch, shape)(length)

        def __call__(self, signal: torch.Tensor):
            return torch.stft(signal, self.length, 4, self.length, self.shape)
    """
    assert len(met(code)) == count


def test_a_factory_that_is_given_what_to_write_makes_its_tensor_there():
    assert revealed(
        """
        order = torch.empty(3, dtype=torch.long, device="cuda")
        reveal(torch.randperm(3, out=order))
        reveal(torch.ones(3, out=torch.empty(3)))
        reveal(torch.ones(3, out=None))
        """
    ) == ["cuda", "cpu", "cpu"]


def test_what_a_caller_may_give_to_write_is_anywhere():
    code = """
    def order(n, out=None):
        reveal(torch.randperm(n, out=out))
        reveal(torch.randperm(n))
    """
    assert revealed(code) == ["?", "cpu"]


@pytest.mark.parametrize(
    ("device", "confidence"), [("first.device", "likely"), ("torch.device('cpu')", "possible")]
)
def test_the_device_of_what_was_made_by_default_is_no_host_on_purpose(device, confidence):
    """`first.device` says: where the other one is. Nobody chose the host for either."""
    code = f"""
    def scaled(x: torch.Tensor):
        first = torch.arange(3)
        rest = torch.arange(3, device={device})
        return x * rest
    """
    [found] = met(code)
    assert found.endswith(confidence)
