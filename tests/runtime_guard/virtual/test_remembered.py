"""Libraries that ask once whether there is CUDA ask again where the machine changes."""

from __future__ import annotations

import sys
import types

import pytest

torch = pytest.importorskip("torch")

from runtime_guard import virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

LIBRARY = """
import functools
import torch

@functools.lru_cache
def is_cuda_available():
    return torch.cuda.is_available()

@functools.cache
def with_arguments(name):
    return torch.get_device_module(name).device_count()

class Backend:
    @staticmethod
    @functools.lru_cache
    def detect():
        return "cuda" if is_cuda_available() else "cpu"

@functools.cache
def of_no_machine():
    return object()
"""


@pytest.fixture
def library(monkeypatch):
    module = types.ModuleType("a_library")
    exec(LIBRARY, vars(module))
    monkeypatch.setitem(sys.modules, "a_library", module)
    return module


def test_a_function(library):
    assert not library.is_cuda_available()
    with virtual_devices("cuda:1"):
        assert library.is_cuda_available()
    assert not library.is_cuda_available()


def test_a_method_of_a_class(library):
    assert library.Backend.detect() == "cpu"
    with virtual_devices("cuda:1"):
        assert library.Backend.detect() == "cuda"
    assert library.Backend.detect() == "cpu"


def test_each_machine_is_asked(library):
    with virtual_devices("cuda:2"):
        assert library.with_arguments("cuda") == 2
        with virtual_devices("cuda:3"):
            assert library.with_arguments("cuda") == 3
        assert library.with_arguments("cuda") == 2


def test_a_library_that_is_imported_in_the_block(monkeypatch):
    with virtual_devices("cuda:1"):
        module = types.ModuleType("a_late_library")
        exec(LIBRARY, vars(module))
        monkeypatch.setitem(sys.modules, "a_late_library", module)
        assert module.is_cuda_available()
    assert not module.is_cuda_available()


def test_what_has_nothing_to_do_with_it_is_kept(library):
    before = library.of_no_machine()
    with virtual_devices("cuda:1"):
        assert library.of_no_machine() is before
