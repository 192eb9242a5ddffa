"""Records as JSON and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.check.outcome import Outcome, Told
from devlint.check.plain_data import NotPlain, from_plain, to_plain
from devlint.findings import (
    Applicability,
    Assumption,
    Confidence,
    Edit,
    FileError,
    Finding,
    Fix,
    Location,
    Related,
    Severity,
)
from devlint.inference.call_contexts import Fed, Feed, Given

text = st.text(max_size=5)
numbers = st.integers(1, 999)
locations = st.builds(Location, text, numbers, numbers, numbers, numbers, cell=st.integers(0, 9))
givens = st.builds(Given, text, text, text, text, st.integers(0, 9), minds=st.booleans())
findings = st.builds(
    Finding,
    text,
    text,
    st.sampled_from(Severity),
    st.sampled_from(Confidence),
    locations,
    text,
    text,
    st.lists(st.builds(Related, locations, text), max_size=2).map(tuple),
    st.none()
    | st.builds(
        Fix,
        st.sampled_from(Applicability),
        st.lists(st.builds(Edit, locations, text), max_size=2).map(tuple),
    ),
    st.lists(st.builds(Assumption, text, locations, text), max_size=2).map(tuple),
    text,
)
feeds = st.builds(
    Feed,
    text,
    st.none() | text | st.integers(0, 9),
    st.sampled_from(Fed),
    st.none() | givens,
)
outcomes = st.builds(
    Outcome,
    st.lists(text, max_size=2),
    st.lists(st.builds(Told, findings, st.none() | givens), max_size=2),
    st.lists(findings, max_size=2),
    st.lists(st.builds(FileError, text, numbers, numbers, text), max_size=2),
    st.dictionaries(text, st.dictionaries(numbers, text, max_size=2), max_size=2),
    st.lists(st.tuples(text, text), max_size=2),
    st.lists(feeds, max_size=3),
    st.dictionaries(text, text, max_size=2),
    st.dictionaries(text, st.floats(0, 9), max_size=2),
)


@given(outcomes)
def test_an_outcome_comes_back_as_it_went(outcome: Outcome) -> None:
    assert from_plain(Outcome, json.loads(json.dumps(to_plain(outcome)))) == outcome


def test_a_place_is_short() -> None:
    assert to_plain(Location("a.py", 1, 2, 1, 5)) == ["a.py", 0, 1, 2, 1, 5]


def test_a_name_that_is_no_unicode_comes_back() -> None:
    name = "\udcff.py"
    error = FileError(name, 1, 1, "x")
    assert from_plain(FileError, json.loads(json.dumps(to_plain(error)))) == error


@pytest.mark.parametrize(
    "data",
    [None, 3, "x", {}, [], ["a.py"], ["a.py", 0, 1, 2, 1, "5"], ["a.py", 0, 1, 2, 1, 5, 6]],
)
def test_what_is_no_such_record_is_refused(data: object) -> None:
    with pytest.raises(NotPlain):
        from_plain(Location, data)


def test_what_is_no_plain_data_is_not_written() -> None:
    with pytest.raises(TypeError, match="Path is no plain data"):
        to_plain([Path("x")])
