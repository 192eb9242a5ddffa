"""DeviceGuard: what it records, with which line, and what its policies do."""

from __future__ import annotations

import copy
import gc
import inspect
import io

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from runtime_guard import (  # noqa: E402
    DeviceGuard,
    DevicePolicyError,
    DevicePolicyWarning,
    virtual_devices,
)
from runtime_guard.recording.events import Kind  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("cuda:2") as machine:
        yield machine


def line() -> int:
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


class TestTransfers:
    def test_every_kind_of_copy_with_its_line_and_bytes(self):
        with DeviceGuard() as guard:
            at = line() + 1
            x = torch.ones(4, 2).cuda()
            y = x.to("cuda:1", non_blocking=True)
            z = y.cpu()
            x.copy_(z)
            x[0] = z[0]
            torch.tensor([1.0, 2.0], device="cuda")
        directions = [event.direction for event in guard.transfers]
        assert directions == ["H2D", "D2D", "D2H", "H2D", "H2D", "H2D"]
        first = guard.transfers[0]
        assert (first.site.file, first.site.line) == (__file__, at)
        assert (first.bytes, first.shapes) == (32, ["float32[4, 2]"])
        assert (first.source, first.target, first.blocking) == ("cpu", "cuda:0", True)
        assert not guard.transfers[1].blocking
        assert guard.bytes("H2D") == 32 + 32 + 8 + 8
        assert guard.count("transfer") == 6

    def test_repetitions_are_counted_per_place(self):
        with DeviceGuard() as guard:
            for _ in range(5):
                torch.ones(2).cuda()
        (event,) = guard.transfers
        assert (event.count, event.bytes) == (5, 40)

    def test_a_tensor_that_is_there_already_is_no_transfer(self):
        with DeviceGuard() as guard:
            x = torch.ones(2, device="cuda")
            x.to("cuda:0").cuda().double()
            torch.zeros(2).cpu()
        assert guard.transfers == []

    def test_copies_of_a_storage(self):
        x = torch.ones(2, device="cuda")
        with DeviceGuard() as guard:
            copy.deepcopy(nn.Linear(2, 2, device="cuda:1"))
            x.untyped_storage().clone()
        assert not guard.transfers and not guard.syncs
        with DeviceGuard() as guard:
            torch.save(x, io.BytesIO())
            x.untyped_storage().cuda(1)
        assert [e.direction for e in guard.transfers] == ["D2H", "D2D"]
        assert guard.count("sync") == 1

    def test_tensors_that_torch_groups_by_device(self):
        devices = ("cuda:0", "cuda:1", "cpu")
        parameters = [nn.Parameter(torch.ones(2, device=d)) for d in devices]
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        with DeviceGuard() as guard:
            torch.optim.Adam(parameters, foreach=True).step()
            nn.utils.clip_grad_norm_(parameters[:1], 1.0)
        assert not guard.transfers and not guard.syncs
        with DeviceGuard() as guard:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        assert guard.count("transfer") == 4  # two norms to the first device, the factor back

    def test_an_optimizer_state_that_stayed_behind(self):
        parameter = nn.Parameter(torch.ones(2, device="cuda", dtype=torch.float16))
        parameter.grad = torch.ones_like(parameter)
        optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9, foreach=True)
        optimizer.step()
        state = optimizer.state[parameter]
        state["momentum_buffer"] = state["momentum_buffer"].cpu()
        with pytest.raises(RuntimeError, match="Tensors of the same index must be on the same"):
            optimizer.step()

    def test_modules_and_pinned_sources(self):
        with DeviceGuard() as guard:
            nn.Linear(2, 3).cuda()
            torch.ones(2).pin_memory().cuda(non_blocking=True)
        assert [e.count for e in guard.transfers] == [2, 1]
        assert [e.pinned for e in guard.transfers] == [False, True]

    def test_gradients_that_travel_back(self):
        w = torch.ones(2, requires_grad=True)
        with DeviceGuard() as guard:
            w.cuda().sum().backward()
        assert [e.direction for e in guard.transfers] == ["H2D", "D2H"]

    def test_host_indices_into_a_device_tensor(self):
        x = torch.arange(3, device="cuda")
        with DeviceGuard() as guard:
            x[torch.tensor([0, 1])]
        assert [(e.what, e.direction) for e in guard.transfers] == [("index", "H2D")]

    def test_outside_of_a_guard_nothing_is_recorded(self):
        with DeviceGuard() as guard:
            pass
        torch.ones(2).cuda()
        assert len(guard.ledger) == 0


