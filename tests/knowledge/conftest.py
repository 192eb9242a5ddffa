"""What running torch's operators shows, made once."""

from __future__ import annotations

from typing import Any

import pytest
from short_stack import on_a_short_stack


@pytest.fixture(scope="session")
def observed() -> list[Any]:
    """Four samples of each OpInfo operator, run with each operand on cuda and on cpu."""
    pytest.importorskip("torch")
    import device_probe

    return on_a_short_stack(lambda: list(device_probe.observations(limit=4)))
