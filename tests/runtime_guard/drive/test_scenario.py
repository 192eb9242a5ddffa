"""On which machine a finding is driven."""

from __future__ import annotations

import pytest

from runtime_guard.drive.scenario import Scenario, launched


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
