"""Warnings stand where they stand without the guard."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


def of_a_stack_level(x):
    F.mse_loss(x, x[:1])


def of_cpp(x):
    return x.reshape(2, 2, 1).T


def of_a_check_deep_inside(x):
    return F.softmax(x)


def of_torch_itself(x):
    F.nll_loss(x, torch.zeros(2, dtype=torch.long, device=x.device), size_average=True)


@pytest.mark.parametrize(
    "program", [of_a_stack_level, of_cpp, of_a_check_deep_inside, of_torch_itself]
)
def test_a_warning_keeps_its_place(program):
    def place(device: str) -> list[tuple[str, int]]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            program(torch.ones(2, 2, device=device))
        return [(w.filename, w.lineno) for w in seen]

    torch.set_warn_always(True)
    try:
        plain = place("cpu")
        with virtual_devices("1xcuda"):
            assert place("cuda") == plain
            with DeviceGuard():
                assert place("cuda") == plain
        with DeviceGuard():
            assert place("cpu") == plain
    finally:
        torch.set_warn_always(False)
    assert len(plain) == 1


def test_a_warning_of_the_guard_is_at_the_users_line():
    warned = pytest.warns(UserWarning, match="transfer H2D")
    with virtual_devices("1xcuda"), DeviceGuard(on_transfer="warn"), warned as seen:
        torch.nn.Linear(2, 2).cuda()
    assert {warning.filename for warning in seen} == {__file__}