class TestSyncs:
    @pytest.mark.parametrize(
        "wait",
        [
            lambda x: x.sum().item(),
            lambda x: x.tolist(),
            lambda x: bool(x.sum()),
            lambda x: float(x.sum()),
            lambda x: int(x[0]),
            lambda x: x.nonzero(),
            lambda x: x[x > 0],
            lambda x: torch.masked_select(x, x > 0),
            lambda x: torch.unique(x),
            lambda x: torch.unique(x, return_counts=True),
            lambda x: torch.unique_consecutive(x, return_inverse=True),
            lambda x: x.cpu(),
            lambda x: repr(x),
            lambda x: f"{x}",
            lambda x: torch.equal(x, x),
            lambda x: torch.cuda.synchronize(),
            lambda x: torch.cuda.current_stream().synchronize(),
            lambda x: torch.arange(x.sum()),
            lambda x: torch.allclose(x, x),
            lambda x: torch.linalg.inv(torch.eye(2, device=x.device)),
            lambda x: x.repeat_interleave(x.long()),
            lambda x: torch.histc(x, 4),
            lambda x: F.one_hot(x.long()),
            lambda x: torch.argwhere(x),
            lambda x: torch.tensor([[1.0], [x[0]]]),
            lambda x: range(x.long()[0]),
            lambda x: x.to_sparse(),
            lambda x: torch.linspace(x[0], 2, 3),
            lambda x: bool(torch._is_all_true(x > 0)),
            lambda x: x.index_fill_(0, torch.tensor([1], device=x.device), x[0]),
            lambda x: x.index_fill(0, torch.tensor([1], device=x.device), x[0]),
            lambda x: torch.ones(3).index_fill_(0, torch.tensor([1]), x[0]),
            lambda x: x.masked_fill(x > 0, x[0]),
            lambda x: x.masked_fill_(x > 0, x[0]),
            lambda x: torch.ones(3).fill_(x[0]),
            lambda x: torch.normal(x, x),
            lambda x: torch.normal(0.0, x),
            lambda x: torch.searchsorted(x, x, sorter=torch.argsort(x)),
            lambda x: torch.linalg.svdvals(x[None]),
            lambda x: torch.linalg.eigvalsh(torch.diag(x)),
            lambda x: torch.linalg.eig(torch.diag(x)),
            lambda x: torch.linalg.pinv(torch.diag(x)),
            lambda x: torch.linalg.lstsq(torch.diag(x), torch.diag(x)),
            lambda x: torch.cholesky_inverse(torch.diag(x)),
            lambda x: torch.matrix_exp(torch.diag(x)),
        ],
    )
    def test_what_makes_the_host_wait(self, wait):
        x = torch.ones(3, device="cuda")
        with DeviceGuard() as guard:
            wait(x)
        assert guard.count("sync") == 1

    @pytest.mark.parametrize(
        "ask",
        [
            lambda x: len(x) + x.numel() + x.dim(),
            lambda x: list(x),
            lambda x: x.topk(2),
            lambda x: F.one_hot(x.long(), 3),
            lambda x: x.repeat_interleave(x.long(), output_size=3),
            lambda x: torch.histc(x, 4, 0, 2),
            lambda x: torch.histc(x, bins=4, max=2),
            lambda x: x.__setitem__(x > 0, 2.0),
            lambda x: torch.where(x > 0, x, 0.0),
            lambda x: torch.multinomial(x, 1),
            lambda x: torch.nn.utils.clip_grad_norm_([torch.nn.Parameter(x)], 1.0),
            lambda x: torch.tensor([1.0, 2.0]),
            lambda x: x.index_fill_(0, torch.tensor([1], device=x.device), torch.tensor(2.0)),
            lambda x: x.index_fill(0, torch.tensor([1], device=x.device), 2.0),
            lambda x: x.masked_fill(x > 0, torch.tensor(2.0)),
            lambda x: x.masked_fill(x > 0, 2.0),
            lambda x: x.fill_(x[0]),
            lambda x: x.fill_(torch.tensor(2.0)),
            lambda x: torch.normal(x, 1.0),
            lambda x: torch.searchsorted(x, x),
            lambda x: torch.linalg.cholesky_ex(torch.diag(x)),
        ],
    )
    def test_what_does_not(self, ask):
        x = torch.ones(3, device="cuda")
        with DeviceGuard() as guard:
            ask(x)
        assert guard.syncs == []

    def test_the_same_on_the_host_is_no_sync(self):
        x = torch.ones(3)
        with DeviceGuard() as guard:
            x.tolist(), x.sum().item(), x.nonzero(), repr(x), x[x > 0], bool(x.sum())
        assert guard.syncs == []

    def test_hidden_ones_name_their_operation(self):
        x = torch.ones(3, device="cuda")
        with DeviceGuard() as guard:
            if (x > 0).any():
                pass
        (event,) = guard.syncs
        assert event.what == "bool"


