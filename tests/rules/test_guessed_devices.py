"""DEV101: where one of two devices is a guess, the finding is only possible."""

from __future__ import annotations

import pytest
from rule_checking import check_text


@pytest.mark.parametrize(
    ("output", "confidence"),
    [("rows.exp()", "certain"), ("score(rows)", "possible")],
)
def test_the_target_that_moved_alone(output: str, confidence: str):
    found = check_text(f"""
import torch
from helpers import score


def step(labels: torch.Tensor):
    rows = torch.rand(3, 4).cpu()
    return {output} - labels.cuda()
""")
    assert [(f.rule, f.confidence.value) for f in found if f.rule == "DEV101"] == [
        ("DEV101", confidence)
    ]
