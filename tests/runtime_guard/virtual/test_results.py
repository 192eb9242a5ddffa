"""What is said of results of operations: where they are, and the line that computed them."""

from __future__ import annotations

import sys

import pytest
import torch

from runtime_guard import DeviceGuard, virtual_devices
from runtime_guard.agreement.plans import plan_of
from runtime_guard.core.placement import computed_at
from runtime_guard.recording.events import Kind

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("2xcuda"):
        yield


def line() -> int:
    return sys._getframe(1).f_lineno


@pytest.mark.parametrize(
    ("operator", "view"),
    [
        (aten.view.default, True),
        (aten.split.Tensor, True),
        (aten.detach.default, True),
        (aten.add.Tensor, False),
        (aten.index.Tensor, False),
        (aten.squeeze_.default, False),
        (aten.set_.source_Tensor, False),
        (aten._to_copy.default, False),
        (aten._local_scalar_dense.default, False),
    ],
)
def test_a_view_is_another_look_at_one_tensor(operator, view):
    assert plan_of(operator).view is view


def test_a_result_names_the_line_that_computed_it_when_the_call_is_over():
    def double(x):
        return x * 2, line()

    y, at = double(torch.ones(2, device="cuda"))
    z = (
        y
        + 1
    )  # fmt: skip
    assert computed_at(y).line == at
    assert computed_at(y.view(2, 1)).line == at
    assert computed_at(z).line == at + 4
    assert computed_at(torch.ones(2, device="cuda")) is None
    assert computed_at(y.to("cuda:1")) is None
    with pytest.raises(RuntimeError, match=rf"`y`: computed on cuda:0 at \S+:{at}, from what was"):
        y + torch.ones(2)


def test_what_is_computed_from_a_result_on_another_card_is_there():
    y = (torch.ones(2, device="cuda:1") * 2).view(1, 2).t() + 1
    assert y.device == torch.device("cuda:1")
    with pytest.raises(RuntimeError, match="cuda:1 and cuda:0"):
        y + torch.ones(2, 1, device="cuda:0") * 2


def test_a_view_is_a_use_of_what_was_moved():
    with DeviceGuard() as guard:
        moved = torch.ones(4).cuda()
        moved.view(2, 2)
        del moved
    assert guard.count(Kind.UNUSED_MOVE) == guard.count(Kind.DISCARDED_MOVE) == 0


def test_what_is_a_view_of_strided_tensors_keeps_the_device_of_sparse_ones():
    sparse = torch.eye(3).to_sparse().cuda()
    assert sparse.t().device == sparse.unsqueeze(0).device == torch.device("cuda:0")
