"""DEV304: what is written in place of a tensor that is made on the host and moved."""

from __future__ import annotations

import pytest
from rule_check import check_text

MADE = """
import numpy as np
import torch


class Policy:
    def __init__(self, device):
        self.device = device
        self.scale = load_scale()

    def target(self, rows: {kind}, width):
        return torch.tensor({data}).to(self.device)
"""


@pytest.mark.parametrize(
    ("data", "made"),
    [
        ("0.5", "torch.full((), 0.5, device=self.device)"),
        ("-1", "torch.full((), -1, device=self.device)"),
        ("float(self.scale)", "torch.full((), float(self.scale), device=self.device)"),
        ("2 * len(rows)", "torch.full((), 2 * len(rows), device=self.device)"),
        # a name of which no more than this is known: `torch.full` takes no list and no array
        ("rows", "torch.tensor(rows, device=self.device)"),
        ("[1, 2]", "torch.tensor([1, 2], device=self.device)"),
    ],
)
def test_a_number_is_filled_in_where_it_surely_is_one(data, made):
    code = MADE.format(kind="float", data=data)
    (found,) = check_text(code)
    assert found.advice == f"make it there: `{made}`"


@pytest.mark.parametrize("kind", ["np.ndarray", "npt.NDArray[np.float32]", "list"])
def test_data_that_is_copied_in_any_case_is_no_finding(kind):
    """Of an array or a list `torch.tensor(rows, device=…)` makes the same copies."""
    found = check_text(MADE.format(kind=kind, data="rows"))
    assert found == []


@pytest.mark.parametrize(
    ("made", "there"),
    [
        (
            "torch.FloatTensor(2, len(rows))",
            "torch.empty(2, len(rows), dtype=torch.float32, device=self.device)",
        ),
        (
            "torch.LongTensor(2, 3).fill_(7)",
            "torch.empty(2, 3, dtype=torch.int64, device=self.device)",
        ),
        ("torch.FloatTensor(rows)", None),  # data, or one size
        ("torch.FloatTensor(*rows)", None),
        ("torch.cuda.FloatTensor(2, 3)", None),  # not made on the host
    ],
)
def test_a_legacy_type_with_several_arguments_makes_an_empty_tensor(made, there):
    code = MADE.format(kind="list", data="0").replace("torch.tensor(0)", made)
    found = [each.advice for each in check_text(code) if each.rule == "DEV304"]
    assert found == ([f"make it there: `{there}`"] if there else [])


KEPT = """
import torch


class Learner:
    def __init__(self, **options):
        self.{name} = options["{name}"]

    def observe(self, rows):
        for row in rows:
            loss = torch.tensor(0.0).to(self.{name})
            self.step(loss + row)
"""


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("device", "torch.full((), 0.0, device=self.device)"),
        ("like", "self.like.new_zeros(())"),
    ],
)
def test_an_option_under_a_device_s_name_is_a_device_and_no_tensor(name, made):
    (found,) = [each for each in check_text(KEPT.format(name=name)) if each.rule == "DEV304"]
    assert found.advice == f"make it there: `{made}`"
