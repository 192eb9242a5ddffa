"""Budgets: sizes, limits, and the lines that exceed them."""

from __future__ import annotations

import pytest

from runtime_guard.core.sites import Site
from runtime_guard.recording.budgets import Budget, excesses, format_size, make_budget, parse_size
from runtime_guard.recording.events import Kind
from runtime_guard.recording.ledger import Ledger


@pytest.mark.parametrize(
    ("text", "size"),
    [(7, 7), ("7", 7), ("4 MiB", 4 << 20), ("1.5kb", 1500), ("2 GB", 2 * 10**9), ("1k", 1000)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1", "4 miles", None, True, 1.5])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


def test_sizes_are_shown_in_binary_units():
    assert [format_size(n) for n in (0, 1023, 1024, 3 << 20)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "3.0 MiB",
    ]


def test_limits():
    assert make_budget(transfers=1, h2d="1 KiB") == Budget(transfers=1, h2d=1024)
    with pytest.raises(TypeError, match="unknown sync"):
        make_budget(sync=1)
    with pytest.raises(ValueError, match="syncs=-1"):
        make_budget(syncs=-1)


def test_excesses_name_the_worst_lines_first():
    ledger = Ledger()
    for line, size in ((3, 10), (4, 2000), (3, 10)):
        ledger.record(
            Kind.TRANSFER,
            (Site("a.py", line, line, "f"),),
            ".to",
            source="cpu",
            target="cuda:0",
            nbytes=size,
        )
    ledger.record(Kind.SYNC, (Site("a.py", 9, 9, "f"),), "item")
    assert excesses(make_budget(transfers=3, syncs=1, h2d=2020, d2h=0), ledger) == []
    transfers, h2d, syncs = (
        excesses(make_budget(**{name: 0}), ledger)[0] for name in ("transfers", "h2d", "syncs")
    )
    assert transfers == "3 transfers, 0 allowed\n  a.py:4  1x .to  2.0 KiB\n  a.py:3  2x .to  20 B"
    assert h2d.startswith("2.0 KiB H2D, 0 B allowed\n  a.py:4")
    assert syncs == "1 syncs, 0 allowed\n  a.py:9  1x item"
