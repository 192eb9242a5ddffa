"""What `benchmarks/guard_libraries.py` runs, which takes libraries that the tests do not have."""

from __future__ import annotations

import sys

import pytest

if sys.version_info < (3, 11):
    pytest.skip("the benchmark needs tomllib", allow_module_level=True)

import guard_libraries

SOURCES = {
    path.stem.removeprefix("use_"): path.read_text(encoding="utf-8")
    for path in guard_libraries.PROGRAMS.glob("use_*.py")
}


def test_every_library_has_its_program_and_mutants() -> None:
    mutants = guard_libraries.all_mutants()
    assert SOURCES.keys() == guard_libraries.LIBRARIES.keys()
    assert {mutant["use"] for mutant in mutants} == SOURCES.keys()
    assert len(mutants) >= 40


@pytest.mark.parametrize(
    "mutant", guard_libraries.all_mutants(), ids=lambda m: f"{m['use']}-{m['name']}"
)
def test_a_mutant_differs_in_one_line(mutant: dict[str, str]) -> None:
    right = SOURCES[mutant["use"]]
    wrong = right.replace(mutant["right"], mutant["wrong"])
    pairs = zip(right.splitlines(), wrong.splitlines(), strict=True)
    assert sum(one != other for one, other in pairs) == 1
    compile(wrong, mutant["name"], "exec")


@pytest.mark.parametrize("library", SOURCES)
def test_a_program_compiles_and_says_what_it_does(library: str) -> None:
    compile(SOURCES[library], library, "exec")
    assert SOURCES[library].startswith('"""')
