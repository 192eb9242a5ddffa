"""A module's input that may be no tensor: where it is none, nothing but this code can bring it to
the module's device."""

from __future__ import annotations

import pytest
from rule_check import check_text

from devlint.findings import Confidence

SCORER = """
import numpy as np
import torch
from torch import nn


def ready(x):
    return x


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def score(self, x{more}):
        {line}
        return self.net(x)
"""


def said(line: str, more: str = "") -> list[tuple[str, Confidence]]:
    found = check_text(SCORER.format(line=line, more=more))
    return [(f.rule, f.confidence) for f in found if f.confidence is not Confidence.POSSIBLE]


@pytest.mark.parametrize(
    "line",
    [
        "x = torch.tensor(x) if isinstance(x, list) else x",
        "x = x if torch.is_tensor(x) else torch.tensor(x)",
        "x = torch.from_numpy(x).float() if isinstance(x, np.ndarray) else x",
    ],
)
def test_an_input_that_is_no_tensor_stays_on_the_host(line: str) -> None:
    assert said(line) == [("DEV103", Confidence.LIKELY)]


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("x = torch.tensor(x).to(self.net.weight) if isinstance(x, list) else x", ""),
        ("x = ready(torch.tensor(x) if isinstance(x, list) else x).to(self.net.weight)", ""),
        # Of another branch than one on the input's own type something out of sight may take care.
        ("x = torch.zeros(1, 3) if blank else x", ", blank=False"),
    ],
)
def test_an_input_that_is_brought_there_or_that_is_one_of_two(line: str, more: str) -> None:
    assert said(line, more) == []
