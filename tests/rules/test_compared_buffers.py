"""A buffer that is only compared may live anywhere: rebinding it leaves nothing behind (DEV207)."""

from __future__ import annotations

import pytest
from rule_check import check_text

CODE = """\
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("best", torch.zeros(1))

    def record(self, accuracy):
        if accuracy > self.best:
            self.best = torch.ones(1) * accuracy
{more}
"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", "possible"),
        ("\n    def forward(self, x):\n        return x - self.best", "likely"),
    ],
)
def test_what_the_class_asks_of_a_buffer(more, expected):
    found = [f for f in check_text(CODE.format(more=more)) if f.rule == "DEV207"]
    assert [f.confidence.value for f in found] == [expected]
