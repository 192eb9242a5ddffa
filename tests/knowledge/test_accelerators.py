"""`torch.accelerator` by release: what a project that supports a release may use."""

from __future__ import annotations

import json

import generate_accelerators
import pytest

from devlint.knowledge import Accelerators
from devlint.knowledge.accelerators import parse_release


def test_without_a_target_a_name_is_missing_if_no_release_has_it():
    known = Accelerators()
    assert known.lacks("get_device_name")
    assert not known.lacks("empty_cache")
    assert known.since("empty_cache") == "2.9"


def test_with_a_target_a_name_is_missing_if_that_release_lacks_it():
    assert Accelerators("2.8").lacks("empty_cache")
    assert not Accelerators("2.9.1").lacks("empty_cache")


def test_a_release_before_the_first_has_nothing():
    known = Accelerators("2.4")
    assert known.lacks("synchronize")
    assert known.stand_in("synchronize") is None


def test_a_release_after_the_newest_may_have_anything():
    assert not Accelerators("9.0").lacks("get_device_name")


def test_a_function_stands_in_where_the_target_has_it():
    assert Accelerators("2.8").stand_in("memory_allocated") is None
    found = Accelerators("2.9").stand_in("mem_get_info")
    assert found is None  # 2.10
    found = Accelerators("2.10").stand_in("mem_get_info")
    assert found is not None and found.name == "get_memory_info"


def test_without_a_target_only_what_the_first_release_had_stands_in():
    known = Accelerators()
    assert known.stand_in("synchronize") is not None
    assert known.stand_in("empty_cache") is None


def test_functions_of_one_name_that_differ_do_not_stand_in():
    known = Accelerators("2.13")
    assert all(known.stand_in(name) is None for name in generate_accelerators.DIFFERENT)


def test_what_raises_where_there_is_no_accelerator_is_not_alike():
    known = Accelerators("2.13")
    found = {name: known.stand_in(name) for name in ("empty_cache", "synchronize")}
    assert [bool(stand_in and stand_in.alike) for stand_in in found.values()] == [False, True]


def test_memory_is_complete_since_mps_has_it():
    early, late = (Accelerators(r).stand_in("empty_cache") for r in ("2.9", "2.13"))
    assert early is not None and early.complete == "2.13"
    assert late is not None and late.complete == ""


@pytest.mark.parametrize("text", ["", "2", "2.x", "v2.9", "2.9.", "2.9.1.0"])
def test_what_is_no_release_is_refused(text: str):
    with pytest.raises(ValueError):
        parse_release(text)


def test_the_table_is_what_the_script_writes():
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "accelerator") or torch.accelerator.is_available():
        pytest.skip("needs torch.accelerator, and a machine without one")
    written = generate_accelerators.TABLE.read_text()
    document = json.loads(written)
    installed = torch.__version__.rpartition("+")[0] or torch.__version__
    if not installed.startswith(document["measured"] + "."):
        pytest.skip(f"written with torch {document['measured']}")
    assert generate_accelerators.generate((), document["releases"]) == written
