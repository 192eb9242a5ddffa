"""Cards with a size: what does not fit raises, and a run tells its peak."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from runtime_guard import virtual_devices  # noqa: E402
from runtime_guard.commands.run import run_command  # noqa: E402
from runtime_guard.core import memory  # noqa: E402
from runtime_guard.core.memory import Meter  # noqa: E402
from runtime_guard.core.sites import UNKNOWN_SITE, Site  # noqa: E402
from runtime_guard.virtual.profiles import PROFILES, parse_profile  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
MIB = 1024**2


def mebibytes(count: int, device: str = "cuda") -> torch.Tensor:
    return torch.zeros(count * MIB, dtype=torch.uint8, device=device)


def test_what_does_not_fit_raises_as_pytorch_does():
    with virtual_devices("cuda:2", memory="8 MiB"):
        kept = mebibytes(6)
        wanted = (
            r"CUDA out of memory\. Tried to allocate 3\.00 MiB\. GPU 0 has a total capacity of "
            r"8\.00 MiB of which 2\.00 MiB is free\..*6\.00 MiB is allocated by PyTorch"
        )
        with pytest.raises(torch.cuda.OutOfMemoryError, match=wanted):
            mebibytes(3)
        assert torch.cuda.memory_allocated() == 6 * MIB
        mebibytes(3, "cuda:1")
        del kept
        assert mebibytes(8).numel() == 8 * MIB


@pytest.mark.parametrize("make", [lambda x: x + 1, lambda x: x.cpu().cuda(), torch.zeros_like])
def test_whatever_makes_it(make):
    with virtual_devices("cuda:1@8MiB"):
        kept = mebibytes(5)
        with pytest.raises(torch.cuda.OutOfMemoryError):
            make(kept)


@pytest.mark.parametrize("make", [torch.zeros, torch.rand])
def test_the_host_is_not_asked_for_what_does_not_fit(make):
    with virtual_devices("cuda:1@T4"), pytest.raises(torch.cuda.OutOfMemoryError):
        make(2**45, device="cuda")


def test_the_host_has_no_such_limit():
    with virtual_devices("cuda:1", memory="1 MiB"):
        assert mebibytes(4, "cpu").numel() == 4 * MIB


def test_storages_that_are_resized_by_name_count_with_their_size():
    with virtual_devices("cuda:1", memory="8 MiB"):
        parameter = mebibytes(6)
        parameter.untyped_storage().resize_(0)
        assert torch.cuda.memory_allocated() == 0
        mebibytes(8)
        parameter.untyped_storage().resize_(6 * MIB)
        assert torch.cuda.memory_allocated() == 6 * MIB


def test_a_kind_of_card_says_what_it_is():
    with virtual_devices("cuda:1@T4"):
        assert torch.cuda.get_device_capability() == (7, 5)
        assert torch.cuda.get_device_properties(0).total_memory == 16 * 1024**3
        assert torch.cuda.mem_get_info() == (16 * 1024**3,) * 2
        assert torch.cuda.is_bf16_supported()
        assert not torch.cuda.is_bf16_supported(including_emulation=False)
    with virtual_devices("cuda:1", memory="H100"):
        assert torch.cuda.get_device_capability() == (9, 0)
        assert torch.cuda.is_bf16_supported(including_emulation=False)


def test_without_a_size_nothing_raises():
    with virtual_devices("cuda:1") as machine:
        assert torch.cuda.get_device_properties(0).total_memory == 80 * 1024**3
        assert all(meter.limit is None for meter in machine.meters.values())


@pytest.mark.parametrize("text", ["a100-40gb", "A100-40GB", " A100-40GB "])
def test_names_in_any_case(text):
    assert parse_profile(text) is PROFILES["A100-40GB"]


def test_what_is_neither_a_size_nor_a_card():
    with pytest.raises(ValueError, match="expected a size such as '24 GiB' or one of T4, V100"):
        virtual_devices("cuda:1", memory="much")


def test_a_run_tells_the_line_of_its_peak(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "small = torch.zeros(1 << 20, device='cuda')\n"
        "large = torch.zeros(3 << 20, device='cuda')\n"
        "del large\n"
        "small + 1\n"
    )
    told = []
    assert run_command(["train.py"], virtual="cuda:2", write=told.append) == 0
    assert "memory of cuda:0: at most 16.0 MiB, at train.py:3" in told[0]
    assert "memory of cuda:1" not in told[0]


def test_a_peak_that_no_line_of_the_users_brought_about_is_where_its_tensor_is_from(monkeypatch):
    made, arrived = Site("train.py", 3, 3, "main"), Site("data.py", 7, 7, "rows")
    meter = Meter()
    monkeypatch.setattr(memory, "user_site", lambda: UNKNOWN_SITE)
    meter.add(100)
    assert meter.peak_at is None
    meter.add(100, arrived)  # from another process
    assert meter.peak_at is arrived
    monkeypatch.setattr(memory, "user_site", lambda: made)
    meter.add(100, arrived)
    assert meter.peak_at is made
    monkeypatch.setattr(memory, "user_site", lambda: UNKNOWN_SITE)
    meter.add(100)  # a batch that a loader's worker makes
    assert meter.peak_at is made


def test_a_part_that_the_program_allows_itself():
    with virtual_devices("cuda:2", memory="8 MiB"):
        torch.cuda.set_per_process_memory_fraction(0.5)
        kept = mebibytes(3)
        wanted = r"capacity of 8\.00 MiB of which 5\.00 MiB is free\..* 4\.00 MiB allowed; Of the"
        with pytest.raises(torch.cuda.OutOfMemoryError, match=wanted):
            mebibytes(2)
        mebibytes(6, "cuda:1")
        torch.cuda.set_per_process_memory_fraction(1.0)
        assert mebibytes(5).numel() + kept.numel() == 8 * MIB


def test_parts_that_are_none():
    with virtual_devices("cuda:1"):
        with pytest.raises(ValueError, match="Allowed range"):
            torch.cuda.set_per_process_memory_fraction(1.5)
        with pytest.raises(TypeError, match="must be `float`"):
            torch.cuda.set_per_process_memory_fraction(1)
