"""Races between streams: what a card may do, reported where no card is."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402
from runtime_guard.recording.events import Kind  # noqa: E402
from runtime_guard.recording.observers import DevicePolicyError  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture
def guard():
    with virtual_devices("cuda:2"), DeviceGuard(on_race="record") as guard:
        yield guard


def races(guard) -> list[str]:
    return [event.detail for event in guard.ledger.of(Kind.RACE)]


class TestReported:
    def test_used_on_another_stream_without_a_wait(self, guard):
        x = torch.ones(4, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            x * 2
        (detail,) = races(guard)
        assert detail.startswith("read by `mul` on stream")
        assert "without waiting for what was written by `" in detail
        assert "on the default stream of cuda:0 at" in detail

    def test_a_result_taken_back_without_a_wait(self, guard):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            y = torch.ones(4, device="cuda") * 2
        y + 1
        assert len(races(guard)) == 1

    def test_written_while_another_stream_reads(self, guard):
        x = torch.ones(4, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.sum()
        x.add_(1)
        (detail,) = races(guard)
        assert detail.startswith("written by `add_` on the default stream")

    def test_an_event_that_was_recorded_too_early(self, guard):
        side, event = torch.cuda.Stream(), torch.cuda.Event()
        event.record()
        x = torch.ones(4, device="cuda")
        side.wait_event(event)
        with torch.cuda.stream(side):
            x + 1
        assert len(races(guard)) == 1

    def test_a_pinned_buffer_overwritten_while_it_is_copied(self, guard):
        buffer = torch.ones(4).pin_memory()
        buffer.to("cuda", non_blocking=True)
        buffer.fill_(2)
        (detail,) = races(guard)
        assert detail.startswith("the host writes into it by `fill_` while it may still be read")

    def test_as_an_error(self):
        with virtual_devices("cuda:1"), DeviceGuard(on_race="raise"):
            x = torch.ones(4, device="cuda")
            with torch.cuda.stream(torch.cuda.Stream()), pytest.raises(DevicePolicyError):
                x + 1


class TestRight:
    """Programs in which nothing races."""

    def test_wait_stream_there_and_back(self, guard):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x * 2
        torch.cuda.current_stream().wait_stream(side)
        x.add_(1)
        y + x

    def test_events(self, guard):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        ready = torch.cuda.Event()
        ready.record()
        side.wait_event(ready)
        with torch.cuda.stream(side):
            y = x * 2
            done = side.record_event()
        done.wait()
        y + 1

    @pytest.mark.parametrize(
        "wait",
        [
            lambda stream: torch.cuda.synchronize(),
            lambda stream: stream.synchronize(),
            lambda stream: stream.record_event().synchronize(),
        ],
        ids=["device", "stream", "event"],
    )
    def test_the_host_waited(self, guard, wait):
        side = torch.cuda.Stream()
        buffer = torch.ones(4).pin_memory()
        with torch.cuda.stream(side):
            y = buffer.to("cuda", non_blocking=True)
        wait(side)
        buffer.fill_(2)
        y + 1

    def test_a_blocking_copy(self, guard):
        buffer = torch.ones(4).pin_memory()
        buffer.to("cuda")
        buffer.fill_(2)

    def test_one_stream(self, guard):
        x = torch.ones(4, device="cuda")
        x.add_(1)
        x.mul_(x)
        x.to("cuda:1").add_(1)

    def test_two_readers(self, guard):
        x = torch.ones(4, device="cuda")
        torch.cuda.synchronize()
        for _ in range(2):
            with torch.cuda.stream(torch.cuda.Stream()):
                x + 1

    def test_memory_that_another_tensor_has_next(self, guard):
        for _ in range(5):
            with torch.cuda.stream(torch.cuda.Stream()):
                torch.ones(1000, device="cuda").add_(1)

    def test_training_on_a_side_stream(self, guard):
        net, side = torch.nn.Linear(4, 2).cuda(), torch.cuda.Stream()
        optimizer = torch.optim.Adam(net.parameters())
        x = torch.ones(3, 4, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                optimizer.zero_grad()
                net(x).sum().backward()
                optimizer.step()
        torch.cuda.current_stream().wait_stream(side)
        net(x)

    @pytest.fixture(autouse=True)
    def none(self, guard):
        yield
        assert races(guard) == []


def test_a_guard_that_did_not_ask_looks_for_none():
    with virtual_devices("cuda:1"), DeviceGuard() as guard:
        x = torch.ones(4, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            x + 1
    assert not races(guard)


def test_real_devices_have_pytorchs_own_checker():
    with pytest.raises(ValueError, match="TORCH_CUDA_SANITIZER"), DeviceGuard(on_race="record"):
        pass
