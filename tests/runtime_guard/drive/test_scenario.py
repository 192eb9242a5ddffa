"""On which machine a finding is driven."""

from __future__ import annotations

import pytest

from runtime_guard.drive.scenario import Scenario, launched, scenarios_of


@pytest.mark.parametrize(
    "reason",
    [
        "main: no call was found; the call that got furthest ends with KeyError: 'LOCAL_RANK'",
        "Error initializing torch.distributed using env:// rendezvous: environment variable "
        "MASTER_ADDR expected, but not set",
    ],
)
def test_code_that_wants_a_launcher_is_driven_as_under_one(reason: str) -> None:
    again = launched(Scenario(), reason)
    assert again is not None
    assert (again.environment["LOCAL_RANK"], again.environment["WORLD_SIZE"]) == ("0", "1")
    assert launched(again, reason) is None


def test_other_code_is_not() -> None:
    assert launched(Scenario(), "main: no call was found; it ends with KeyError: 'ids'") is None


def test_what_works_on_a_default_device_shows_where_all_is_on_another_card() -> None:
    assert [one.card for one in scenarios_of({"rule": "DEV107"})] == ["cuda", "cuda:1"]
    assert [one.card for one in scenarios_of({"rule": "DEV102"})] == ["cuda"]


def test_a_constructor_that_refuses_a_device_is_given_a_card() -> None:
    message = (
        "`torch.Tensor(x)` is a legacy constructor, which refuses `device=` for all but its own"
    )
    assert scenarios_of({"rule": "DEV503", "message": message}) == (Scenario(),)
    (without,) = scenarios_of({"rule": "DEV503", "message": "`torch.cuda.FloatTensor` is CUDA's"})
    assert without.machine == "mps"


def test_a_checkpoint_was_saved_on_a_second_card_or_on_any() -> None:
    machines = [one.machine for one in scenarios_of({"rule": "DEV502"})]
    assert machines == ["cuda:1", "mps"]
