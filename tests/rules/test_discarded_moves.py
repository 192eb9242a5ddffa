"""DEV201: whose discarded move is a mistake."""

from __future__ import annotations

import pytest
from rule_checking import check_text

LONG = "rows_of_" + "_".join(["negative"] * 8)


@pytest.mark.parametrize(
    ("moved", "count"),
    [
        ("x.to(device)", 1),
        ("x.float().to(device)", 1),
        ("x.to(x.device)", 0),  # it is there already
        (f"{LONG} = x + 1\n    {LONG}.to({LONG}.device)", 0),  # messages shorten it
        ("make(x).to(device)", 0),  # nobody holds it: nothing stays behind
    ],
)
def test_what_stays_where_it_was(moved: str, count: int):
    found = check_text(f"""
import torch


def make(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def use(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    {moved}
    return x * 2
""")
    assert [finding.rule for finding in found].count("DEV201") == count


@pytest.mark.parametrize(
    ("device", "count"), [('"cpu"', 0), ('"cuda"', 2), ('"cuda" if flag else "cpu"', 2)]
)
def test_a_program_for_the_host_alone_has_nothing_to_move(device, count):
    found = check_text(f"""
from sys import flags as flag

import torch
from torch import nn

device = torch.device({device})
model = nn.Linear(4, 2).to(device)

def show(rows: torch.Tensor):
    rows.to(device)
    out = rows.argmax(dim=1)
    out.detach().to(device)
    print(out.numpy())
""")
    assert len([f for f in found if f.rule == "DEV201"]) == count


@pytest.mark.parametrize(
    ("made", "use", "count"),
    [
        ("make(conf)", "net.eval()", 0),
        ("make(conf)", "print(net)", 0),  # the device that it was moved to says nothing of its kind
        ("torch.zeros(3)", "print(net)", 1),
    ],
)
def test_what_is_used_as_a_module_is_no_tensor(made, use, count):
    found = check_text(f"""
import torch


def restore(conf, device):
    net = {made}
    return net.to(device)


def start(conf, index):
    net = restore(conf, torch.device("cuda"))
    {use}
    net.to(index)
    return net
""")
    assert [finding.rule for finding in found].count("DEV201") == count


@pytest.mark.parametrize(
    ("moved", "count"),
    [('torch.zeros(1, device="cuda").cpu()', 0), ("x.detach().cpu()", 1)],
)
def test_what_nobody_holds_is_moved_for_its_effect(moved, count):
    code = f"import torch\n\n\ndef warm(x: torch.Tensor):\n    {moved}\n    return x * 2\n"
    assert [finding.rule for finding in check_text(code)].count("DEV201") == count
