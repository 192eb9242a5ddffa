"""What a program takes of torch while it is on a virtual machine, it may keep."""

from __future__ import annotations

import importlib
import sys
import types

import pytest

torch = pytest.importorskip("torch")

from runtime_guard import virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
LIBRARY = """
from torch import FloatTensor, Generator, LongTensor, compile, device
from torch.cuda import is_available as has_cuda

class Keeps:
    kind = LongTensor
    home = device("cpu")
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A module that is imported inside a block, as it is behind it."""
    (tmp_path / "first_imported_inside.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    with virtual_devices("cuda:2"):
        module = importlib.import_module("first_imported_inside")
        assert module.has_cuda()
    yield module
    del sys.modules["first_imported_inside"]


def test_a_module_first_imported_inside_has_the_originals_afterwards(library):
    assert library.device is torch.device
    assert library.Generator is torch.Generator
    assert library.compile is torch.compile
    assert library.LongTensor is torch.LongTensor
    assert library.has_cuda is torch.cuda.is_available
    assert not library.has_cuda()


def test_types_that_went_elsewhere_go_on_to_work(library):
    assert library.Keeps.kind([1]).tolist() == [1]
    assert isinstance(torch.tensor([1]), library.Keeps.kind)
    assert torch.ones(1).type(library.Keeps.kind).dtype is torch.int64


def test_a_module_that_asks_inside_of_two_blocks_has_those_of_the_outer_one(tmp_path, monkeypatch):
    (tmp_path / "imported_in_two.py").write_text("from torch.cuda import device_count")
    monkeypatch.syspath_prepend(tmp_path)
    with virtual_devices("cuda:3"):
        with virtual_devices("cuda:2"):
            module = importlib.import_module("imported_in_two")
            assert module.device_count() == 2
        assert module.device_count() == 3
    assert module.device_count() == 0
    del sys.modules["imported_in_two"]


TAKEN_BEFORE = """
import torch.cuda
from torch.cuda import Stream, current_stream, device_count, is_available as has_cuda
from torch import FloatTensor

ORIGINAL = [torch.cuda.Stream, torch.cuda.device_count, torch.cuda.is_available]
"""


def test_a_module_that_took_originals_before_has_the_stand_ins_inside(tmp_path, monkeypatch):
    (tmp_path / "imported_before.py").write_text(TAKEN_BEFORE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("imported_before")
    before, held = dict(vars(module)), [*module.ORIGINAL]
    with virtual_devices("cuda:3"):
        assert module.has_cuda()
        assert isinstance(module.current_stream(), module.Stream)
        with torch.cuda.stream(module.Stream("cuda:1")):
            assert module.current_stream("cuda:1") == torch.cuda.current_stream("cuda:1")
        assert isinstance(torch.ones(1), module.FloatTensor)
        with virtual_devices("cuda:2"):
            assert module.device_count() == 2
        assert module.device_count() == 3
        assert [*module.ORIGINAL] == held  # what a container holds stays what it is
    assert dict(vars(module)) == before
    del sys.modules["imported_before"]


def test_torch_itself_keeps_what_its_modules_took(monkeypatch):
    part = types.ModuleType("torch.part_of_it")
    part.device_count = took = torch.cuda.device_count
    monkeypatch.setitem(sys.modules, part.__name__, part)
    with virtual_devices("cuda:1"):
        assert torch.cuda.device_count is not took
        assert part.device_count is took


class TestTorchDevice:
    """The class itself, which no stand-in can be."""

    @pytest.fixture(autouse=True)
    def machine(self):
        with virtual_devices("cuda:2"):
            yield

    def test_is_the_type_of_what_it_makes(self):
        assert type(torch.device("cuda")) is torch.device
        assert isinstance(torch.ones(1).device, torch.device)
        assert type(torch.ones(1, device="cuda").device) is torch.device

    def test_a_number_is_an_index(self):
        assert torch.device(1) == torch.device("cuda", 1)
        with torch.device("cuda:1"):
            assert torch.device(0) == torch.device("cuda:0")

    def test_legacy_types_have_their_names(self):
        assert torch.cuda.FloatTensor.__name__ == torch.FloatTensor.__name__ == "FloatTensor"
        assert repr(torch.cuda.FloatTensor) == "<class 'torch.cuda.FloatTensor'>"


def test_a_module_may_take_originals_between_two_blocks(monkeypatch):
    """A module that held nothing of PyTorch is not looked through again, until it holds more."""
    module = types.ModuleType("took_them_later")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with virtual_devices("cuda:1"):
        pass
    module.available = torch.cuda.is_available
    with virtual_devices("cuda:1"):
        assert module.available()
    assert module.available is torch.cuda.is_available


def test_the_rules_of_dynamo_tell_all_stand_ins_apart():
    """``torch._dynamo`` has a rule for each function, and refuses one function with two of them."""
    from torch._dynamo.trace_rules import get_torch_obj_rule_map

    get_torch_obj_rule_map.cache_clear()
    try:
        with virtual_devices("cuda:2"):
            assert get_torch_obj_rule_map()
    finally:
        get_torch_obj_rule_map.cache_clear()
