"""One habit is one finding: what a function does several times is named at its further places."""

from __future__ import annotations

from rule_check import check_text


def test_loads_of_one_function():
    text = """
import torch


def resume(net, ema, folder):
    net.load_state_dict(torch.load(folder + "/net.pt"))
    ema.load_state_dict(torch.load(folder + "/ema.pt"))


def start(net, folder):
    net.load_state_dict(torch.load(folder + "/first.pt"))
"""
    loads, alone = (f for f in check_text(text) if f.rule == "DEV502")
    assert [related.location.line for related in loads.related] == [7]
    assert "(and at one more place)" in loads.message
    assert loads.fix is not None and len(loads.fix.edits) == 2
    assert alone.location.line == 11 and alone.related == ()
