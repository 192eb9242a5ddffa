"""The ledger: counts per place, bounded in memory."""

from __future__ import annotations

import threading

from runtime_guard.core.sites import Site
from runtime_guard.recording import ledger as ledger_module
from runtime_guard.recording.events import Kind
from runtime_guard.recording.ledger import Ledger


def site(line: int) -> Site:
    return Site("a.py", line, line, "f")


def test_one_event_per_place():
    ledger = Ledger()
    for shape in ("float32[2]", "float32[3]", "float32[2]"):
        ledger.record(
            Kind.TRANSFER, (site(1),), ".to", source="cpu", target="cuda:0", nbytes=8, shape=shape
        )
    ledger.record(Kind.SYNC, (site(1),), "item")
    (transfer,) = ledger.transfers
    assert (transfer.count, transfer.bytes) == (3, 24)
    assert transfer.shapes == ["float32[2]", "float32[3]"]
    assert (ledger.bytes(), ledger.bytes("D2H"), ledger.count(Kind.SYNC)) == (24, 0, 1)


def test_merging_adds_up():
    one, other = Ledger(), Ledger()
    for ledger in (one, other):
        ledger.record(Kind.SYNC, (site(1),), "item")
    other.record(Kind.SYNC, (site(2),), "item")
    one.merge(other)
    assert [(e.site.line, e.count) for e in one.syncs] == [(1, 2), (2, 1)]
    assert [e.count for e in other.syncs] == [1, 1]


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(ledger_module, "MAX_EVENTS", 10)
    ledger = Ledger()
    for caller in range(1000):
        ledger.record(Kind.SYNC, (site(caller % 3), site(caller)), "item")
    assert len(ledger) == 13
    assert ledger.count(Kind.SYNC) == 1000
    assert len(ledger.timeline) <= ledger_module.MAX_TIMELINE


def test_threads_lose_nothing():
    ledger = Ledger()

    def work():
        for _ in range(500):
            ledger.record(Kind.SYNC, (site(1),), "item")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.count(Kind.SYNC) == 2000
