"""A run that is watched, and the collection of garbage at its end."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from runtime_guard.commands import session  # noqa: E402
from runtime_guard.commands.session import watch  # noqa: E402


class Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def uncollected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is collected by the way, and nothing is kept from it."""
    monkeypatch.setattr(session, "_frozen_by_others", False)
    enabled = gc.isenabled()
    gc.disable()
    gc.unfreeze()
    yield
    gc.freeze()
    if enabled:
        gc.enable()


def test_what_a_program_made_is_collected_at_its_end():
    with watch("cuda:1"):
        made = weakref.ref(Node())
        assert made() is not None
    assert made() is None


def test_what_was_there_before_is_not_gone_through():
    before = weakref.ref(Node())
    with watch("cuda:1"):
        pass
    assert before() is not None


def test_objects_can_be_collected_again_after_a_run():
    with watch("cuda:1"):
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_what_somebody_else_keeps_from_being_collected_is_kept():
    gc.freeze()
    with watch("cuda:1"):
        pass
    assert gc.get_freeze_count() > 0
