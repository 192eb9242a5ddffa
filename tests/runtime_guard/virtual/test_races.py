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


def read_behind(guard, buffered, wait) -> None:
    """A copy to the host is begun on a side stream, the host waits, and reads it."""
    x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        if buffered:
            host = torch.empty(4).pin_memory()
            host.copy_(x, non_blocking=True)
        else:
            host = x.to("cpu", non_blocking=True)
    wait(side)
    host.sum()


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

    def test_a_view_that_begins_elsewhere(self, guard):
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x[2:6].add_(1)
        x[:3].sum()
        assert len(races(guard)) == 1

    def test_a_buffer_on_the_card_is_written_while_another_stream_reads(self, guard):
        buffer, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            buffer.sum()
        buffer.copy_(torch.ones(4).pin_memory(), non_blocking=True)
        assert races(guard)[0].startswith("written by `copy_` on the default stream")

    def test_freed_memory_that_another_stream_still_reads(self, guard):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x * 2
        del x
        torch.ones(4, device="cuda")
        (detail,) = races(guard)
        assert detail.startswith("the default stream may give `factory` memory that was freed")
        assert "while it may still be read by `mul` on stream" in detail

    @pytest.mark.parametrize(
        "wait",
        [
            lambda x, side: x.sum().item(),
            lambda x, side: x.cpu(),
            lambda x, side: torch.ones(4).to("cuda"),
            lambda x, side: print(x),
            lambda x, side: x.nonzero(),
            lambda x, side: x[x > 0],
            lambda x, side: torch.cuda.current_stream().synchronize(),
            lambda x, side: torch.cuda.Stream().synchronize(),
            lambda x, side: torch.cuda.current_stream().record_event().synchronize(),
            lambda x, side: torch.cuda.Event().synchronize(),
        ],
    )
    def test_the_host_waits_for_one_stream_or_event_and_the_others_go_on(self, guard, wait):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x * 2
        wait(x, side)
        y + 1
        assert len(races(guard)) == 1

    def test_a_buffer_is_overwritten_when_another_stream_than_the_copys_is_done(self, guard):
        buffer, side = torch.ones(4).pin_memory(), torch.cuda.Stream()
        with torch.cuda.stream(side):
            buffer.to("cuda", non_blocking=True)
        torch.cuda.current_stream().synchronize()
        buffer.fill_(2)
        assert len(races(guard)) == 1

    @pytest.mark.parametrize("buffered", [False, True])
    def test_a_copy_is_read_when_another_stream_than_the_copys_is_done(self, guard, buffered):
        read_behind(guard, buffered, lambda side: torch.cuda.current_stream().synchronize())
        assert guard.count(Kind.UNLANDED_READ) == 1

    def test_as_an_error(self):
        with virtual_devices("cuda:1"), DeviceGuard(on_race="raise"):
            x = torch.ones(4, device="cuda")
            with torch.cuda.stream(torch.cuda.Stream()), pytest.raises(DevicePolicyError):
                x + 1


