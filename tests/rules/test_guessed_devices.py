"""DEV101: where one of two devices is a guess, the finding is only possible."""

from __future__ import annotations

import pytest
from rule_check import check_text

from devlint.findings import Confidence


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


def test_what_a_model_makes_of_a_part_of_a_batch_is_no_part_of_it():
    """Where a card is given the images are moved, too, and with them what the model makes."""
    code = """
import torch


def accuracy(output, target):
    return output.argmax(1).eq(target.view(-1)).sum()


def train(train_loader, model, criterion, args):
    for images, target in train_loader:
        if args.gpu is not None:
            images = images.cuda(args.gpu)
        target = target.cuda(args.gpu)
        output = model(images)
        loss = criterion(output, target)
        loss.backward()
        found = accuracy(output, target)
"""
    found = [each for each in check_text(code) if each.rule.startswith("DEV1")]
    assert all(each.confidence is Confidence.POSSIBLE for each in found)
