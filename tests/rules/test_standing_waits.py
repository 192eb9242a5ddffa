"""What is copied right beside a wait that stays costs little: the host waits there anyway."""

from __future__ import annotations

import pytest
from rule_check import said

FILLED = """\
def scaled(x: torch.Tensor, other: torch.Tensor, heavy):
    one = torch.tensor(1.0, device=x.device)
    {between}
    {wait}
    return heavy(x * one, y)
"""


@pytest.mark.parametrize(
    "wait",
    [
        "y = torch.equal(x, other)",
        "y = other.nonzero()",
        "y = torch.where(other > 0)",
        "y = other.unique()",
        "y = x.repeat_interleave(other)",
        "y = x[other > 0]",
        "near = (x == other).all(dim=1); y = x[near]",
        "y = [x[i, pad_mask[i]] for i in range(3)]",
        "y = other.tolist()",
        "y = other.sum().item()",
        "y = torch.distributions.Gumbel(one, one).sample()",  # it checks its parameters
    ],
)
@pytest.mark.parametrize(
    ("between", "count"),
    [("pass", 0), ("other = other.cumsum(0).diff()", 0), ("other = heavy(other)", 1)],
)
def test_a_number_beside_a_wait_that_stays_costs_little(wait, between, count):
    assert len(said(FILLED.format(wait=wait, between=between), "DEV304")) == count


@pytest.mark.parametrize(
    ("wait", "count"),
    [
        ("y = x[ids]", 1),  # integers: as many rows as there are of them
        ("y = x.clone(); y[other > 0] = 0", 1),  # written, nobody asks how many there are
        ("y = torch.where(other > 0, x, other)", 1),
        ("y = x.repeat_interleave(other, output_size=8)", 1),
        ("y = x.repeat_interleave(2)", 1),
        ("y = torch.distributions.Gumbel(one, one, validate_args=False).sample()", 1),
        ("y = x\n    if other is None:\n        y = other.nonzero()", 1),  # it may not be reached
    ],
)
def test_what_need_not_wait_is_no_neighbour(wait, count):
    code = FILLED.format(wait=wait, between="pass")
    assert len(said(code, "DEV304")) == count


KEPT = """\
class Bags(nn.Module):
    def forward(self, x: torch.Tensor, ends: torch.Tensor):
        x = self.net(x)
        start = torch.tensor([0], device=x.device)
        {between}
        {last}
"""
COUNTS = "ends = torch.cat([start, ends]).diff()"


@pytest.mark.parametrize(
    ("between", "last", "count"),
    [
        (COUNTS, "return x.repeat_interleave(ends, dim=0)", 0),
        (COUNTS, "return self.head(x, ends)", 1),
        (COUNTS + "; x = self.last(x)", "return x.repeat_interleave(ends, dim=0)", 1),
    ],
)
def test_a_constant_beside_a_wait_that_stays_costs_little(between, last, count):
    assert len(said(KEPT.format(between=between, last=last), "DEV301")) == count


READ = """\
class PackLoss(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        x = self.net(x)
        least = int(mask.sum(1).min().item())
        {rows}
        return self.head(x)[:least]
"""


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ("x = x[mask]", 0),
        ("x = x[mask].mean(0)", 1),  # a sum weighted by the mask would do
        ("x = self.last(x)[mask]", 1),  # far away: a module runs in between
    ],
)
def test_a_number_read_beside_rows_that_a_mask_picks_costs_little(rows, count):
    assert len(said(READ.format(rows=rows), "DEV303")) == count
