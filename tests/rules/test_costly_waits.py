"""Waits for the device that cost time, though the code around them may look as if they did not."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence

HEAD = "import torch\nfrom torch import nn\n\n\n"


def waits(root: Path, code: str, least: Confidence = Confidence.LIKELY) -> list[int]:
    """The lines of which DEV303 or DEV305 says that the host waits there, at least so sure."""
    file = root / "work.py"
    file.write_text(HEAD + code)
    report = engine.check([file], Config(root, min_confidence=least), tuple(RULES.values()))
    assert not report.errors
    begin = HEAD.count("\n")
    found = [f for f in report.findings if f.rule in ("DEV303", "DEV305")]
    return [finding.location.line - begin for finding in found]


GRADIENTS = """\
def get_grad_norm(parameters):
    {given}
    total = 0.0
    for p in parameters:
        size = p.grad.norm()
        total += size.item() ** 2
    return total ** 0.5
"""


@pytest.mark.parametrize(
    "given", ["pass", "if isinstance(parameters, torch.Tensor): parameters = [parameters]"]
)
def test_a_read_of_one_of_several_values_is_said_once(tmp_path, given):
    assert waits(tmp_path, GRADIENTS.format(given=given)) == [6]


SCATTER = """\
class ConvLayer(nn.Module):
    def forward(self, x, index: torch.Tensor):
        size = int(index.max()) + 1
        return {made}.index_add_(0, index, x)
"""


def test_a_size_read_from_the_device_is_known_to_the_host_beside_the_tensor(tmp_path):
    assert waits(tmp_path, SCATTER.format(made="x.new_zeros(size, 8)")) == [3]


def test_a_whole_number_that_picks_an_object_has_to_be_read(tmp_path):
    assert waits(tmp_path, SCATTER.format(made="self.tables[size]")) == []


COUNTS = """\
class Confusion:
    def __init__(self, classes, device):
        self.classes = classes
        self.counts = torch.zeros(classes, classes, device=device)

    def update(self, found, wanted):
        for i in range(self.classes):
            {loop}
                self.counts[i, j] += ((wanted == i) & (found == j)).sum().item()
"""


def test_a_wait_in_each_turn_of_two_loops_costs_time_wherever_the_input_comes_from(tmp_path):
    code = COUNTS.format(loop="for j in range(self.classes):")
    assert waits(tmp_path, code) == [9]


def test_of_an_input_that_is_read_in_one_loop_nothing_is_known(tmp_path):
    assert waits(tmp_path, COUNTS.format(loop="if (j := i + 1):")) == []


CENTRES = """\
def centres(rows, count, device="cuda"):
    rows = rows.to(device)
    middle = rows[:count].clone()
    for _ in range(100):
        nearest = torch.cdist(rows, middle).argmin(1)
        for k in range(count):
            members = rows[nearest == k]
            middle[k] = {use}
    return middle
"""


@pytest.mark.parametrize(("use", "lines"), [("members.mean(0)", [7]), ("refine(members)", [])])
def test_a_mask_may_weigh_where_what_it_selects_is_only_reduced_by_its_name(tmp_path, use, lines):
    assert waits(tmp_path, CENTRES.format(use=use)) == lines


QUEUE = """\
class QueueLayer(nn.Module):
    def __init__(self, encoder, size):
        super().__init__()
        self.encoder = encoder
        self.register_buffer("rows", torch.randn(size, 8))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def {name}(self, keys):
        at = int(self.at)
        self.rows[at : at + keys.size(0)] = keys

    def forward(self, images):
        keys = self.encoder(images)
        {call}
        return keys @ self.rows.T
"""


def test_what_each_step_does_without_gradients_has_to_be_quick_all_the_same(tmp_path):
    assert waits(tmp_path, QUEUE.format(name="enqueue", call="self.enqueue(keys)")) == [10]


def test_what_evaluates_without_gradients_now_and_then_need_not_be(tmp_path):
    assert waits(tmp_path, QUEUE.format(name="evaluate", call="pass")) == []


NORM = """\
def global_norm(params):
    total = 0.0
    for p in params:
        {line}
    return total**0.5
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("total += p.grad.norm().item() ** 2", [4]),  # one wait for each parameter
        ("total += float(p.grad.norm())", [4]),
        ("total += p.norm().item() ** 2", []),  # once, for all that is known
        ("total += p.numel(); p.grad = None", []),
    ],
)
def test_gradients_are_there_once_per_step_so_a_loop_over_them_is_hot(tmp_path, line, lines):
    assert waits(tmp_path, NORM.format(line=line)) == lines


