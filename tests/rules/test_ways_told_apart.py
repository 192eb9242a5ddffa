"""What holds on one way says nothing of another: of returns, of reads by the host, of copies, of
attributes, of who calls."""

from __future__ import annotations

import pytest
from rule_check import check_text

from devlint.findings import Confidence, Finding

TORCH = "import numpy as np\nimport torch\nfrom torch import nn\n\n"


def told(text: str, rule: str) -> list[Finding]:
    """The findings of a rule that are shown by default."""
    found = [f for f in check_text(TORCH + text) if f.rule == rule]
    return [f for f in found if f.confidence is not Confidence.POSSIBLE]


SHADES = """\
def shade(rows: torch.Tensor, full=False):
    low = rows.min(dim=0).values
    shades = (rows - low).cpu().numpy()
    if full:
        return shades, (low, low)
    return shades

def save(rows: torch.Tensor):
    np.save("shades", shade(rows.cuda(){}))

save(torch.ones(3, 4))
"""


def test_a_call_comes_to_the_returns_that_its_arguments_choose():
    assert not told(SHADES.format(""), "DEV401")
    assert told(SHADES.format(", True"), "DEV401")


RANKS = """\
def rank(scores{}, kind):
    if kind == "torch":
        return torch.argsort(scores).cpu(), scores.cpu()
    return np.argsort(scores), scores.shape
"""


def test_what_one_way_copies_to_the_host_may_be_an_array_on_another():
    assert not told(RANKS.format(""), "DEV401")
    assert told(RANKS.format(": torch.Tensor"), "DEV401")


def test_reads_of_one_input_are_one_finding():
    text = """\
def paint(tracks: np.ndarray, inside: torch.Tensor, bright):
    colors = np.zeros((3, 3))
    if bright:
        inside = inside.cpu()
    else:
        low, high = colors[inside > 0].min(), colors[inside <= 0].max()
        return low, high, colors[inside > 1]
    return colors[inside > 0]
"""
    (found,) = told(text, "DEV401")
    assert "at 2 more places" in found.message
    assert "inside = inside.detach().cpu()" in found.advice


LATE = """\
def keep(rows: torch.Tensor):
    host = rows.cuda().to("cpu", non_blocking=True)
    host = host.contiguous()
    return {}
"""


def test_contiguous_reads_nothing():
    assert not told(LATE.format("host.to('cuda')"), "DEV402")
    assert told(LATE.format("float(host.sum())"), "DEV402")


PROMPT = """\
class Prompt(nn.Module):
    def __init__(self, width, pool=False):
        super().__init__()
        self.width = width
        self.pool = pool
        if self.pool:
            self.rows = nn.Parameter(torch.zeros(3, width))

    def forward(self, x):
        if {}:
            self.rows = nn.Parameter(torch.zeros(self.width))
        return x
"""


@pytest.mark.parametrize(("test", "count"), [("self.pool", 1), ("not self.pool", 0)])
def test_a_parameter_of_the_other_way_is_not_put_anew(test, count):
    assert len(told(PROMPT.format(test), "DEV207")) == count


PACK = """\
class Quantized(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("rows", torch.zeros(width))

    def pack(self, linear):
        rows = linear.weight.data{}.numpy().astype(np.int32)
        self.rows = torch.from_numpy(rows)
"""


@pytest.mark.parametrize(("copy", "count"), [("", 0), (".cpu()", 1)])
def test_a_method_that_reads_tensors_as_arrays_runs_before_the_move(copy, count):
    assert len(told(PACK.format(copy), "DEV207")) == count


BALANCE = """\
def balance(devices, device):
    if {}:
        return None
    return [torch.cuda.get_device_properties(each).total_memory for each in devices]

balance([torch.device("cpu")], "cpu")
"""


@pytest.mark.parametrize(
    ("test", "count"),
    [('not all(each.type == "cuda" for each in devices)', 0), ("not all(each for each in x)", 1)],
)
def test_a_question_of_each_device_is_a_guard(test, count):
    assert len([f for f in check_text(TORCH + BALANCE.format(test)) if f.rule == "DEV504"]) == count


PIPELINE = """\
from sampling import Painter

def paint(device, rows):
    painter = Painter().to(device)
    return painter({}).detach().numpy()

paint("cuda", [1])
"""


@pytest.mark.parametrize(("given", "count"), [("rows", 1), ("'a cat'", 0), ("f'{rows}'", 0)])
def test_what_takes_a_text_may_end_on_the_host(given, count):
    assert len(told(PIPELINE.format(given), "DEV401")) == count


SWITCHED = """\
class Table(nn.Module):
    def __init__(self, steps, count=1):
        super().__init__()
        self.steps = steps
        self.shortens = count > 1
        {}

    def make(self):
        self.ids = torch.full((self.steps,), self.steps - 1)

    def forward(self, x: torch.Tensor):
        if self.shortens:
            x = x + self.ids
        return x
"""


@pytest.mark.parametrize(
    ("made", "count"), [("if self.shortens: self.make()", 0), ("self.make()", 1)]
)
def test_an_attribute_behind_a_switch_goes_by_what_the_object_was_made_with(made, count):
    assert len(told(SWITCHED.format(made), "DEV205")) == count
