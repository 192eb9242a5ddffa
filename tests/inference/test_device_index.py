"""Devices by their index: what `get_device()` returns, -1 for the host, numbered parameters."""

import pytest
from given import given, met, revealed

from devlint.findings import Confidence

HELPERS = """
def index_of(t: torch.Tensor) -> int:
    return t.get_device() if t.is_cuda else -1

def positions(size: int, device: int):
    if {test}:
        return torch.cuda.LongTensor(size, device=device).fill_(1).cumsum(0)
    return torch.arange(0, size)
"""


def test_the_index_of_a_tensors_device_is_its_device():
    code = """
    def forward(x: torch.Tensor):
        reveal(torch.zeros(3).to(x.get_device()))
        reveal(torch.zeros(3, device=x.get_device()))
    """
    assert revealed(code) == ["δ(x)", "δ(x)"]


@pytest.mark.parametrize("test", ["device > -1", "device >= 0", "device != -1"])
def test_an_index_tells_the_accelerator_from_the_host(test):
    code = HELPERS.format(test=test) + "def f(x: torch.Tensor):\n    return x + {}\n"
    assert met(code.format("positions(3, index_of(x))")) == []
    assert len(met(code.format("torch.arange(3)"))) == 1


@pytest.mark.parametrize("test", ["device < 0", "device == -1"])
def test_the_branch_of_the_host_is_not_taken(test):
    code = f"""
    def positions(size: int, device: int):
        if {test}:
            return torch.arange(0, size)
        return torch.arange(0, size, device=device)

    def f(x: torch.Tensor):
        reveal(positions(3, x.get_device()))
    """
    assert revealed(code) == ["δ(x)"]


def test_minus_one_is_no_accelerator():
    code = """
    def placed(x: torch.Tensor, device: int = -1):
        return x.to(device)

    reveal(placed(torch.zeros(3)))
    placed(torch.zeros(3)) + torch.ones(3)
    """
    assert revealed(code) == ["?"]
    assert met(code) == []


@pytest.mark.parametrize(
    ("name", "where", "count"),
    [
        ("move_to_device", '"cuda"', 0),
        ("target_device", "target_device", 1),
        ("relax_device", '"cuda"', 0),  # it is only asked whether it is so
    ],
)
def test_what_is_only_asked_for_its_truth_is_a_flag_and_no_device(name, where, count):
    code = f"""
    def batches(rows, {name}):
        for row in rows:
            yield row.to({where}) if {name} else row

    list(batches(rows, {name}=True))
    """
    assert len(given(code).mistaken_devices) == count


@pytest.mark.parametrize(
    ("test", "assumed"),
    [
        ("x.is_cuda", "current-device-is-another"),
        ("torch.cuda.is_available()", "current-device-is-another"),
        ("self.use_cuda", "flag-may-be-off"),
        ("self.opt.gpu", "flag-may-be-off"),
        ("torch.cuda.is_available() and not self.opt['no_cuda']", "flag-may-be-off"),
    ],
)
def test_a_flag_means_the_current_accelerator_for_everything(test, assumed):
    code = f"""
    class Net(nn.Module):
        def __init__(self, use_cuda, opt):
            super().__init__()
            self.use_cuda, self.opt = use_cuda, opt
            self.proj = nn.Linear(3, 3)

        def forward(self, x):
            places = torch.zeros(x.size(1), 3)
            if {test}:
                places = places.cuda()
            return self.proj(x) + places
    """
    facts = given(code)
    (met,) = [m for m in facts.meetings if "cuda" in str(m.left.placement)]
    assert met.confidence is Confidence.POSSIBLE
    assert assumed in {each.kind.value for each in met.assumptions}


@pytest.mark.parametrize(
    ("number", "found"),
    [
        ("torch.distributed.get_rank()", True),
        ('int(os.environ["RANK"])', True),
        ('int(os.environ.get("RANK", 0))', True),
        ('int(os.getenv("SLURM_PROCID"))', True),
        ('int(os.environ["LOCAL_RANK"])', False),
        ('int(os.environ["RANK"]) % torch.cuda.device_count()', False),
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        "torch.cuda.set_device(number)",
        'torch.device("cuda", number)',
        'torch.device(f"cuda:{number}")',
    ],
)
def test_the_number_among_all_nodes_is_no_card(number, found, use):
    code = f"""
    import os

    def start():
        number = {number}
        return {use}
    """
    assert any(mention.global_rank for mention in given(code).mentions) is found


