"""Advice names what the code names: its devices, its types, and no attribute that is not there."""

from __future__ import annotations

from rule_check import check_text

HELD = """
import torch
from torch import nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3))

    def forward(self, x, hidden):
        return self.gain * x + hidden


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = Inner()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        hidden = torch.zeros(3)
        return self.rnn.forward(self.lin(x), hidden)
"""


def _advice(text: str, code: str) -> list[str]:
    return [finding.advice for finding in check_text(text) if finding.rule == code]


def test_a_module_has_no_device_attribute() -> None:
    (advice,) = _advice(HELD, "DEV102")
    assert "device=next(self.rnn.parameters()).device" in advice


def test_a_tensor_has_one() -> None:
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x + torch.zeros(3)\n"
    (advice,) = _advice(text, "DEV102")
    assert "device=x.device" in advice


def test_a_comparison_keeps_its_device_and_its_type() -> None:
    text = 'import torch\n\n\ndef f(y: torch.Tensor):\n    return y.device == "xpu"\n'
    (advice,) = _advice(text, "DEV110")
    assert '`y.device.type == "xpu"`' in advice


def test_the_result_of_a_call_is_no_target() -> None:
    text = (
        "import torch\n\n\ndef f(x: torch.Tensor, device):\n    x = x.cuda()\n"
        "    x.squeeze_(0).to(device)\n    return x\n"
    )
    (advice,) = _advice(text, "DEV201")
    assert "keep the result: assign it to" in advice


def test_a_legacy_type_of_another_tensor() -> None:
    text = "import torch\n\n\ndef f(y: torch.Tensor):\n    return torch.zeros(3).type(y.type())\n"
    (advice,) = _advice(text, "DEV503")
    assert "`dtype=y.dtype` and `device=y.device`" in advice


def test_of_what_is_in_one_list_no_device_is_that_of_the_list():
    (found,) = check_text("""
import torch
from torch import nn


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Linear(3, 3)

    def forward(self, rows, lengths):
        parts = []
        for row, length in zip(self.mlp(rows), lengths):
            parts.append(row if length else torch.zeros(3))
        return torch.cat(parts)
""")
    assert found.advice == (
        "make it on the device of the other operand: pass `device=` to the factory"
    )


def test_a_module_whose_parameter_stands_there_is_named_by_that():
    found = next(
        each
        for each in check_text("""
import torch
from torch import nn


class Bounded(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n, n))

    def excess(self):
        return torch.max(torch.zeros(1), torch.norm(self.weight, 2) - 1)
""")
        if each.rule == "DEV102"
    )
    assert found.advice.endswith("`torch.zeros(1, device=self.weight.device)`")


def test_a_parameter_that_nothing_trains_is_made_behind_the_move():
    found = next(
        each
        for each in check_text("""
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, size, device):
        super().__init__()
        self.options = dict(dtype=torch.float32, device=device)
        self.mean = nn.Parameter(torch.zeros(size), requires_grad=False).to(**self.options)

    def forward(self, x):
        return x - self.mean
""")
        if each.rule == "DEV203"
    )
    assert "requires_grad_()" not in found.advice
    assert "`nn.Parameter(x.to(device), requires_grad=False)`" in found.advice


HANDED_DEVICE = """
import torch
from torch import nn


def epoch(model, batches, criterion, device):
    for x, y in batches:
        criterion(model(x.to(device)), y.to(device))


def main(batches, device):
    model = nn.Linear(3, 3).to(device)
    criterion = nn.CrossEntropyLoss(weight=torch.ones(3))
    epoch(model, batches, criterion, device)
"""


def test_a_device_that_is_handed_over_is_no_tensor_on_one():
    (found,) = [f for f in check_text(HANDED_DEVICE) if f.rule == "DEV103"]
    assert "`criterion` is on cpu, what it meets on `device`" in found.message
    assert found.advice == "move it before the call: `criterion.to(device)`"
