"""Inside what is compiled a constant is a fill kernel: there is nothing to mend."""

from __future__ import annotations

import pytest
from rule_check import said

PENALTY = """\
{above}
def penalty(x: torch.Tensor):
    zero = torch.tensor(0.0, device=x.device)
    return torch.maximum(x, zero)


{below}
"""


@pytest.mark.parametrize(
    ("above", "below", "count"),
    [
        ("", "", 1),
        ("@torch.compile", "", 0),
        ("@torch.compile(dynamic=True)", "", 0),
        ("", "penalty = torch.compile(penalty, fullgraph=True)", 0),
        ("", "@torch.compile\ndef loss(x):\n    return penalty(x).sum()", 0),
        ("", "@torch.compile\ndef loss(x):\n    return x.sum()", 1),  # another one is
        ("", "@torch.no_grad()\ndef loss(x):\n    return penalty(x).sum()", 1),
    ],
)
def test_a_constant_in_compiled_code_is_no_copy(above, below, count):
    assert len(said(PENALTY.format(above=above, below=below), "DEV304")) == count


def test_a_block_that_is_made_on_the_host_is_one_in_compiled_code_too():
    code = (
        "@torch.compile\ndef noisy(x: torch.Tensor):\n"
        "    noise = torch.randn(x.shape).to(x.device)\n    return x + noise\n"
    )
    assert len(said(code, "DEV304")) == 1
