"""A wait counts where a step has many of it, or where it holds up a loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config

HEAD = "import torch\nfrom torch import nn\n\n\n"


def said(root: Path, code: str, rule: str) -> int:
    """How many findings of a rule are at least likely."""
    file = root / "work.py"
    file.write_text(HEAD + code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    return sum(finding.rule == rule for finding in report.findings)


GATE = """\
class {name}(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        x = self.net(x)
        if mask.any():
            x = x * mask
        return self.last(x)


class Model(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.parts = {parts}
"""
MANY, ONE = "nn.ModuleList(Gate() for _ in range(count))", "nn.Sequential(Gate())"


@pytest.mark.parametrize(
    ("name", "parts", "count"),
    [("Gate", MANY, 1), ("Gate", ONE, 0), ("GateLayer", "None", 1), ("Gates", "None", 0)],
)
def test_a_model_has_many_of_its_layers(tmp_path, name, parts, count):
    assert said(tmp_path, GATE.format(name=name, parts=parts), "DEV303") == count


HELD = """\
class Gate(nn.Module):
    def forward(self, x: torch.Tensor):
        x = self.net(x)
        if x.max() > 9:
            x = x / 9
        return self.last(x)


class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()


def model(count):
    return nn.Sequential({stages})
"""


@pytest.mark.parametrize(
    ("stages", "count"), [("*[Stage() for _ in range(count)]", 1), ("Stage()", 0)]
)
def test_a_layer_has_as_many_parts_as_there_are_layers(tmp_path, stages, count):
    assert said(tmp_path, HELD.format(stages=stages), "DEV303") == count


CALLED = """\
class Rows(nn.Module):
    def one(self, row: torch.Tensor):
        y = self.net(row)
        if y.sum() > 0:
            y = y * 2
        return self.last(y)

    def {name}(self, rows: torch.Tensor):
        {calls}
"""


@pytest.mark.parametrize(
    ("name", "calls", "count"),
    [
        ("forward", "return [self.one(row) for row in rows]", 1),
        ("forward", "return self.one(rows)", 0),
        ("evaluate", "return [self.one(row) for row in rows]", 0),
    ],
)
def test_a_loop_in_a_step_calls_a_function_many_times(tmp_path, name, calls, count):
    assert said(tmp_path, CALLED.format(name=name, calls=calls), "DEV303") == count


PENALTY = """\
class {name}(nn.Module):
    def {function}(self, x: torch.Tensor, mask: torch.Tensor):
        x = self.net(x)
        if mask.any():
            x = x * mask
        return self.last(x)
"""


@pytest.mark.parametrize(
    ("name", "function", "count"),
    [
        ("EdgeLoss", "forward", 1),
        ("Trainer", "compute_loss", 1),
        ("Glossary", "forward", 0),
        ("Edges", "forward", 0),
    ],
)
def test_a_loss_is_in_the_midst_of_a_step(tmp_path, name, function, count):
    """What waits there holds up the pass back, of which nothing is queued yet."""
    assert said(tmp_path, PENALTY.format(name=name, function=function), "DEV303") == count


INNER = """\
class Walk(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        kept = mask.nonzero()
        for i in range(x.size(0)):
            y = self.net(x[i])
            if y.max() > 0:
                x = x + y
        return self.last(x, kept)
"""


def test_a_wait_in_each_turn_counts_beside_one_ahead_of_all(tmp_path):
    assert said(tmp_path, INNER, "DEV303") == 1


OPTION = """\
class DropLayer(nn.Module):
    def __init__(self, net, careful=False):
        super().__init__()
        self.net = net
        self.careful = careful

    def forward(self, x: torch.Tensor):
        y = self.net(x)
        if self.careful:
            {careful}
        return self.net(y)
"""
ASKED = "y = y * 2 if y.max() > 1 else y"
MADE = "y = y + torch.zeros(x.size(0), 3).to(x.device)"


@pytest.mark.parametrize(
    ("made", "count"),
    [("DropLayer(nn.Linear(3, 3))", 0), ("DropLayer(nn.Linear(3, 3), careful=True)", 1)],
)
def test_a_branch_behind_an_option_that_nobody_sets_is_cold(tmp_path, made, count):
    using = f"from work import DropLayer\nfrom torch import nn\n\nlayer = {made}\n"
    (tmp_path / "use.py").write_text(using)
    assert said(tmp_path, OPTION.format(careful=ASKED), "DEV303") == count
    assert said(tmp_path, OPTION.format(careful=MADE), "DEV304") == count


RAISED = """\
class CheckLayer(nn.Module):
    def forward(self, x: torch.Tensor):
        y = self.net(x)
        if y.size(0) > 8:
            {told}
        return self.net(y)
"""


@pytest.mark.parametrize(
    ("told", "count"),
    [('raise ValueError(f"too many: {y.sum()}")', 0), ('print(f"too many: {y.sum()}")', 1)],
)
def test_an_error_tells_of_a_tensor_once(tmp_path, told, count):
    assert said(tmp_path, RAISED.format(told=told), "DEV303") == count


REFINED = """\
def refine(x):
    return x.softmax(0)


class Layers(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(count)])

    def refine(self, x):
        return self.layers[0](x)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if x.mean() < 0.5:
                {branch}
        return x
"""


@pytest.mark.parametrize(
    ("branch", "count"),
    [
        ("x = torch.relu(x)", 1),
        ("x = x.clamp(min=0)", 1),
        ("x = x * float(2)", 1),
        ("x = refine(x)", 0),
        ("x = self.refine(x)", 0),
        ("return self.refine(x)", 1),
    ],
)
def test_an_answer_that_saves_what_a_function_of_the_code_does_is_needed(tmp_path, branch, count):
    assert said(tmp_path, REFINED.format(branch=branch), "DEV303") == count


LINE_SEARCH = """\
class Search:
    def __init__(self, model, x):
        self.model, self.x = model.cuda(), x.cuda()

    @property
    def loss(self):
        return self.model(self.x).mean()

    def search(self, optimizer, loader):
        for batch in loader:
            self.model(batch.cuda()).mean().backward()
            optimizer.step()
            self.seen = self.loss.data.cpu()
"""


def test_a_property_is_made_anew_in_each_turn(tmp_path):
    assert said(tmp_path, LINE_SEARCH, "DEV301") == 0


def test_of_a_dict_numpy_makes_one_object(tmp_path):
    code = """\
import numpy as np


def save(x):
    y = torch.rand(3, device="cuda")
    np.save("x.npy", {given})
"""
    assert said(tmp_path, code.format(given='{"y": y}'), "DEV401") == 0
    assert said(tmp_path, code.format(given="y"), "DEV401") == 1


LOSS = """\
def calc_loss(loader, model, count):
    total = 0.0
    for number, (x, y) in enumerate(loader):
        if number < count:
            loss = nn.functional.mse_loss(model(x.to("cuda")), y.to("cuda"))
            total += loss.item()
    return total


def measured(model, loader):
    {around}:
        return calc_loss(loader, model, 3)
"""


@pytest.mark.parametrize(("around", "count"), [("with torch.no_grad()", 0), ("if len(loader)", 1)])
def test_what_is_only_called_without_gradients_evaluates(tmp_path, around, count):
    assert said(tmp_path, LOSS.format(around=around), "DEV303") == count


FINITE = """\
import sys


def train(model, loader, optimizer):
    mean = torch.zeros(1, device="cuda")
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        mean = (mean * step + loss.detach()) / (step + 1)
        loader.desc = str(round(mean.item(), 3))
        if not torch.isfinite(loss):
            {then}
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("then", "count"), [("sys.exit(1)", 0), ("raise ValueError(loss)", 0), ("loss = 0 * loss", 1)]
)
def test_a_wait_is_for_free_beside_the_check_that_ends_the_program(tmp_path, then, count):
    assert said(tmp_path, FINITE.format(then=then), "DEV303") == count
