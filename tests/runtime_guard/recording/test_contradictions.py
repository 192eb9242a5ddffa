"""Operands that contradict, whichever part of the guard refuses them: told and kept in one way."""

from __future__ import annotations

import io

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from runtime_guard import DeviceGuard, DevicePolicyWarning, virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("cuda:2"):
        yield


def backward() -> None:
    weight = torch.ones(3, device="cuda", requires_grad=True)
    (weight * 2).backward(torch.ones(3))


def hidden_state() -> None:
    state = torch.zeros(1, 2, 4)
    nn.GRU(3, 4).cuda()(torch.ones(5, 2, 3, device="cuda"), state)


def gradient() -> None:
    weight = torch.ones(3, device="cuda")
    weight.grad = torch.ones(3)


REFUSED = [backward, hidden_state, gradient]


@pytest.mark.parametrize("program", REFUSED)
def test_the_report_names_the_rule_that_the_message_names(program):
    with DeviceGuard() as guard, pytest.raises(RuntimeError) as raised:
        program()
    assert "devlint explain DEV102" in str(raised.value)
    (problem,) = guard.problems
    assert problem.rule == "DEV102" and "devlint explain DEV102" in problem.detail


@pytest.mark.parametrize("program", REFUSED[:2])
def test_a_guard_that_warns_is_told_of_all(program):
    with DeviceGuard(on_mixed="warn"), pytest.warns(DevicePolicyWarning, match="made on cpu at"):
        program()


def test_what_has_no_name_stands_for_itself():
    with pytest.raises(RuntimeError, match=r"\n  the gradient: made on cpu at .*\.py:\d+"):
        backward()


def test_who_cannot_be_pinned_says_where_it_comes_from():
    rows = torch.ones(3).cuda()
    with pytest.raises(RuntimeError, match="`rows`: moved to cuda:0") as raised:
        rows.pin_memory()
    assert str(raised.value).startswith("cannot pin 'torch.cuda.FloatTensor' only dense CPU")


def test_what_is_loaded_onto_a_card_says_where():
    file = io.BytesIO()
    torch.save(torch.ones(3, device="cuda:1"), file)
    file.seek(0)
    mean = torch.load(file)
    with pytest.raises(RuntimeError, match=r"`mean`: moved to cuda:1 at .*py:\d"):
        torch.ones(3, device="cuda") - mean
