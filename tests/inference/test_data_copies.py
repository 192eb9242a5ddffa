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


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("made = torch.tensor(self.order).to(x.device)", "kept"),
        ("made = torch.tensor(self.order).view(1, -1).to(x.device)", "kept"),
        ("made = torch.tensor([0.5, 0.25]).to(x)", "written"),
        ("made = torch.tensor(self.seen).to(x.device)", ""),  # `forward` may fill it
        ("made = torch.tensor(self.order) + 1", ""),  # it stays
        ("made = torch.tensor(1.0).to(x.device)", ""),  # the move tells of one number
    ],
)
def test_data_that_are_made_a_tensor_and_moved_are_the_same_copy(line, kind):
    grown = "self.seen.append(1); " if "seen" in line else ""
    assert [copy.kind.value for copy in copies(grown + line)] == ([kind] if kind else [])


CLASS = """
import torch

class Predictor:
    mean = [0.5, 0.25]

    def prepared(self, batch, device):
        return batch.to(device) - torch.tensor(self.mean).to(device)

    def run(self, loader, device):
        for batch in loader:
            {call}
"""


@pytest.mark.parametrize(
    ("call", "step"), [("self.prepared(batch, device)", "prepared"), ("print(batch)", "")]
)
def test_what_a_class_declares_is_copied_by_each_call_in_a_hot_loop(call, step):
    (copy,) = given(CLASS.format(call=call)).data_copies
    assert copy.in_step == step


CACHED = """
import functools
import torch
from torch import nn

def remember(size):
    def around(function):
        return functools.lru_cache(maxsize=size)(function)
    return around

def traced(function):
    return function

class Shuffle(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.order = list(range(width))

    {decorator}
    def index(self, device):
        return torch.tensor(self.order, device=device)

    def forward(self, x):
        return x[:, self.index(x.device)]
"""


@pytest.mark.parametrize(
    ("decorator", "step"),
    [
        ("@functools.lru_cache(None)", ""),
        ("@remember(8)", ""),  # of the project, and it keeps the results
        ("@lru_cache_unless_tracing", ""),  # out of sight: by its name
        ("@traced", "index"),
        ("", "index"),
    ],
)
def test_a_function_whose_results_are_kept_runs_once_for_each_argument(decorator, step):
    (copy,) = given(CACHED.format(decorator=decorator)).data_copies
    assert copy.in_step == step
