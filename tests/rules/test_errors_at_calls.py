"""What an error of a call may rest on: where a module is, and what it is handed. Each law with code
that is right, and the slip beside it that is not."""

from __future__ import annotations

import pytest
from rule_check import check_text, said

from devlint.findings import Confidence, Severity

PIPELINE = """
class Pipeline:
    def __init__(self, width):
        self.load(width)

    def load(self, width):
        net = nn.Linear(width, 2)
        {move}
        self.parts = {kept}
        self.empty = self.encode(torch.zeros(1, width))

    def encode(self, rows):
        return {read}(rows.cuda())
"""


@pytest.mark.parametrize(
    ("kept", "read"), [("net", "self.parts"), ('{"net": net}', 'self.parts["net"]')]
)
@pytest.mark.parametrize(("move", "count"), [("net = net.cuda()", 0), ("net.cuda()", 0), ("", 1)])
def test_a_method_under_way_hands_on_what_it_moved(move, count, kept, read):
    code = PIPELINE.format(move=move, kept=kept, read=read)
    assert len(said(code, "DEV103")) == count


SHARDED = """
class Sharded(nn.Parameter):
    def __new__(cls, data):
        held = torch.empty(data.shape, device="cuda")
        return torch.Tensor._make_subclass(cls, held.copy_(data), True)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = {made}

    def forward(self, x):
        return x * self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x)


def run(rows: torch.Tensor):
    net = {net}()
    return net(rows.cuda())
"""


@pytest.mark.parametrize("net", ["Scale", "Net"])
@pytest.mark.parametrize(
    ("made", "count"), [("Sharded(torch.ones(3))", 0), ("nn.Parameter(torch.ones(3))", 1)]
)
def test_a_parameter_of_a_class_of_its_own_says_where_its_module_is(made, net, count):
    assert len(said(SHARDED.format(made=made, net=net), "DEV103")) == count


TUPLES = """
class Drop(nn.Module):
    def forward(self, x, keeps):
        if keeps:
            rows = torch.randperm(x.size(0))
            return x[rows], rows
        return x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.drop, self.block = nn.Linear(3, 3), Drop(), Block()

    def forward(self, x: torch.Tensor, keeps):
        x = self.embed(x)
        {drop}
        return self.block(x)
"""


@pytest.mark.parametrize(
    ("drop", "count"),
    [("x = self.drop(x, keeps)", 0), ("x = x.cpu()", 1)],
)
def test_a_callee_gets_what_one_return_gives_and_not_a_part_of_another(drop, count):
    assert len(said(TUPLES.format(drop=drop), "DEV103")) == count


PACKED = """
class Layer(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.conv = nn.Linear(3, 3)

    def forward(self, given):
        return self.plain(given) if self.kind == "plain" else self.packed(given)

    def plain(self, rows):
        return self.conv(rows)

    def packed(self, given):
        rows, index = given
        return self.conv(rows)[index.tolist()]


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.layer = Layer(kind)

    def forward(self, x: torch.Tensor):
        index = self.weight.argsort().cpu()
        return self.layer({given})
"""


@pytest.mark.parametrize(
    ("given", "count"), [("(x * self.weight, index)", 0), ("self.weight.detach().cpu()", 1)]
)
def test_no_part_of_a_tuple_is_taken_where_one_tensor_is_meant(given, count):
    assert len(said(PACKED.format(given=given), "DEV103")) == count


def test_a_chance_need_be_no_tensor():
    code = """
class Drop(nn.Module):
    def forward(self, x, given):
        keep = 1.0 - given.chance
        mask = torch.FloatTensor(x.size(0), 1).bernoulli_(keep)
        return x.div(keep) * mask.to(x.device)
"""
    assert said(code, "DEV102") == []


PREPARED = """
from somewhere import Preprocessor


class Norm(Preprocessor, nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.ones(3))

    def forward(self, data, wide):
        rows = {rows}
        rows = rows.float() if isinstance(rows, torch.Tensor) else rows
        if wide:
            labels = torch.stack([each.label for each in data["labels"]]).to(self.mean.device)
        return rows - self.mean
"""


@pytest.mark.parametrize(
    ("rows", "count"), [('self.cast(data["rows"])', 0), ('torch.relu(data["rows"])', 1)]
)
def test_a_callee_out_of_sight_may_bring_what_it_is_given(rows, count):
    assert len(said(PREPARED.format(rows=rows), "DEV101")) == count


JOINED = """
import torch


def joined(x: torch.Tensor, y: torch.Tensor):
    return torch.cat([x, y])


class Joiner:
    def joined(self, x: torch.Tensor, y: torch.Tensor):
        return torch.cat([x, y])


{call}(torch.ones(3), torch.ones(3).cuda())
"""


@pytest.mark.parametrize("call", ["joined", "Joiner().joined"])
def test_what_a_call_hands_in_may_not_arrive_as_it_is(call):
    (found,) = [f for f in check_text(JOINED.format(call=call)) if f.rule == "DEV101"]
    assert found.severity is Severity.WARNING and found.confidence is Confidence.LIKELY