class TestRight:
    """Programs in which nothing races."""

    def test_behind_the_host_is_behind_all_that_it_waited_for(self, guard):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x * 2
            y.sum().item()  # waits for `side`
        y + 1
        with torch.cuda.stream(torch.cuda.Stream()):  # one that is made behind it, too
            y + 1

    def test_a_cache_that_is_written_part_by_part(self, guard):
        cache, side = torch.zeros(100, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        for position in range(100):
            cache[position] = float(position)
            cache[position].item()
            with torch.cuda.stream(side):
                cache[: position + 1].sum()
            side.synchronize()

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

    @pytest.mark.parametrize("buffered", [False, True])
    @pytest.mark.parametrize(
        "wait",
        [
            lambda side: torch.cuda.synchronize(),
            lambda side: side.synchronize(),
            lambda side: side.record_event().synchronize(),
            lambda side: (
                torch.cuda.current_stream().wait_stream(side),
                torch.cuda.current_stream().synchronize(),
            ),
        ],
        ids=["device", "stream", "event", "behind"],
    )
    def test_a_copy_is_read_when_its_stream_is_done(self, guard, buffered, wait):
        read_behind(guard, buffered, wait)
        assert guard.count(Kind.UNLANDED_READ) == 0

    def test_a_blocking_copy(self, guard):
        buffer = torch.ones(4).pin_memory()
        buffer.to("cuda")
        buffer.fill_(2)

    def test_the_host_asked_whether_it_is_done(self, guard):
        buffer, done = torch.ones(4).pin_memory(), torch.cuda.Event()
        buffer.to("cuda", non_blocking=True)
        done.record()
        while not done.query():
            pass
        buffer.fill_(2)

    def test_halves_of_a_tensor(self, guard):
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x[:4].add_(1)
        x[4:].add_(1)

    def test_columns_of_a_tensor(self, guard):
        x, side = torch.ones(4, 2, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x[:, 0].add_(1)
        x[:, 1].add_(1)

    def test_a_blocking_copy_into_a_buffer(self, guard):
        buffer, host = torch.ones(4, device="cuda"), torch.ones(4).pin_memory()
        buffer.copy_(host)
        host.fill_(2)
        with torch.cuda.stream(torch.cuda.Stream()):
            buffer + 1

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

    @pytest.mark.parametrize("cure", ["record_stream", "wait", "event", "host", "size", "pool"])
    def test_memory_that_is_freed_behind_its_readers(self, guard, cure):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x * 2
            done = side.record_event()
        if cure == "record_stream":
            x.record_stream(side)
        del x
        if cure == "wait":
            torch.cuda.current_stream().wait_stream(side)
        elif cure == "event":
            done.wait()
        elif cure == "host":
            torch.cuda.synchronize()
        if cure == "pool":  # that stream has a pool of its own
            with torch.cuda.stream(torch.cuda.Stream()):
                torch.ones(4, device="cuda")
        else:
            torch.ones(1 << 20 if cure == "size" else 4, device="cuda")

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


class Staged:
    """A buffer with a twin on the card, as inference engines have it: NumPy fills it each step."""

    def __init__(self, size):
        self.host = torch.zeros(size, dtype=torch.long).pin_memory()
        self.filled = self.host.numpy()
        self.card = torch.zeros(size, dtype=torch.long, device="cuda")

    def copy(self, count):
        self.card[:count].copy_(self.host[:count], non_blocking=True)
        return self.card[:count]


class TestReplayed:
    """Races of public projects, each reduced to what raced, and the cure that was taken."""

    @pytest.mark.parametrize("cure", [None, "a copy of its own", "an event"])
    def test_the_next_step_is_filled_in_while_this_one_is_copied(self, guard, cure):
        """vllm-project/vllm-ascend#12079: where queries start, for the step behind this one."""
        starts, copied = Staged(8), torch.cuda.Event()
        torch.cuda.synchronize()
        for step in range(3):
            if cure == "an event" and step:
                copied.synchronize()
            starts.filled[:4] = step
            if cure == "a copy of its own":
                starts.card[:4].copy_(starts.host[:4].clone().pin_memory(), non_blocking=True)
            else:
                starts.copy(4)
            copied.record()
        torch.cuda.synchronize()
        said = races(guard)
        assert bool(said) is (cure is None)
        assert all("the host has changed what may still be read by `" in text for text in said)

    @pytest.mark.parametrize("cure", [False, True])
    def test_rows_of_a_table_are_given_away_while_they_are_read(self, guard, cure):
        """sgl-project/sglang#18746: one stream writes what the other still reads."""
        table = torch.zeros(8, 4, device="cuda")
        schedule, forward = torch.cuda.Stream(), torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(forward):
            table.sum(0)
        if cure:
            schedule.wait_stream(forward)
        with torch.cuda.stream(schedule):
            table[2:3].fill_(1)
        assert len(races(guard)) == (not cure)

    @pytest.mark.parametrize("cure", [False, True])
    def test_a_batch_that_a_copying_stream_has_not_brought_yet(self, guard, cure):
        """ROCm/pytorch#3194: the default stream takes what the copying stream was given."""
        copying = torch.cuda.Stream()
        with torch.cuda.stream(copying):
            batch = torch.ones(4).pin_memory().to("cuda", non_blocking=True)
        if cure:
            torch.cuda.current_stream().wait_stream(copying)
        batch * 2
        assert len(races(guard)) == (not cure)

    @pytest.mark.parametrize("cure", [None, "record_stream", "wait"])
    def test_a_batch_is_freed_while_it_is_worked_with(self, guard, cure):
        """Prefetching as in NVIDIA/apex's ImageNet example, which announces its batches.

        A batch is of the copying stream's memory, and the next one may be given it.
        """
        copying, compute = torch.cuda.Stream(), torch.cuda.current_stream()
        batch = None
        for _ in range(3):
            if cure == "wait":
                copying.wait_stream(compute)
            with torch.cuda.stream(copying):
                batch = None
                batch = torch.ones(4).pin_memory().to("cuda", non_blocking=True)
            compute.wait_stream(copying)
            if cure == "record_stream":
                batch.record_stream(compute)
            batch * 2
        said = races(guard)
        assert bool(said) is (cure is None)
        assert all("may give `.to` memory that was freed" in text for text in said)

    @pytest.mark.parametrize("cure", [False, True])
    def test_a_source_is_freed_while_it_is_stashed_on_the_host(self, guard, cure):
        """meta-pytorch/torchrec#4231: the copy reads what the next allocation is given."""
        stash, host = torch.cuda.Stream(), torch.empty(4).pin_memory()
        activation = torch.ones(4, device="cuda")
        stash.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stash):
            host.copy_(activation, non_blocking=True)
        if cure:
            activation.record_stream(stash)
        del activation
        torch.zeros(4, device="cuda")
        assert len(races(guard)) == (not cure)

    @pytest.mark.parametrize("read", ["tolist", "numpy", "index", "sum"])
    @pytest.mark.parametrize("cure", [None, "blocking", "event", "stream"])
    def test_results_of_a_batch_are_read_before_they_have_landed(self, guard, cure, read):
        """sgl-project/sglang#16493: the scheduler's outputs come by `non_blocking` copies."""
        outputs = {name: torch.ones(4, device="cuda") for name in ("tokens", "lengths")}
        behind = cure != "blocking"
        host = {name: part.to("cpu", non_blocking=behind) for name, part in outputs.items()}
        if cure == "event":
            torch.cuda.current_stream().record_event().synchronize()
        elif cure == "stream":
            torch.cuda.current_stream().synchronize()
        for part in host.values():
            {
                "tolist": part.tolist,
                "numpy": part.numpy,
                "index": lambda part=part: part[0] + 1,
                "sum": part.sum,
            }[read]()
        read_early = sum(event.count for event in guard.ledger.of(Kind.UNLANDED_READ))
        assert read_early == 2 * (cure is None)

    @pytest.mark.parametrize("cure", [False, True])
    def test_the_host_reads_what_is_on_its_way_to_it(self, guard, cure):
        """pytorch/pytorch#127612: `.to("cpu", non_blocking=True)`, then a norm of it."""
        host = torch.ones(4, device="cuda").to("cpu", non_blocking=True)
        if cure:
            torch.cuda.synchronize()
        torch.linalg.vector_norm(host)
        assert len(guard.ledger.of(Kind.UNLANDED_READ)) == (not cure)


def test_a_guard_that_did_not_ask_looks_for_none():
    with virtual_devices("cuda:1"), DeviceGuard() as guard:
        x = torch.ones(4, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            x + 1
    assert not races(guard)


def test_real_devices_have_pytorchs_own_checker():
    with pytest.raises(ValueError, match="TORCH_CUDA_SANITIZER"), DeviceGuard(on_race="record"):
        pass


class TestTensorsWithoutMemoryOfTheirOwn:
    """What wraps others is asked for what it wraps; the zeros of forward mode have no memory."""

    @pytest.mark.parametrize(
        "program",
        [
            lambda x: torch.func.jvp(torch.sin, (x,), (x,)),
            lambda x: torch.func.hessian(lambda y: y.pow(3).sum())(x),
            lambda x: torch.func.linearize(torch.sin, x)[1](x),
            lambda x: torch.func.vmap(
                lambda y: y + torch.randn(3, device="cuda"), randomness="different"
            )(x),
            lambda x: torch.func.vmap(torch.func.grad(lambda y: y.clamp(0, 1).sum()))(x),
            lambda x: (x.to_sparse() @ x).sum(),
            lambda x: torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], device="cuda").coalesce() * 2,
            lambda x: torch.sparse.mm(x.to_sparse_csr(), x),
            lambda x: torch.nested.nested_tensor([x[0], x[1, :2]], layout=torch.jagged) * 2,
            lambda x: x.to_sparse().cpu().to("cuda", non_blocking=True).to_dense(),
        ],
        ids=[
            "jvp",
            "hessian",
            "linearize",
            "vmap",
            "grad",
            "sparse",
            "coo",
            "csr",
            "nested",
            "copied",
        ],
    )
    @pytest.mark.filterwarnings("ignore::UserWarning")
    def test_they_run(self, guard, program):
        program(torch.rand(3, 3, device="cuda"))
        assert races(guard) == []

    def test_a_race_within_a_transform(self, guard):
        x = torch.ones(2, 4, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.func.vmap(torch.sin)(x)
        (detail,) = races(guard)
        assert detail.startswith("read by `sin` on stream")

    def test_a_race_for_the_values_of_a_sparse_tensor(self, guard):
        x = torch.eye(2, device="cuda").to_sparse()
        with torch.cuda.stream(torch.cuda.Stream()):
            x * 2
        assert any("without waiting for what was written" in detail for detail in races(guard))
