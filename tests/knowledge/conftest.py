"""The generator's modules live in scripts/; what running torch's operators shows is made once."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))


@pytest.fixture(scope="session")
def observed() -> list[Any]:
    """Four samples of each OpInfo operator, run with each operand on cuda and on cpu."""
    pytest.importorskip("torch")
    import device_probe

    return list(device_probe.observations(limit=4))