class TestBlocksWithinBlocks:
    def test_nothing_is_counted_twice(self):
        with virtual_devices("cuda:3"), DeviceGuard() as guard:
            torch.ones(2).cuda(2).sum().item()
        assert (guard.count("transfer"), guard.count("sync")) == (1, 1)

    def test_that_end_in_another_order(self):
        first, second = virtual_devices("cuda:3"), virtual_devices("cuda:4")
        first.__enter__()
        second.__enter__()
        first.__exit__()
        with DeviceGuard() as guard:
            torch.ones(2).cuda(3).sum().item()
        second.__exit__()
        assert (guard.count("transfer"), guard.count("sync")) == (1, 1)
        assert torch.cuda.device_count() == 2
        with DeviceGuard() as guard:
            torch.ones(2).cuda(1).sum().item()
        assert (guard.count("transfer"), guard.count("sync")) == (1, 1)


class TestPolicies:
    def test_forbidden_syncs_raise_where_they_happen(self):
        x = torch.ones(3, device="cuda")
        with DeviceGuard() as guard:
            x.sum().item()
            with guard.forbid_syncs():
                x.sum()
                with pytest.raises(DevicePolicyError, match=r"forbids this sync .*test_guard.py"):
                    x.sum().item()
                with guard.allow("logging"):
                    x.sum().item()
            x.sum().item()
        assert guard.count("sync") == 4

    def test_on_transfer_and_on_sync(self):
        x = torch.ones(2)
        with DeviceGuard(on_transfer="raise"), pytest.raises(DevicePolicyError, match="H2D of"):
            x.cuda()
        y = x.cuda()
        with DeviceGuard(on_sync="warn"), pytest.warns(DevicePolicyWarning, match="sync by"):
            y.sum().item()

    def test_allowed_functions(self):
        def log(t):
            return t.item()

        x = torch.ones((), device="cuda")
        with DeviceGuard(on_sync="raise", allow=("log",)):
            assert log(x) == 1.0

    def test_a_mixed_operation_that_is_only_recorded_goes_on(self):
        x, y = torch.ones(2, device="cuda"), torch.ones(2)
        with DeviceGuard(on_mixed="record") as guard:
            z = x + y
            assert z.tolist() == [2, 2] and z.is_cuda
        assert [e.kind for e in guard.problems] == [Kind.MIXED]
        with DeviceGuard(on_mixed="warn"), pytest.warns(DevicePolicyWarning, match="same device"):
            x + y
        with DeviceGuard(on_mixed="record"), DeviceGuard(), pytest.raises(RuntimeError):
            x + y

    def test_a_wrong_policy_is_refused(self):
        with pytest.raises(ValueError, match="on_sync='explode'"):
            DeviceGuard(on_sync="explode")


