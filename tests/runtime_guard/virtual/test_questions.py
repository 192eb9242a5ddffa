"""What a program asks a card: answered as the profile's card would, or refused by name."""

from __future__ import annotations

import inspect
import sys
import types

import pytest

torch = pytest.importorskip("torch")

from runtime_guard import virtual_devices  # noqa: E402
from runtime_guard.virtual.machine import UnsupportedVirtually  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
CUDA = torch.backends.cuda


def attention(width=64, dtype=torch.float16, mask=None, causal=False, keys=8, device="cuda"):
    if not hasattr(CUDA, "can_use_cudnn_attention"):
        pytest.skip("this release asks otherwise")
    query = torch.ones(1, 2, 8, width, device=device, dtype=dtype)
    key = torch.ones(1, 2, keys, width, device=device, dtype=dtype)
    return CUDA.SDPAParams(query, key, key, mask, 0.0, causal, False)


def usable(params):
    questions = ("flash", "efficient", "cudnn")
    return {name for name in questions if getattr(CUDA, f"can_use_{name}_attention")(params)}


def test_attention_is_asked_of_the_card_and_of_the_operands():
    with virtual_devices("cuda:1"):
        assert CUDA.is_flash_attention_available()
        assert usable(attention()) == {"flash", "efficient", "cudnn"}
        assert usable(attention(width=200)) == {"flash", "efficient"}
        assert usable(attention(dtype=torch.float32)) == {"efficient"}
        assert usable(attention(causal=True, keys=4)) == {"efficient", "cudnn"}
        assert usable(attention(device="cpu")) == set()
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            assert usable(attention()) == set()


def test_an_older_card_has_no_flash_attention():
    with virtual_devices("cuda:1@T4"):
        params = attention()
        assert usable(params) == {"efficient"}
        assert usable(attention(dtype=torch.bfloat16)) == set()
        flash = torch.nn.attention.SDPBackend.FLASH_ATTENTION
        with (
            torch.nn.attention.sdpa_kernel(flash),
            pytest.raises(RuntimeError, match="No available kernel"),
        ):
            torch.nn.functional.scaled_dot_product_attention(
                params.query, params.query, params.query
            )


def test_a_card_of_a_kind_says_what_it_is():
    with virtual_devices("cuda:2@H100"):
        found = torch.cuda.get_device_properties(1)
        assert found.name == torch.cuda.get_device_name(1) == "NVIDIA H100 80GB HBM3"
        assert (found.major, found.minor, found.multi_processor_count) == (9, 0, 132)
        assert found.shared_memory_per_multiprocessor == 228 * 1024
        assert found.shared_memory_per_block_optin == 227 * 1024
        assert found.L2_cache_size == 50 * 1024**2
        torch.ones(1024, device="cuda:1")
        assert torch.cuda.mem_get_info(1) == (80 * 1024**3, 80 * 1024**3)
        held = torch.ones(1024, device="cuda:1")
        assert torch.cuda.mem_get_info(1)[0] == 80 * 1024**3 - held.nbytes


def test_what_no_profile_tells_is_refused_and_is_no_attribute():
    with virtual_devices("cuda:1"):
        found = torch.cuda.get_device_properties()
        assert not hasattr(found, "clock_rate")
        with pytest.raises(UnsupportedVirtually, match=r"clock_rate of devlint virtual cuda dev"):
            _ = found.clock_rate


@pytest.mark.parametrize("name", ["temperature", "power_draw", "clock_rate", "memory_usage"])
def test_what_the_driver_alone_knows_is_refused(name):
    if not hasattr(torch.cuda, name):
        pytest.skip("this release asks otherwise")
    with (
        virtual_devices("cuda:1"),
        pytest.raises(UnsupportedVirtually, match=f"torch.cuda.{name} on virtual devices"),
    ):
        getattr(torch.cuda, name)()


def nvml():
    """Stands for ``pynvml``."""
    module = types.ModuleType("pynvml")
    module.NVMLError = type("NVMLError", (Exception,), {})
    names = "Init Shutdown DeviceGetCount DeviceGetHandleByIndex DeviceGetMemoryInfo DeviceGetName"
    for name in (*names.split(), "DeviceGetTemperature"):
        setattr(module, f"nvml{name}", lambda *_: "of the driver")
    return module


def test_the_management_library_tells_of_the_virtual_cards(monkeypatch):
    pynvml = nvml()
    monkeypatch.setitem(sys.modules, "pynvml", pynvml)
    with virtual_devices("cuda:2@T4"):
        pynvml.nvmlInit()
        assert pynvml.nvmlDeviceGetCount() == 2
        card = pynvml.nvmlDeviceGetHandleByIndex(1)
        assert pynvml.nvmlDeviceGetName(card) == "Tesla T4"
        held = torch.ones(1024, device="cuda:1")
        figures = pynvml.nvmlDeviceGetMemoryInfo(card)
        assert (figures.total, figures.used) == (16 * 1024**3, held.nbytes)
        with pytest.raises(UnsupportedVirtually, match="nvmlDeviceGetTemperature on virtual"):
            pynvml.nvmlDeviceGetTemperature(card, 0)
        with pytest.raises(pynvml.NVMLError):
            pynvml.nvmlDeviceGetHandleByIndex(2)
    assert pynvml.nvmlDeviceGetCount() == "of the driver"


def test_caches_of_plans_are_empty_and_have_a_size():
    with virtual_devices("cuda:2"):
        plans = CUDA.cufft_plan_cache
        assert (plans.size, plans[1].size, plans[1].max_size) == (0, 0, 4096)
        plans[1].max_size = 10
        plans.clear()
        assert (plans[0].max_size, plans[1].max_size) == (4096, 10)


def test_cudnn_takes_floats_of_a_card():
    with virtual_devices("cuda:1"):
        taken = torch.backends.cudnn.is_acceptable
        assert taken(torch.ones(2, device="cuda"))
        assert not taken(torch.ones(2, device="cuda").int())
        assert not taken(torch.ones(2))
        lstm = torch.nn.LSTM(3, 4).cuda()  # its weights are not brought into one piece
        assert lstm(torch.ones(5, 1, 3, device="cuda"))[0].device.type == "cuda"


def test_a_part_that_this_build_is_without_is_refused_wherever_it_was_imported():
    dummies = [
        value
        for value in vars(torch._C).values()
        if inspect.isclass(value)
        and getattr(value.__init__, "__qualname__", "").startswith("_dummy_type.")
    ]
    if not dummies:
        pytest.skip("this build has all of them")
    with virtual_devices("cuda:1"):
        for dummy in dummies:
            with pytest.raises(UnsupportedVirtually, match=dummy.__name__):
                dummy()
    for dummy in dummies:
        with pytest.raises(RuntimeError, match="Tried to instantiate dummy base class"):
            dummy()


def test_the_part_of_memory_that_a_program_allows_itself():
    with virtual_devices("cuda:1"):
        asked = getattr(torch.cuda, "get_per_process_memory_fraction", None)
        if asked is None:
            pytest.skip("this release asks otherwise")
        assert asked() == 1.0
        torch.cuda.set_per_process_memory_fraction(0.5)
        assert asked() == 0.5


def test_figures_of_memory_in_a_tree_are_those_of_the_list():
    with virtual_devices("cuda:1"):
        held = torch.ones(1024, device="cuda")
        tree = torch.cuda.memory_stats_as_nested_dict()
        assert tree["allocated_bytes"]["all"]["current"] == held.nbytes
        assert tree["allocated_bytes"]["all"]["peak"] == torch.cuda.max_memory_allocated()
