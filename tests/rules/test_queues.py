"""A wait costs what is queued: what the calls in sight do beside it counts as well."""

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


STEP = """\
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model.cuda(), optimizer

    def advance(self, x: torch.Tensor):
        {first}
        loss = self.model(x).square().mean()
        loss.backward()
        self.optimizer.step()
        {last}

    def run(self, loader):
        total = 0.0
        for x in loader:
            {call}
        return total
"""
SUMMED = "total += self.advance(x)"


@pytest.mark.parametrize(
    ("first", "call", "count"),
    [
        ("x = x.half()", SUMMED, 1),
        ("x = x.half()", "total += self.advance(x.cuda())", 0),  # the next batch is copied at once
        ("x = x.half()", "number = self.advance(x); print(number)", 0),  # it is shown at once
        ("x = x.half()", "pass", 0),  # nobody knows who asks for it
    ],
)
def test_what_the_calls_in_sight_do_stands_beside_the_end_of_a_step(tmp_path, first, call, count):
    code = STEP.format(first=first, last="return loss.item()", call=call)
    assert said(tmp_path, code, "DEV303") == count


HELPED = """\
class MaskedAttention(nn.Module):
    def lengths(self, mask: torch.Tensor):
        {work}
        return [int(n) for n in mask.sum(1).tolist()]

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        y = self.net(x)
        rows = self.lengths(mask)
        weights = torch.ones(x.size(0)).to(x.device)
        return self.judge(y * weights, rows)
"""


def test_a_helper_that_waits_last_has_drained_the_queue(tmp_path):
    assert said(tmp_path, HELPED.format(work="self.net(mask)"), "DEV304") == 0
    code = HELPED.format(work="return mask.size(1)")
    assert said(tmp_path, code, "DEV304") == 1


STACK = """\
class EncoderBlock(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        {first}
        if mask.any():
            x = x * mask[:, None]
        {loop}
            x = layer(x)
        return x
"""


@pytest.mark.parametrize(
    ("first", "loop", "count"),
    [
        ("pass", "for layer in self.layers:", 0),
        ("x = self.embed(x)", "for layer in self.layers:", 1),
        ("pass", "for layer in (self.one,):", 1),
    ],
)
def test_one_wait_ahead_of_a_stack_of_layers_costs_little(tmp_path, first, loop, count):
    assert said(tmp_path, STACK.format(first=first, loop=loop), "DEV303") == count


SHOWN = """\
def train(model, loader, optimizer, bar):
    model.cuda()
    total = 0.0
    for step, (x, y) in enumerate(loader):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        loss = nn.functional.mse_loss(model(x), y)
        {between}
        loss.backward()
        optimizer.step()
        {behind}
    return total
"""


@pytest.mark.parametrize(
    ("between", "behind", "count"),
    [
        ("pass", "total += loss.item(); bar.set_postfix(loss=total)", 0),
        ("pass", "total += loss.item()", 1),
        ("total += loss.item()", "bar.set_postfix(loss=total)", 1),  # it may be read later
        ("pass", "total += loss.item()\n        if step % 50 == 0:\n            print(total)", 1),
    ],
)
def test_what_each_turn_shows_where_it_ends_the_host_needs_there(tmp_path, between, behind, count):
    assert said(tmp_path, SHOWN.format(between=between, behind=behind), "DEV303") == count


BESIDE = """\
class PrototypeLayer(nn.Module):
    def forward(self, x: torch.Tensor, labels: torch.Tensor):
        found = self.net(x)
        {loop}
        scores = self.head(found)
        if scores.isnan().any():
            scores = scores.clamp(0)
        return self.tail(scores)
"""


@pytest.mark.parametrize(
    ("loop", "count"),
    [("for i in range(x.size(0)): self.note(labels[i].item())", 0), ("self.note(labels)", 1)],
)
def test_one_wait_more_is_lost_beside_those_of_each_turn_of_a_loop(tmp_path, loop, count):
    assert said(tmp_path, BESIDE.format(loop=loop), "DEV303") == count
