"""A wait costs what could have been queued meanwhile: beside another one that stays it costs
nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n\n\n"


def said(root: Path, code: str, *rules: str) -> list[str]:
    """The rules, of these, that say something at least likely."""
    file = root / "work.py"
    file.write_text(HEAD + code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [finding.rule for finding in report.findings if finding.rule in rules]


EPOCH = """\
def train(model, loader, optimizer, augment, device):
    model.to(device)
    total = 0.0
    for x, y in loader:
        {first}
        y = y.to(device, non_blocking=True)
        loss = nn.functional.cross_entropy(model(x), y)
        {between}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {last}
    return total
"""
COPIED, PINNED = "x = x.to(device)", "x = x.to(device, non_blocking=True)"
READ = "total += loss.item()"


@pytest.mark.parametrize(
    ("first", "between", "last", "count"),
    [
        (COPIED, "pass", READ, 0),  # the next batch is copied at once, and waited for
        (PINNED, "pass", READ, 1),  # it is not waited for
        ("x = augment(x).to(device)", "pass", READ, 1),  # the host has work to do first
        (COPIED, READ, "pass", 1),  # `backward` could be queued meanwhile
        (COPIED, "pass", "total += loss.item(); model(x)", 1),  # there is work behind it
    ],
)
def test_the_copy_of_the_next_batch_waits_for_all_that_was_queued(
    tmp_path, first, between, last, count
):
    code = EPOCH.format(first=first, between=between, last=last)
    assert said(tmp_path, code, "DEV303") == ["DEV303"] * count


LOADED = """\
def train(data, model, optimizer):
    model.cuda()
    loader = DataLoader(data{workers})
    total = 0.0
    for x in loader:
        x = x.cuda()
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


@pytest.mark.parametrize(("workers", "count"), [(", num_workers=4", 0), ("", 1)])
def test_a_loader_without_workers_makes_the_next_batch_while_the_device_works(
    tmp_path, workers, count
):
    assert said(tmp_path, LOADED.format(workers=workers), "DEV303") == ["DEV303"] * count


SOLVE = """\
def solve(step, x, y, rounds, device):
    x, y = x.to(device), y.to(device)
    for iteration in range(rounds):
        y = step(x, y)
        change = (y - x).norm()
        if change < 1e-3:
            {then}
        x = x * 0.5 + y * 0.5
    return y
"""


@pytest.mark.parametrize(("then", "count"), [("break", 0), ("y = y.clamp(0, 1)", 1)])
def test_a_loop_that_ends_by_the_answer_has_to_ask(tmp_path, then, count):
    assert said(tmp_path, SOLVE.format(then=then), "DEV303") == ["DEV303"] * count


FULL = """\
class Flow:
    def __init__(self, graph, rows):
        self.graph, self.rows = graph.to("cuda"), rows.to("cuda")
        self.model = nn.Linear(8, 8).to("cuda")
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def run(self, epochs):
        for {turn} in range(epochs):
            loss = self.advance()
            if loss < self.best:
                self.best = loss

    def advance(self):
        {draw}
        loss = self.model(self.rows).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()
"""


@pytest.mark.parametrize(
    ("turn", "draw", "count"),
    [
        ("epoch", "self.model.train()", 0),
        ("epoch", "self.rows = next(self.batches)", 1),
        ("step", "self.model.train()", 1),
    ],
)
def test_a_step_with_all_the_data_is_taken_a_few_hundred_times(tmp_path, turn, draw, count):
    code = FULL.format(turn=turn, draw=draw)
    assert said(tmp_path, code, "DEV303") == ["DEV303"] * count


PHASE = """\
class PrunedLayer(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.register_buffer("phase", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        return self.layer(x, {phase})
"""


@pytest.mark.parametrize(
    ("phase", "count"), [("Phase(self.phase.item())", 0), ("self.phase.item()", 1)]
)
def test_an_object_is_made_of_a_number_of_the_host(tmp_path, phase, count):
    assert said(tmp_path, PHASE.format(phase=phase), "DEV303") == ["DEV303"] * count


COMPARED = """\
def scores(loader, model, optimizer, total):
    model.cuda()
    for x, y in loader:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        found = model(x)
        {score}
        model(found).mean().backward()
        optimizer.step()
    return total
"""


@pytest.mark.parametrize(
    ("score", "count"),
    [
        ("total += found.detach().cpu().sum(); print(found.max().item())", 0),
        ("total += found.detach().cpu().sum()", 1),
    ],
)
def test_a_copy_to_the_host_beside_a_number_that_is_read_there_waits_no_longer(
    tmp_path, score, count
):
    assert said(tmp_path, COMPARED.format(score=score), "DEV309") == ["DEV309"] * count


TASKS = """\
class HeadsLayer(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, x: torch.Tensor, t):
        return self.heads(x, {number}.to(x.device))
"""


@pytest.mark.parametrize(
    ("number", "count"), [("torch.LongTensor([t])", 0), ("torch.zeros(x.size(0))", 1)]
)
def test_what_python_holds_anew_in_each_call_is_copied_in_any_case(tmp_path, number, count):
    assert said(tmp_path, TASKS.format(number=number), "DEV304") == ["DEV304"] * count


LAZY = """\
class HopsLayer(nn.Module):
    def __init__(self, count):
        super().__init__()
        {made}
        self.scale = nn.Parameter(torch.ones(count))

    def forward(self, x: torch.Tensor):
        self.prepare(x)
        return self.scale[self.order] * x

    def prepare(self, x):
        {lazily}
"""


@pytest.mark.parametrize(
    ("made", "lazily", "advised"),
    [
        ("self.order = torch.randperm(count)", "pass", True),
        ("self.count = count", "self.order = torch.randperm(self.count)", False),
    ],
)
def test_a_buffer_that_is_made_behind_the_move_stays_where_it_is_made(
    tmp_path, made, lazily, advised
):
    file = tmp_path / "work.py"
    file.write_text(HEAD + LAZY.format(made=made, lazily=lazily))
    report = engine.check([file], Config(tmp_path), tuple(RULES.values()))
    (advice,) = [finding.advice for finding in report.findings if finding.rule == "DEV308"]
    assert ("register_buffer" in advice) is advised


EMPTY = """\
class PoolLayer(nn.Module):
    def forward(self, rows: torch.Tensor, count):
        if {test}:
            {one}
        else:
            {other}
        return rows + z
"""
MADE, POOLED = "z = torch.zeros(8).to(rows.device)", "z = rows.mean(0)"


@pytest.mark.parametrize(
    ("test", "one", "other", "count"),
    [
        ("count == 0", MADE, POOLED, 0),
        ("count > 0", POOLED, MADE, 0),
        ("count > 0", MADE, POOLED, 1),
        ("count == 1", MADE, POOLED, 1),
    ],
)
def test_what_stands_for_nothing_is_made_seldom(tmp_path, test, one, other, count):
    code = EMPTY.format(test=test, one=one, other=other)
    assert said(tmp_path, code, "DEV304") == ["DEV304"] * count
