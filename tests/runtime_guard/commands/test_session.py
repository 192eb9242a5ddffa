"""A run that is watched, and the collection of garbage at its end."""

from __future__ import annotations

import gc
import weakref

import pytest

torch = pytest.importorskip("torch")

from runtime_guard.commands.session import watch  # noqa: E402


class Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def uncollected():
    """Nothing is collected by the way."""
    enabled = gc.isenabled()
    gc.disable()
    yield
    if enabled:
        gc.enable()


def test_what_a_program_made_is_collected_at_its_end(uncollected):
    with watch("cuda:1"):
        made = weakref.ref(Node())
        assert made() is not None
    assert made() is None


def test_what_was_there_before_is_not_gone_through(uncollected):
    gc.collect()
    before = weakref.ref(Node())
    with watch("cuda:1"):
        pass
    assert before() is not None


def test_objects_can_be_collected_again_after_a_run():
    frozen = gc.get_freeze_count()
    with watch("cuda:1"):
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == frozen


def test_what_somebody_else_keeps_from_being_collected_is_kept():
    frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        with watch("cuda:1"):
            pass
        assert gc.get_freeze_count() > 0
    finally:
        if not frozen:
            gc.unfreeze()
