"""DEV205: which plain attributes are worth registering, and how."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES, said

from devlint import engine
from devlint.config import Config

NET = """\
import torch
from torch import nn


class Filters(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        {made}

    def forward(self, x: torch.Tensor):
        {first}
        return self.fc(x) * self.scales{which}
"""
LIST = "self.scales = [torch.rand(4), torch.rand(4)]"
USUAL = {"made": LIST, "first": "pass", "which": "[0]"}


def unregistered(root: Path, code: str, others: dict[str, str] | None = None) -> list[str]:
    """What is advised, at the confidence that users have."""
    for name, text in {"work.py": code, **(others or {})}.items():
        (root / name).write_text(text)
    report = engine.check([root / "work.py"], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [finding.advice for finding in report.findings if finding.rule == "DEV205"]


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("self.scales[0] = self.scales[0].to(x.device)", 0),
        ("for i in range(2): self.scales[i] = self.scales[i].to(x.device)", 0),
        ("scale = self.scales[0] + 1", 1),
    ],
)
def test_a_list_whose_elements_forward_moves_stays_nowhere(tmp_path, first, said):
    assert len(unregistered(tmp_path, NET.format(**USUAL | {"first": first}))) == said


def test_a_part_of_a_tensor_is_taken_where_that_is_and_moved_too_late(tmp_path):
    code = """\
import torch
from torch import nn


class Schedule(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.logvar = torch.zeros(1000)

    def forward(self, x: torch.Tensor):
        steps = torch.randint(0, 1000, (len(x),), device=x.device)
        return self.fc(x) * self.logvar[steps].to(x.device)
"""
    assert len(unregistered(tmp_path, code)) == 1


@pytest.mark.parametrize(
    ("made", "which", "advice"),
    [
        (LIST, "[0]", "a list is no buffer: register each tensor of it"),
        ("self.scales = torch.rand(4)", "", 'register it: `self.register_buffer("scales", …)`'),
        (
            "self.scales = torch.rand(4, requires_grad=True)",
            "",
            "register what is trained: `self.scales = nn.Parameter(…)`",
        ),
        (
            "self.scales = [torch.rand(4, requires_grad=True)]",
            "[0]",
            "register what is trained: `self.scales = nn.ParameterList(…)`",
        ),
        (
            "self.scales = nn.Parameter(torch.rand(2, 4)).mean(dim=0)",
            "",
            "compute it where it is used",
        ),
    ],
)
def test_advice_fits_what_is_kept(tmp_path, made, which, advice):
    (said,) = unregistered(tmp_path, NET.format(**USUAL | {"made": made, "which": which}))
    assert said.startswith(advice)


MASKED = """\
import torch
from torch import nn


class Masked(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.mask = torch.bernoulli(torch.full_like(self.weight, 0.5))

    def forward(self, x):
        return x @ (self.weight * self.mask)


if __name__ == "__main__":
    {main}
"""


@pytest.mark.parametrize(
    ("main", "others", "said"),
    [
        ("print(Masked(3, 3)(torch.ones(3)))", {}, 0),
        ('print(Masked(3, 3).to("cuda")(torch.ones(3, device="cuda")))', {}, 1),
        (
            "print(Masked(3, 3)(torch.ones(3)))",
            {"train.py": "from work import Masked\nnet = Masked(3, 3)"},
            1,
        ),
        ("print(1)", {}, 0),  # nothing makes one, in a file that is run
    ],
)
def test_a_class_that_a_script_of_the_host_keeps_to_itself_goes_nowhere(
    tmp_path, main, others, said
):
    assert len(unregistered(tmp_path, MASKED.format(main=main), others)) == said


WEIGHTED = """
class Smooth({base}):
    def __init__(self, {name}: torch.Tensor):
        super().__init__()
        self.{name} = {name}

    def forward(self, x, y):
        return (x * self.{name}).mean()
"""


@pytest.mark.parametrize(
    ("base", "name", "count"),
    [
        ("nn.CrossEntropyLoss", "weight", 0),
        ("nn.BCEWithLogitsLoss", "pos_weight", 0),
        ("nn.CrossEntropyLoss", "scales", 1),
        ("nn.Module", "weight", 1),
    ],
)
def test_a_loss_of_torch_registers_its_weight(base, name, count):
    assert len(said(WEIGHTED.format(base=base, name=name), "DEV205")) == count
