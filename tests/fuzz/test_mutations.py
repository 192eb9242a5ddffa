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


def test_most_of_what_is_fed_is_a_program_still() -> None:
    texts = fuzz.programs(fuzz.random.Random(3))
    still = [fuzz.compiles(next(texts).encode("utf-8", "replace")) for _ in range(80)]
    assert 50 <= sum(still) < 80


def test_each_target_gets_the_inputs_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--inputs", "30", "magics", "config=50", "baseline=20"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "magics: 30 inputs, 0 failures",
        "config: 50 inputs, 0 failures",
        "baseline: 20 inputs, 0 failures",
        "in all: 100 inputs, 0 failures",
    ]


@pytest.mark.parametrize("word", ["nothing", "fix=", "fix=0", "fix=-1", "fix=many", "=3"])
def test_a_target_that_is_none_is_refused_in_words(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        fuzz.main([word])
    said = capsys.readouterr().err
    assert "no target is called" in said or "is no number of inputs" in said


def test_a_crash_is_a_failure_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(cell: str) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "python_of", crash)
    count, failures = fuzz.run("magics", seed=0, inputs=1, seconds=60)
    assert count == 1
    ((message, text),) = failures
    assert "ZeroDivisionError" in message and isinstance(text, str) and text
