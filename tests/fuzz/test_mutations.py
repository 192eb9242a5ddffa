"""A short, deterministic run of the mutation fuzzer (`scripts/fuzz.py`)."""

from __future__ import annotations

import fuzz
import pytest

INPUTS = {
    "magics": 300,
    "notebook": 100,
    "config": 200,
    "baseline": 200,
    "outcome": 200,
    "cache": 60,
    "check": 80,
    "fix": 12,
    "suppression": 12,
}


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_nothing_that_is_fed_to_devlint_breaks_it(target: str) -> None:
    count, failures = fuzz.run(target, seed=7, inputs=INPUTS[target], seconds=float("inf"))
    assert failures == []
    assert count >= INPUTS[target]


def test_the_same_seed_gives_the_same_inputs() -> None:
    first, second = (fuzz.programs(fuzz.random.Random(3)) for _ in range(2))
    assert [next(first) for _ in range(20)] == [next(second) for _ in range(20)]


def test_a_crash_is_a_failure_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(cell: str) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "python_of", crash)
    count, failures = fuzz.run("magics", seed=0, inputs=1, seconds=60)
    assert count == 1
    ((message, text),) = failures
    assert "ZeroDivisionError" in message and isinstance(text, str) and text
