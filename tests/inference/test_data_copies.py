"""Python data that never change, and are made a device tensor."""

import pytest
from given import given

from devlint.inference.facts import DataCopy

MODULE = """
import torch
from torch import nn

class Shuffle(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.order = list(range(width))
        self.seen = []

    def forward(self, x):
        {line}
        return x[:, made]
"""


def copies(line: str) -> list[DataCopy]:
    return given(MODULE.format(line=line)).data_copies


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("made = torch.tensor(1, device=x.device)", "number"),
        ("made = torch.tensor(-1.5, device=x.device, dtype=x.dtype)", "number"),
        ("made = torch.tensor([[0, 1], [1, 0]], device=x.device)", "written"),
        ("made = torch.tensor(self.order, device=x.device)", "kept"),
        ("made = torch.as_tensor(self.order, device=x.device)", "kept"),
    ],
)
def test_data_that_are_the_same_in_each_call(line, kind):
    (copy,) = copies(line)
    assert copy.kind.value == kind and copy.in_step == "forward"
    assert copy.of_tensor and copy.in_module


@pytest.mark.parametrize(
    "line",
    [
        "made = torch.tensor(self.order)",  # on the host
        "made = torch.tensor(self.order, device='cpu')",
        "made = torch.tensor([len(x), 0], device=x.device)",  # others with each call
        "made = torch.tensor(rows(x), device=x.device)",
        "self.seen = [*self.seen, 1]; made = torch.tensor(self.seen, device=x.device)",
    ],
)
def test_other_data_are_none(line):
    assert copies(line) == []


def test_a_tensor_that_is_kept_is_no_data():
    text = MODULE.replace("list(range(width))", "torch.arange(width)")
    line = "made = torch.tensor(self.order, device=x.device)"
    assert given(text.format(line=line)).data_copies == []


def test_a_constructor_copies_once():
    text = MODULE.replace("self.seen = []", "self.seen = torch.tensor(1.0, device='cuda')")
    assert given(text.format(line="made = x")).data_copies == []


@pytest.mark.parametrize(
    "filled",
    [
        "if width > 2: self.order.extend(range(width))",
        "if width > 2: self.order = [width]",  # whichever it is, it stays
    ],
)
def test_a_constructor_may_fill_what_it_keeps(filled):
    text = MODULE.replace("self.seen = []", filled)
    made = given(text.format(line="made = torch.tensor(self.order, device=x.device)"))
    assert len(made.data_copies) == 1


@pytest.mark.parametrize(
    "change", ["self.seen.append(x.size(0))", "self.seen[0] = x.size(0)", "self.seen[0] += 1"]
)
def test_what_another_method_fills_does_change(change):
    assert copies(f"{change}; made = torch.tensor(self.seen, device=x.device)") == []