def test_one_wait_for_all_gradients_is_not_said_of_the_loop(tmp_path):
    code = """\
def overflows(params):
    sums = [p.grad.sum() for p in params]
    return not torch.isfinite(torch.stack(sums)).all().item()
"""
    assert waits(tmp_path, code) == []


SAMPLER = """\
class {name}:
    def set_steps(self, count, device):
        self.steps = torch.linspace(999, 0, count, device=device)

    def step(self, {parameters}):
        self.index = self.steps.eq({at}).float().max().item()
        return sample

    {other}
"""


@pytest.mark.parametrize(
    ("parameters", "at", "other", "lines"),
    [
        ("noise, t, sample", "t", "", [6]),
        ("sample, metric=3", "metric", "", []),  # of a learning rate, once per epoch
        ("noise, t, sample", "t", "def reset(self): ...", []),  # an environment
    ],
)
def test_the_step_of_a_sampler_runs_once_per_step(tmp_path, parameters, at, other, lines):
    code = SAMPLER.format(name="Euler", parameters=parameters, at=at, other=other or "...")
    assert waits(tmp_path, code, Confidence.POSSIBLE) == lines


COUNTED = """\
class LossLayer(nn.Module):
    def forward(self, found, foreground):
        count = foreground.sum()
        if count == 0:
            return {empty}
        return (found * foreground).sum() / {count}
"""


@pytest.mark.parametrize(("count", "lines"), [("count.clamp(min=1)", [4]), ("max(count, 1)", [])])
def test_a_count_is_a_tensor_if_it_is_used_as_one_behind_the_question(tmp_path, count, lines):
    assert waits(tmp_path, COUNTED.format(empty="None", count=count)) == lines


MINED = """\
class Mined(nn.Module):
    def forward(self, rows, ids):
        near = torch.cdist(rows, rows)
        same = ids[:, None] == ids[None]
        return torch.stack([{taken} for i in range(len(rows))])
"""


@pytest.mark.parametrize(("taken", "lines"), [("near[i][same[i]].max()", [5]), ("near[i][0]", [])])
def test_what_comes_of_a_comparison_is_a_mask_where_it_indexes_a_tensor(tmp_path, taken, lines):
    assert waits(tmp_path, MINED.format(taken=taken)) == lines


BOTH = """\
import torch


def train(model, loader, optimizer, table):
    model.cuda()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        out = model(x)
        error, size = (out - y).abs().mean(), out.pow(2).mean()
        both = {both}
        (both * table).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("both", "advice"),
    [
        ("torch.tensor([error, size])", ["put them together where they are: `torch.stack`"]),
        ("torch.stack([error, size])", []),
        ("torch.tensor([3, 4])", []),
    ],
)
def test_tensors_that_become_one_tensor_need_no_host(tmp_path, both, advice):
    file = tmp_path / "work.py"
    file.write_text(BOTH.format(both=both))
    report = engine.check([file], Config(tmp_path), tuple(RULES.values()))
    assert [f.advice for f in report.findings if f.rule == "DEV303"] == advice


BLOCKS = """\
class Blocks(nn.Module):
    def __init__(self, sizes, device):
        super().__init__()
        self.bounds = torch.tensor([0, *sizes], device=device).cumsum(0)
        self.parts = nn.ModuleList(nn.Linear(n, 4) for n in sizes)

    def shift(self, n):
        {changed} = n

    def forward(self, x):
        out = 0
        for i, part in enumerate(self.parts):
            out = out + part(x[:, self.bounds[i] : self.bounds[i + 1]])
        return out
"""


def test_what_only_the_constructor_makes_the_host_need_not_read_anew_at_each_step(tmp_path):
    assert waits(tmp_path, BLOCKS.format(changed="self.last")) == [13]


@pytest.mark.parametrize("changed", ["self.bounds", "self.bounds[-1]"])
def test_what_another_method_changes_it_has_to_read(tmp_path, changed):
    assert waits(tmp_path, BLOCKS.format(changed=changed)) == []


def test_which_rows_of_it_a_mask_picks_only_the_mask_says(tmp_path):
    picked = "out + part(x[:, self.bounds[i] : self.bounds[i + 1]])"
    code = BLOCKS.format(changed="self.last").replace(picked, "self.bounds[x > part(x)]")
    assert waits(tmp_path, code) == []
