"""Loops that keep graphs, and clocks: what DEV311 and DEV405 leave alone."""

from __future__ import annotations

from rule_check import check_text

EVALUATION = """\
import torch


def collect(model, loader):
    model.eval()
    outputs = []
    for batch in loader:
        outputs.append(model(batch.cuda()))
{behind}    return outputs


collect(torch.nn.Linear(2, 2).cuda(), torch.utils.data.DataLoader([torch.ones(2)]))
"""

CLOCK = """\
import time

import torch
from torch import nn

model = nn.Linear(512, 512).cuda()
x = torch.randn(64, 512, device="cuda")
start = time.time()
y = model(x)
end = time.time()
{shown}
"""


def rules_of(text: str) -> set[str]:
    return {found.rule for found in check_text(text)} & {"DEV311", "DEV405"}


def test_an_evaluation_with_gradients_on_keeps_graphs():
    assert rules_of(EVALUATION.format(behind="")) == {"DEV311"}


def test_what_numpy_reads_undetached_has_no_graph():
    behind = "        print(outputs[-1].cpu().numpy())\n"
    assert rules_of(EVALUATION.format(behind=behind)) == set()


def test_what_another_method_goes_back_through_keeps_its_graph():
    text = """\
from torch import nn


class Searcher:
    def __init__(self, policy: nn.Module):
        self.policy, self.scores = policy.cuda(), []

    def evaluate(self, loader):
        self.policy.eval()
        for batch in loader:
            self.scores.append(self.policy(batch.cuda()))

    def learn(self):
        sum(self.scores).sum().backward()
"""
    assert rules_of(text) == set()


def test_a_time_that_is_shown_is_taken_behind_a_wait():
    assert rules_of(CLOCK.format(shown="print(end - start)")) == {"DEV405"}


def test_a_time_in_dead_code_is_nobody_s():
    assert rules_of(CLOCK.format(shown="if False:\n    print(end - start)")) == set()
