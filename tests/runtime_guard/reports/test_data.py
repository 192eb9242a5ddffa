"""What reports are made of: costs by loop."""

from __future__ import annotations

import pytest

from runtime_guard.core.sites import Site
from runtime_guard.recording.events import Event, Kind
from runtime_guard.reports.data import costs_by_loop

SOURCE = """\
def step(x):
    return x.item()

for epoch in range(2):
    start()
    for batch in loader:
        step(batch)
    while batch.any():
        finish()
else:
    done()
for hook in hooks:
    def later():
        hook.item()
end()
"""


@pytest.fixture
def loops_of(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SOURCE)

    def loops_of(*lines: int, kind: Kind = Kind.SYNC, size: int = 0) -> list[tuple]:
        stack = tuple(Site(str(file), line, line, "f") for line in lines)
        event = Event(kind, stack, "item", source="cpu", target="cuda:0", bytes=size, count=3)
        return [(c.line, c.transfers, c.bytes, c.syncs) for c in costs_by_loop([event])]

    return loops_of


def test_the_innermost_loop_of_the_line(loops_of):
    assert loops_of(5) == [(4, 0, 0, 3)]
    assert loops_of(7) == [(6, 0, 0, 3)]
    assert loops_of(8) == [(8, 0, 0, 3)]  # the condition of a while is repeated
    assert loops_of(5, kind=Kind.TRANSFER, size=12) == [(4, 3, 12, 0)]


def test_the_loop_around_the_call(loops_of):
    assert loops_of(2, 7) == [(6, 0, 0, 3)]


def test_what_is_in_no_loop(loops_of):
    for line in (2, 4, 11, 15):
        assert loops_of(line) == []
    assert loops_of(14) == []  # a function's body is run by whoever calls it
    assert loops_of(5, kind=Kind.MIXED) == []


def test_what_is_repeated_once_per_outer_iteration(loops_of):
    assert loops_of(6) == [(4, 0, 0, 3)]


def test_a_file_that_is_not_python(tmp_path):
    file = tmp_path / "cell"
    file.write_text("%magic\n")
    event = Event(Kind.SYNC, (Site(str(file), 1, 1, "f"),), "item")
    assert costs_by_loop([event]) == []
