"""What running torch's operators shows, made once."""

from __future__ import annotations

from typing import Any

import pytest
from operator_samples import without_a_test_case


@pytest.fixture(scope="session")
def observed() -> list[Any]:
    """Four samples of each OpInfo operator, run with each operand on cuda and on cpu."""
    pytest.importorskip("torch")
    import device_probe

    with without_a_test_case():
        return list(device_probe.observations(limit=4))
