"""Loops over epochs that take one step with all the data in each turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config

TRAIN = """\
import torch


def train(model, rows, edges, epochs, device):
    model.to(device)
    rows = rows.to(device)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        loss = model(rows, edges.to(device)).mean()
        {step}
"""


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("optimizer.zero_grad(); loss.backward(); optimizer.step()", 1),
        ("print(epoch)", 0),
        # the steps are in a loop inside, one for each batch
        ("optimizer.zero_grad(); [(loss / n).backward() for n in (1, 2)]", 0),
    ],
)
def test_an_epoch_that_is_a_step_transfers_what_never_changes_in_each(
    tmp_path: Path, step: str, said: int
):
    file = tmp_path / "work.py"
    file.write_text(TRAIN.format(step=step))
    report = engine.check([file], Config(tmp_path), tuple(RULES.values()))
    assert not report.errors
    assert [f.rule for f in report.findings if f.rule == "DEV301"] == ["DEV301"] * said