@pytest.mark.parametrize(("name", "found"), [("process_index", True), ("number", False)])
def test_what_is_called_a_global_rank_is_one_if_it_is_so_on_one_way(name, found):
    code = f"""
    from elsewhere import ordinal

    class State:
        def __init__(self, kind):
            self.{name} = torch.distributed.get_rank() if kind else ordinal()

        def wait(self):
            torch.distributed.barrier(device_ids=[self.{name}])
    """
    assert any(mention.global_rank for mention in given(code).mentions) is found


def test_a_text_about_a_card_is_none():
    code = """
    def start():
        rank = torch.distributed.get_rank()
        print(f"cuda:{rank} is up")
    """
    assert not any(mention.global_rank for mention in given(code).mentions)


@pytest.mark.parametrize(
    ("path", "above", "made", "found"),
    [
        ("ops.py", "import triton", 'torch.zeros(3, device="cuda")', 1),
        ("ops.py", "import triton", "torch.zeros(3).cuda()", 1),
        ("ops.py", "import triton", "torch.zeros(3, device=x.device)", 0),
        ("ops.py", "", "torch.zeros(3).cuda()", 0),  # that it demands CUDA is said instead
        ("tests/ops.py", "import triton", "torch.zeros(3).cuda()", 0),  # its x is on the same card
        # It makes the card of its input the current one.
        ("ops.py", "import triton\ntorch.cuda.set_device(0)", "torch.zeros(3).cuda()", 0),
    ],
)
def test_code_for_cuda_alone_may_be_given_another_card_than_the_current_one(
    path, above, made, found
):
    code = f"{above}\n\ndef shifted(x: torch.Tensor):\n    bias = {made}\n    return x + bias\n"
    met = [{str(m.left.placement), str(m.right.placement)} for m in given(code, path=path).meetings]
    assert met == [{"cuda", "δ(x)"}] * found


BESIDE = """
    from somewhere import Distance

    def distances(x, y):
        measure = Distance()
        if x.is_cuda:
            measure = measure.cuda()
        return True, measure(x, y)

    x, y = torch.zeros(3).to({place}), torch.zeros(3).to({place})
    _, found = distances(x, y)
    reveal(found)
"""


@pytest.mark.parametrize(("place", "device"), [("'cpu'", "cpu"), ("'cuda'", "cuda")])
def test_what_follows_an_input_to_the_card_is_where_the_caller_has_that_input(place, device):
    assert revealed(BESIDE.format(place=place)) == [device]


@pytest.mark.parametrize(("asked", "contradicts"), [("x.is_cuda", False), ("fast", True)])
def test_what_follows_an_input_to_the_card_meets_that_input_wherever_it_is(asked, contradicts):
    found = met(f"""
        def chosen(x, fast):
            ramp = torch.arange(x.shape[0])
            if {asked}:
                ramp = ramp.cuda()
            return x[ramp]

        chosen(torch.rand(3, 3), True)
    """)
    assert bool(found) is contradicts


@pytest.mark.parametrize(
    ("test", "like", "confidence"),
    [
        ("torch.cuda.is_available()", "x.device", Confidence.LIKELY),
        ("torch.cuda.is_available()", "None", Confidence.POSSIBLE),  # all may be on the card
        ("x.is_cuda", "x.device", Confidence.POSSIBLE),
    ],
)
def test_a_machine_with_a_card_says_nothing_of_where_an_input_is(test, like, confidence):
    code = f"""
    def shifted(x: torch.Tensor):
        ramp = torch.zeros(x.size(1), 3)
        if {test}:
            ramp = ramp.cuda()
        return x + ramp

    def empty(x):
        return torch.empty(3, device={like})
    """
    sides = [(m, {str(m.left.placement), str(m.right.placement)}) for m in given(code).meetings]
    (met,) = [meeting for meeting, places in sides if "cuda" in places]
    assert met.confidence is confidence
