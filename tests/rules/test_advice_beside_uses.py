"""Advice that holds for what else is done with a tensor: it is changed, read, or handed on."""

from __future__ import annotations

import pytest
from rule_check import check_text

HEAD = "import torch\nfrom torch import nn\n\n\n"


def advice(code: str, rule: str) -> list[str]:
    return [str(each.advice) for each in check_text(HEAD + code) if each.rule == rule]


SCALED = """\
def scale(rows):
    size = torch.rand(4, device="cuda")
    boxes = torch.from_numpy(rows)
    {change}
    return boxes
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("boxes[:, 2:] *= size", "`boxes = boxes.to(size.device)`"),
        ("boxes.mul_(size)", "`boxes = boxes.to(size.device)`"),
        ("boxes = boxes * size", "`boxes.to(size.device)`"),
    ],
)
def test_what_is_changed_in_place_moves_as_a_whole(change, told):
    (text,) = advice(SCALED.format(change=change), "DEV101")
    assert text.endswith(told)


NORM = """\
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        {init}

    def forward(self, x: torch.Tensor):
        {norm}
"""


@pytest.mark.parametrize(
    ("init", "norm"),
    [
        ("self.dim = dim", "return nn.BatchNorm1d(self.dim)(x)"),
        ("self.norm = lambda x: nn.BatchNorm1d(dim)(x)", "return self.norm(x)"),
    ],
)
def test_a_module_that_each_call_makes_belongs_into_the_constructor(init, norm):
    (text,) = advice(NORM.format(init=init, norm=norm), "DEV103")
    assert text.startswith("make it once, in the constructor, where it is registered: `self.…")


def test_a_module_of_a_function_is_moved():
    code = "x = torch.rand(2, 3).cuda()\ny = nn.Linear(3, 3)(x)\n"
    assert advice(code, "DEV103") == ['move it before the call: `nn.Linear(3, 3).to("cuda")`']


GROUPED = """\
import ext


class Group(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features: torch.Tensor, count):
        out = torch.cuda.FloatTensor(count, 3)
        {use}
        return out
"""


@pytest.mark.parametrize(
    ("use", "device"),
    [("ext.group(count, features, out)", "features.device"), ("ext.fill(count, out)", '"cuda"')],
)
def test_what_a_kernel_writes_is_made_where_its_input_is(use, device):
    (text,) = advice(GROUPED.format(use=use), "DEV503")
    assert text == f"write `torch.empty(count, 3, dtype=torch.float32, device={device})`"


SHIFTS = """\
class Unpack(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.shifts = torch.arange(0, 32, 4)

    def forward(self, x: torch.Tensor):
        {first}
        return x * self.shifts
"""
COPIED = "weight = self.weight.cpu(); self.note(weight >> self.shifts)"


@pytest.mark.parametrize(
    ("first", "told"),
    [(COPIED, "self.shifts.to(….device)"), ("weight = self.weight.cpu()", "register_buffer")],
)
def test_a_buffer_would_not_follow_what_is_copied_to_the_host(first, told):
    (text,) = advice(SHIFTS.format(first=first), "DEV205")
    assert told in text


FED = """\
def feed(model, tokenizer, rows, device):
    ids = {made}
    return model(ids.to(device, non_blocking=True))
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("torch.tensor(rows)", "`torch.tensor(…, pin_memory=True)`"),
        ("torch.from_numpy(rows)", "`torch.from_numpy(…).pin_memory()`"),
        ("tokenizer(rows, return_tensors='pt')['input_ids']", "`ids.pin_memory()`"),
    ],
)
def test_only_factories_of_torch_take_the_wish_for_pinned_memory(made, told):
    for text in advice(FED.format(made=made), "DEV306"):
        assert text.endswith(told)


SHUFFLED = """\
class TokenLayer(nn.Module):
    def forward(self, x: torch.Tensor, token):
        order = torch.randperm(x.shape[1])
        x = self.net(x)[:, order]
        return self.head(x, {place})
"""


@pytest.mark.parametrize(
    ("place", "sure"),
    [("(order == token).nonzero()[0].item()", False), ("token", True), ("x[order]", True)],
)
def test_an_index_that_the_host_reads_as_well_may_stay_there(place, sure):
    found = [f for f in check_text(HEAD + SHUFFLED.format(place=place)) if f.rule == "DEV308"]
    assert [f.confidence.value != "possible" for f in found] == [sure]