class TestProblems:
    def seen(self, guard: DeviceGuard) -> list[tuple[Kind, int]]:
        gc.collect()
        return [(e.kind, e.site.line) for e in guard.problems]

    def test_a_mixed_operation(self):
        with DeviceGuard() as guard, pytest.raises(RuntimeError):
            at = line() + 1
            torch.ones(2, device="cuda") + torch.ones(2)
        assert self.seen(guard) == [(Kind.MIXED, at)]

    def test_a_discarded_move(self):
        with DeviceGuard() as guard:
            x = torch.ones(2)
            at = line() + 1
            x.to("cuda")
            x = x.to("cuda")
            x.sum()
        assert self.seen(guard) == [(Kind.DISCARDED_MOVE, at)]

    def test_every_way_to_throw_a_move_away(self):
        def unnamed(x):
            return x

        with DeviceGuard() as guard:
            x, holder = torch.ones(2), [torch.ones(2)]
            at = line() + 1
            x.cuda()
            x.to("cuda")
            holder[0].to(
                device="cuda",
                non_blocking=True,
            )
            unnamed(x.cuda())
            for _ in range(2):
                x.cuda()
        assert self.seen(guard) == [
            (Kind.DISCARDED_MOVE, at + offset) for offset in (0, 1, 2, 6, 8)
        ]

    def test_an_error_that_comes_of_it_says_so(self):
        x = torch.ones(2)
        with DeviceGuard(), pytest.raises(RuntimeError) as raised:
            at = line() + 1
            x.to("cuda")
            torch.ones(2, device="cuda") * x
        said = f"test_guard.py:{at} gave a copy on cuda:0 that was thrown away: keep"
        assert said in str(raised.value)
        assert "explain DEV201" in str(raised.value)

    def test_an_error_about_what_was_computed_of_the_tensor_says_so(self):
        x = torch.ones(2)
        with DeviceGuard(), pytest.raises(RuntimeError, match="keep what it returns"):
            x.to("cuda")
            torch.ones(2, device="cuda") * (x + 1)

    def test_an_error_about_another_tensor_does_not(self):
        x, y = torch.ones(2), torch.ones(2)
        with DeviceGuard(), pytest.raises(RuntimeError) as raised:
            x.to("cuda")
            torch.ones(2, device="cuda") * (y + 1)
        assert "thrown away" not in str(raised.value)

    def test_a_copy_that_a_call_returns_to_nobody(self):
        def moved(batch):
            return {key: value.to("cuda") for key, value in batch.items()}

        batch = {"x": torch.ones(2)}
        with DeviceGuard() as guard, pytest.raises(RuntimeError) as raised:
            at = line() + 1
            moved(batch)
            torch.ones(2, device="cuda") * batch["x"]
        said = f"gave a copy on cuda:0 that was thrown away at test_guard.py:{at}: keep"
        assert said in str(raised.value).replace("tests/runtime_guard/", "")
        # a batch may be skipped: that alone is no bug
        assert [kind for kind, _ in self.seen(guard)] == [Kind.MIXED]

    def test_a_copy_that_a_call_made_for_itself_was_not_thrown_away(self):
        def warm_up(x):
            moved = x.to("cuda")
            return moved is None

        x = torch.ones(2)
        with DeviceGuard(), pytest.raises(RuntimeError) as raised:
            warm_up(x)
            torch.ones(2, device="cuda") * x
        assert "thrown away" not in str(raised.value)

    def test_a_module_that_is_thrown_away_throws_away_no_moved_tensor(self):
        with DeviceGuard() as guard:
            nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).cuda()
            for parameter in nn.Linear(2, 2).parameters():
                at = line() + 1
                parameter.cuda()
        assert set(self.seen(guard)) == {(Kind.DISCARDED_MOVE, at)}

    def test_a_move_that_is_used_or_kept_is_not_discarded(self):
        with DeviceGuard() as guard:
            (torch.ones(2).cuda() * 2).sum()
            kept = torch.ones(2).cuda()
            layer = nn.Linear(2, 2).cuda()
            torch.ones(2).cuda().tolist()
            torch.ones(2).cuda().cpu()[0].item()
            there = torch.ones(2, device="cuda")
            torch.cat([there, torch.ones(2).cuda(), torch.zeros(2).to("cuda")])
            torch.set_rng_state(torch.get_rng_state().cuda().cpu())  # C++ reads it unseen
            assert there.cpu().shape == (2,)
        del kept, layer
        assert self.seen(guard) == []

    def test_a_leaf_that_is_moved(self):
        with DeviceGuard() as guard:
            at = line() + 1
            w = torch.rand(2, requires_grad=True).cuda()
            w.sum()
            torch.rand(2).cuda().requires_grad_().sum()
            kept = nn.Linear(2, 2).cuda()
            kept.weight.cpu().sum()
        assert self.seen(guard) == [(Kind.NON_LEAF_MOVE, at)]
        assert "nothing holds the leaf" in guard.problems[0].detail

    def test_a_moved_leaf_of_which_a_parameter_is_made(self):
        with DeviceGuard() as guard:
            stored = torch.rand(4, requires_grad=True).cuda()  # as `torch.export.load` does
            weight = nn.Parameter(stored.as_strided((2, 2), (2, 1)))
            nn.functional.linear(torch.ones(1, 2, device="cuda"), weight).sum().backward()
            stored.detach().mul(2)
        assert weight.grad is not None
        assert self.seen(guard) == []

    def test_a_moved_leaf_that_is_computed_with_by_a_view(self):
        with DeviceGuard() as guard:
            at = line() + 1
            stored = torch.rand(4, requires_grad=True).cuda()
            stored.view(2, 2).sum()
        assert self.seen(guard) == [(Kind.NON_LEAF_MOVE, at)]

    def test_a_moved_leaf_that_is_asked_for_its_gradient(self):
        with DeviceGuard() as guard:
            leaf = torch.rand(2, requires_grad=True)
            at = line() + 1
            w = leaf.cuda()
            w.sum().backward()
            with pytest.warns(UserWarning, match="not a leaf"):
                assert w.grad is None
        assert self.seen(guard) == [(Kind.NON_LEAF_MOVE, at)]
        assert leaf.grad is not None

    def test_a_moved_leaf_that_is_to_be_optimized(self):
        leaf = torch.rand(2, requires_grad=True)
        with DeviceGuard() as guard, pytest.raises(ValueError, match="non-leaf"):
            at = line() + 1
            copy = leaf.cuda()
            torch.optim.SGD([copy])
        assert self.seen(guard) == [(Kind.NON_LEAF_MOVE, at)]

    def test_a_gradient_that_comes_back_to_a_leaf_that_is_held_is_not_lost(self):
        with DeviceGuard() as guard:
            tied = nn.Embedding(9, 4).cuda()
            hidden = tied(torch.tensor([1], device="cuda")).to("cuda:1")
            (hidden @ tied.weight.to("cuda:1").T).sum().backward()
            averaged = nn.Linear(2, 2).to("cuda:1")
            averaged.weight.detach().copy_(nn.Linear(2, 2).cuda().weight.to("cuda:1"))
            leaf = torch.rand(2, requires_grad=True)
            leaf.to("cuda").pow(2).sum().backward()
            assert leaf.grad is not None
        assert tied.weight.grad.device == torch.device("cuda:0")
        assert self.seen(guard) == []

    @pytest.fixture
    def masked(self):
        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 2)
                self.at = line() + 1
                self.mask = torch.ones(2)
                self.register_buffer("scale", torch.ones(2))

            def forward(self, x):
                return self.layer(x) * self.mask

        return Masked()

    def test_an_attribute_left_behind(self, masked):
        with DeviceGuard() as guard, pytest.raises(RuntimeError) as error:
            masked.cuda()(torch.ones(1, 2, device="cuda"))
        assert (Kind.LEFT_BEHIND, masked.at) in self.seen(guard)
        says = (
            "`mask` of Masked is a plain attribute and stays on cpu while the module moves to "
            'cuda:0: `self.register_buffer("mask", …)` makes it follow'
        )
        assert any(says in e.detail for e in guard.problems if e.kind is Kind.LEFT_BEHIND)
        assert says in str(error.value)
        assert "devlint explain DEV205" in str(error.value)

    def test_the_attribute_is_named_without_a_guard_too(self, masked):
        with pytest.raises(RuntimeError, match="`mask` of Masked is a plain attribute"):
            masked.cuda()(torch.ones(1, 2, device="cuda"))

    def test_what_is_computed_of_the_attribute_alone_on_the_host_meets_for_it(self, masked):
        class Derived(type(masked)):
            def forward(self, x):
                return self.layer(x) * self.mask.bool().float()

        with DeviceGuard() as guard, pytest.raises(RuntimeError, match="plain attribute") as error:
            Derived().cuda()(torch.ones(1, 2, device="cuda"))
        assert Kind.LEFT_BEHIND in [kind for kind, _ in self.seen(guard)]
        assert "devlint explain DEV205" in str(error.value)

    def test_what_forward_moves_or_the_host_alone_reads_is_not_left_behind(self, masked):
        class Careful(type(masked)):
            def __init__(self):
                super().__init__()
                self.sizes = torch.tensor([3, 2])

            def forward(self, x):
                y = self.layer(x) * self.mask.to(x.device)
                return y if self.sizes.sum() > 0 else x

        with DeviceGuard() as guard:
            Careful().cuda()(torch.ones(1, 2, device="cuda"))
            masked.cuda()
        assert self.seen(guard) == []

    def test_a_module_that_goes_back_to_the_host_has_left_nothing_behind(self):
        class Metric(nn.Module):
            def __init__(self):
                super().__init__()
                self.total = torch.zeros(3)

            def _apply(self, fn, recurse=True):
                super()._apply(fn, recurse)
                self.total = fn(self.total)
                return self

        with DeviceGuard() as guard:
            Metric().to("cuda").to("cpu")
        assert guard.ledger.of(Kind.PASSED_BY, Kind.LEFT_BEHIND) == []

    def test_a_module_that_moves_the_rest_itself(self):
        class Mover(nn.Module):
            def __init__(self, forgets=False):
                super().__init__()
                self.layer = nn.Linear(2, 2)
                self.inner = nn.Linear(2, 2)
                self.mask = torch.ones(2)
                self.scale = torch.ones(2)
                self.forgets = forgets

            def forward(self, x):
                return self.layer(x) * self.mask

        class ByTo(Mover):
            def to(self, *args):
                super().to(*args)
                self.inner.to(*args)
                self.mask = self.mask.to(*args)
                if not self.forgets:
                    self.scale = self.scale.to(*args)
                return self

        class ByApply(Mover):
            def _apply(self, fn, recurse=True):
                super()._apply(fn, recurse)
                self.mask = fn(self.mask)
                if not self.forgets:
                    self.scale = fn(self.scale)
                return self

        x = torch.ones(1, 2, device="cuda")
        hooks = len(torch.nn.modules.module._global_forward_pre_hooks)
        with DeviceGuard() as guard:
            modules = [ByTo().to("cuda"), ByApply().cuda(), nn.Sequential(ByApply()).cuda()]
            for module in modules:
                module(x)
        assert self.seen(guard) == []
        with DeviceGuard() as guard:
            called = ByApply(forgets=True).cuda()
            called(x)
            waiting = ByTo(forgets=True).to("cuda")
            details = [event.detail for event in guard.ledger.of(Kind.PASSED_BY)]
        assert [detail.split(" is ")[0] for detail in details] == [
            "`scale` of ByApply",
            "`scale` of ByTo",
        ]
        del modules, waiting
        assert len(torch.nn.modules.module._global_forward_pre_hooks) == hooks

    def test_reading_before_a_copy_has_landed(self):
        x = torch.ones(2, device="cuda")
        with DeviceGuard() as guard:
            early = x.to("cpu", non_blocking=True)
            at = line() + 1
            early.sum()
            late = x.to("cpu", non_blocking=True)
            torch.cuda.synchronize()
            late.sum().item()
        assert self.seen(guard) == [(Kind.UNLANDED_READ, at)]

    def test_numpy(self):
        with DeviceGuard() as guard, pytest.raises(TypeError):
            at = line() + 1
            torch.ones(2, device="cuda").numpy()
        assert self.seen(guard) == [(Kind.HOST_READ, at)]

    def test_a_generator_of_another_device(self):
        with DeviceGuard() as guard, pytest.raises(RuntimeError):
            at = line() + 1
            torch.rand(2, device="cuda", generator=torch.Generator())
        assert self.seen(guard) == [(Kind.GENERATOR, at)]
