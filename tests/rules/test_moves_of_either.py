"""Moves of what is asked whether it is a module or a tensor."""

import pytest
from rule_check import check_text

CODE = """
import torch
from torch import nn
from torch.nn import Module, Parameter

class Own:
    def to(self, device):
        pass

def moved(holder, device):
    for key in dir(holder):
        part = getattr(holder, key)
        if {test}:
            {move}
"""


def lines(test: str, move: str = "part.to(device)") -> list[int]:
    found = check_text(CODE.format(test=test, move=move))
    return [finding.location.line for finding in found if finding.rule == "DEV201"]


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(part, (nn.Module, nn.Parameter))",
        "isinstance(part, (Module, Parameter))",
        "isinstance(part, (nn.Module, torch.Tensor))",
        "isinstance(part, (torch.Tensor, nn.Module, Own))",
        "isinstance(part, nn.Module) or isinstance(part, nn.Parameter)",
        "isinstance(part, (nn.Module, nn.Parameter)) and key != 'frozen'",
        "isinstance(part, nn.Parameter)",
        "isinstance(part, torch.Tensor)",
    ],
)
def test_of_a_module_or_a_tensor_the_tensor_is_lost(test):
    assert lines(test) == [14]


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(part, nn.Module)",
        "isinstance(part, (nn.Module, Own))",
        "isinstance(part, (nn.Module, nn.Linear))",
        "not isinstance(part, (nn.Module, nn.Parameter))",
        "isinstance(part, nn.Module) or key == 'scale'",
        "isinstance(key, (nn.Module, nn.Parameter))",
        "isinstance(part, nn.Module) and not isinstance(part, (nn.Module, nn.Parameter))",
    ],
)
def test_what_may_be_no_tensor_is_not_lost(test):
    assert lines(test) == []


@pytest.mark.parametrize(
    "move",
    [
        "setattr(holder, key, part.to(device))",
        "part = part.to(device)",
        "part.to(torch.float16)",
        "part = find(key); part.to(device)",
        "part.eval(); part.to(device)",
        "\n            if isinstance(part, nn.Module):\n                part.to(device)",
        "\n            if isinstance(part, nn.Parameter): pass\n            else: part.to(device)",
    ],
)
def test_what_is_kept_or_told_apart_is_not_lost(move):
    assert lines("isinstance(part, (nn.Module, nn.Parameter))", move) == []


def test_a_parameter_gets_other_data():
    text = CODE.format(test="isinstance(part, (nn.Module, nn.Parameter))", move="part.cuda()")
    (finding,) = (each for each in check_text(text) if each.rule == "DEV201")
    assert "`part.data = part.data.cuda()`" in finding.message + (finding.advice or "")
    assert finding.fix is None
