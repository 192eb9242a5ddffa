"""Whose card is it?  What a process of a launched job uses beside its own."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402
from runtime_guard.recording import cards, modes  # noqa: E402
from runtime_guard.recording.events import Kind  # noqa: E402
from runtime_guard.recording.evidence import Process  # noqa: E402
from runtime_guard.virtual import compilers  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture
def launched(monkeypatch):
    def launch(rank: int, local_rank: int) -> None:
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("LOCAL_RANK", str(local_rank))

    for name in ("RANK", "LOCAL_RANK", "SLURM_LOCALID", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    return launch


def used(guard: DeviceGuard) -> list[str]:
    return [event.target for event in guard.ledger.of(Kind.FOREIGN_CARD)]


def test_what_launchers_say(launched, monkeypatch):
    assert cards.this_process() is None
    monkeypatch.setenv("SLURM_LOCALID", "2")
    monkeypatch.setenv("SLURM_PROCID", "6")
    assert cards.this_process() == Process(6, 2)
    launched(3, 1)
    assert cards.this_process() == Process(3, 1)


def test_a_process_owns_all_the_cards_that_it_does_not_share(launched):
    assert cards.own_card(2) is None
    launched(1, 1)
    assert cards.own_card(2) == 1
    assert cards.own_card(1) is None  # the launcher hides the others
    launched(5, 5)
    assert cards.own_card(2) is None


def test_another_card_than_the_own_one_is_noted(launched):
    launched(1, 1)
    with virtual_devices("cuda:2"), DeviceGuard() as guard:
        torch.ones(2, device="cuda:1")
        torch.cuda.set_device(1)
        torch.ones(2).cuda()
        assert used(guard) == []
        torch.nn.Linear(2, 2).to("cuda:0")
        torch.ones(2).cuda(0)
    assert used(guard) == ["cuda:0", "cuda:0"]
    assert Kind.FOREIGN_CARD not in {event.kind for event in guard.problems}


def test_the_current_card_before_it_is_set_is_the_first_one(launched):
    launched(1, 1)
    with virtual_devices("cuda:2"), DeviceGuard() as guard:
        torch.ones(2).cuda()
    assert used(guard) == ["cuda:0"]


def test_the_place_that_names_the_card_is_told(launched):
    launched(1, 1)
    with virtual_devices("cuda:2"), DeviceGuard() as guard:
        first, own = torch.device("cuda:0"), torch.device("cuda", 1)
        torch.ones(2, device=own)
        torch.ones(2, device=first)
    (event,) = guard.ledger.of(Kind.FOREIGN_CARD)
    assert [site.line - event.site.line for site in event.origins] == [-2]


def test_the_first_process_and_a_lone_one_own_the_first_card(launched):
    for launch in (lambda: None, lambda: launched(0, 0)):
        launch()
        with virtual_devices("cuda:2"), DeviceGuard() as guard:
            torch.ones(2, device="cuda:0")
        assert used(guard) == []


def test_real_cards_are_watched_too(monkeypatch):
    noted = []
    monkeypatch.setattr(modes, "real_card", lambda: 1)
    monkeypatch.setattr(
        cards, "note_use", lambda device, own: noted.append((device.type, device.index, own))
    )
    with DeviceGuard():
        torch.ones(2)
        torch.ones(2).to(torch.float64)
    assert set(noted) == {("cpu", None, 1)}


def test_gloo_stands_in_for_nccl(launched, monkeypatch):
    monkeypatch.setattr(compilers, "_said", set())  # others may have made it say so
    with virtual_devices("cuda:2"), pytest.warns(UserWarning, match="NCCL: virtual devices"):
        store = dist.HashStore()
        device = torch.device("cuda", 1)
        dist.init_process_group("nccl", store=store, rank=0, world_size=1, device_id=device)
        try:
            assert (dist.get_backend(), dist.is_nccl_available()) == ("nccl", True)
            assert dist.get_backend(dist.new_group([0], backend="cuda:nccl")) == "cuda:nccl"
            total = torch.ones(2, device=device)
            dist.all_reduce(total)
            assert (total.device, total.tolist()) == (device, [1, 1])
        finally:
            dist.destroy_process_group()
