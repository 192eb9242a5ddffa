"""What a guard objects to, from when on and how often."""

from __future__ import annotations

import asyncio
import warnings
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch")

from runtime_guard import (  # noqa: E402
    DeviceGuard,
    DevicePolicyError,
    DevicePolicyWarning,
    virtual_devices,
)
from runtime_guard.commands.session import watch  # noqa: E402
from runtime_guard.recording.policies import parse  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture(autouse=True)
def _machine():
    with virtual_devices("2xcuda"):
        yield


def refused(refuses: bool):
    return pytest.raises(DevicePolicyError) if refuses else nullcontext()


def test_transfers_by_direction():
    with DeviceGuard(on_transfer={"D2H": "raise"}):
        x = torch.ones(2).cuda().to("cuda:1")
        with pytest.raises(DevicePolicyError, match="transfer D2H"):
            x.cpu()
    with pytest.raises(ValueError, match="no direction 'H2H'"):
        DeviceGuard(on_transfer={"H2H": "raise"})


def test_a_warm_up_has_no_fewer_than_no_steps():
    with pytest.raises(ValueError, match="after_steps=-1: expected a number of steps"):
        DeviceGuard(after_steps=-1)


@pytest.mark.parametrize(
    ("ask", "implicit"),
    [
        (lambda x: bool(x[0]), True),
        (lambda x: float(x[0]), True),
        (lambda x: repr(x), True),
        (lambda x: x[x > 0], True),
        (lambda x: x[torch.tensor([1])], True),
        (lambda x: x.__setitem__(slice(0, 1), torch.ones(1)), True),
        (lambda x: torch.ones(2).__setitem__(slice(0, 1), x[:1]), True),
        (lambda x: x[:1].copy_(torch.ones(1)), False),
        (lambda x: x[0].item(), False),
        (lambda x: x.tolist(), False),
        (lambda x: x.cpu(), False),
        (lambda x: torch.cuda.synchronize(), False),
    ],
)
def test_what_the_program_does_not_ask_for_by_name(ask, implicit):
    x = torch.ones(2, device="cuda")
    with DeviceGuard(on_sync="raise", on_transfer="raise", implicit_only=True), refused(implicit):
        ask(x)
    with DeviceGuard(on_sync="raise", on_transfer="raise"), pytest.raises(DevicePolicyError):
        ask(x)


def test_a_warm_up_is_not_objected_to():
    weight = torch.ones(2, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    with DeviceGuard(on_sync="raise", after_steps=2) as guard:
        for _ in range(2):
            weight.sum().backward()
            weight.sum().item()
            optimizer.step()
        with pytest.raises(DevicePolicyError):
            weight.sum().item()
        assert guard.count("sync") == 3
    with DeviceGuard(on_sync="raise", after_steps=1) as guard:
        weight.sum().item()
        guard.step()
        with pytest.raises(DevicePolicyError):
            weight.sum().item()
    optimizer.step()
    assert guard._gate.steps == 1, "the hook has gone with the block"


def test_a_line_is_objected_to_once():
    x = torch.ones(2, device="cuda")
    with DeviceGuard(on_sync="warn", first_only=True), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            x.tolist()
        x.tolist()
    assert [w.category for w in seen] == [DevicePolicyWarning] * 2


def test_a_forbidding_block_is_of_one_task():
    x = torch.ones(2, device="cuda")

    async def careful(guard, entered):
        with guard.forbid_syncs():
            entered.set()
            await asyncio.sleep(0)
            with pytest.raises(DevicePolicyError):
                x.tolist()

    async def free(entered):
        await entered.wait()
        return x.tolist()

    async def both(guard):
        entered = asyncio.Event()
        return await asyncio.gather(careful(guard, entered), free(entered))

    with DeviceGuard() as guard:
        assert asyncio.run(both(guard))[1] == [1, 1]


def test_a_program_that_one_cannot_edit_gets_its_policy_from_the_environment(monkeypatch):
    monkeypatch.setenv("DEVLINT_POLICY", "on_transfer=D2H:raise, on_sync=record, first_only")
    with watch("1xcuda"):
        x = torch.ones(2).cuda()
        with pytest.raises(DevicePolicyError):
            x.cpu()


def test_what_the_variable_may_say():
    text = "on_transfer=D2H:warn, on_transfer=H2D:raise, on_sync=warn, after_steps=3, implicit_only"
    assert parse(text) == {
        "on_transfer": {"D2H": "warn", "H2D": "raise"},
        "on_sync": "warn",
        "after_steps": 3,
        "implicit_only": True,
    }
    assert parse("") == {}
    for wrong in ("on_sync=never", "sync=raise", "after_steps=x", "on_transfer=X2Y:raise"):
        with pytest.raises(ValueError, match=r"expected|not understood|no direction"):
            parse(wrong)


def test_a_number_that_is_written_is_no_transfer():
    with DeviceGuard() as guard:
        x = torch.zeros(10, device="cuda")
        x[3] = 5.0
        x[1:4] = 2
        x[torch.ones(10, dtype=torch.bool, device="cuda")] = 1.5
        assert x.sum() == 15
    assert guard.transfers == []
    with DeviceGuard() as guard:
        x[3] = torch.tensor(5.0)
    assert guard.bytes("H2D") == 4
