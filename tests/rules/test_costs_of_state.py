"""State that a step changes is made anew in each step, and filled as the step goes on."""

from __future__ import annotations

import pytest
from rule_check import check_text

TOTAL = """\
import torch


class Optimizer(torch.optim.Optimizer):
    def step(self, device: torch.device):
        total = torch.tensor([0.0, 0.0], device=device)
        for group in self.param_groups:
            for p in group["params"]:
                {then}
        return total
"""


@pytest.mark.parametrize(
    ("then", "count"),
    [("total.add_(p.grad.sum())", 0), ("total += p.grad.sum()", 0), ("p.grad.mul_(total)", 1)],
)
def test_what_a_step_adds_up_in_is_no_constant(then, count):
    found = check_text(TOTAL.format(then=then))
    assert sum(each.rule == "DEV301" for each in found) == count


WALK = """\
import torch


def sample(model, n):
    model.cuda()
    nodes = torch.zeros(n, 4, device="cuda")
    for i in range(n):
        {read}
        nodes[i, 0] = 1.0
    return nodes
"""


@pytest.mark.parametrize(
    ("read", "count"),
    [("model(nodes)", 0), ("print(len(nodes))", 1), ("model(nodes[i])", 1)],
)
def test_what_each_turn_feeds_back_is_written_bit_by_bit(read, count):
    found = check_text(WALK.format(read=read))
    assert sum(each.rule == "DEV305" for each in found) == count
