"""What the guard notes for `confirm` without calling it a bug, and what modules leave behind."""

from __future__ import annotations

import functools
import inspect

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.utils import prune  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402
from runtime_guard.commands.session import device_events, news_of, tell_of  # noqa: E402
from runtime_guard.recording.events import Kind  # noqa: E402


@pytest.fixture
def guard():
    with virtual_devices("cuda:2"), DeviceGuard() as guard:
        yield guard


def details(guard: DeviceGuard, kind: Kind) -> list[str]:
    return [event.detail for event in guard.ledger.of(kind)]


class Holder(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        self.kept = None
        for name, value in attributes.items():
            setattr(self, name, value)


class TestPassedBy:
    def test_modules_in_a_nested_container(self, guard):
        Holder(kept=[(nn.Linear(2, 2), nn.ReLU())]).cuda()
        assert details(guard, Kind.PASSED_BY) == [
            "`kept[0][0]` of Holder is in a plain list and stays on cpu while the module moves to "
            "cuda:0: keep the modules of `kept` in an `nn.ModuleList` (devlint explain DEV206)"
        ]

    @pytest.mark.parametrize("used", ["weight", "bias", "running_mean"])
    @pytest.mark.parametrize(
        "container, way, cure",
        [
            (lambda net: [net], "list", "ModuleList"),
            (lambda net: (net,), "tuple", "ModuleList"),
            (lambda net: {"first": net}, "dict", "ModuleDict"),
        ],
    )
    def test_whatever_of_a_listed_module_meets_the_list_is_named(
        self, guard, used, container, way, cure
    ):
        """The first parameter is no other than the rest of what the module holds."""
        norm = nn.BatchNorm1d(2)
        Holder(kept=container(norm)).cuda()
        with pytest.raises(RuntimeError, match=r"devlint explain DEV206") as raised:
            _ = torch.ones(2, device="cuda") + getattr(norm, used)
        assert f"of Holder is in a plain {way} and stays on cpu" in str(raised.value)
        assert f"keep the modules of `kept` in an `nn.{cure}`" in str(raised.value)
        assert len(details(guard, Kind.LEFT_BEHIND)) == len(details(guard, Kind.PASSED_BY)) == 1

    def test_a_module_that_was_left_behind_is_told_once(self, guard):
        """Its weight and its bias meet in one operation."""
        layer = nn.Linear(2, 2)
        Holder(kept=[layer]).cuda()
        with pytest.raises(RuntimeError) as raised:
            layer(torch.ones(1, 2, device="cuda"))
        assert str(raised.value).count("nn.ModuleList") == 1
        assert len(details(guard, Kind.LEFT_BEHIND)) == 1

    @pytest.mark.parametrize("wrap", [functools.lru_cache, lambda net: functools.partial(net, 1)])
    def test_a_module_behind_a_wrapper(self, guard, wrap):
        Holder(kept=wrap(nn.Linear(2, 2))).cuda()
        (said,) = details(guard, Kind.PASSED_BY)
        assert said.startswith("`kept` of Holder is a plain attribute and stays on cpu")
        assert "give the module that it wraps an attribute of its own" in said

    def test_a_wrapper_of_a_registered_module(self, guard):
        layer = nn.Linear(2, 2)
        Holder(layer=layer, kept=functools.lru_cache(layer)).cuda()
        assert details(guard, Kind.PASSED_BY) == []

    def test_the_line_that_keeps_it_is_told(self, guard):
        Holder(kept=torch.ones(2)).cuda()
        (event,) = guard.ledger.of(Kind.PASSED_BY)
        lines, first = inspect.getsourcelines(Holder)
        (origin,) = event.origins
        assert lines[origin.line - first].strip() == "self.kept = None"

    def test_what_is_registered_elsewhere_in_the_tree_is_not_left_behind(self, guard):
        layer = nn.Linear(2, 2)
        Holder(layer=layer, kept=[layer]).cuda()
        assert details(guard, Kind.PASSED_BY) == []

    @pytest.mark.parametrize(
        "reshape",
        [
            lambda layer: torch.nn.utils.weight_norm(layer),
            lambda layer: torch.nn.utils.spectral_norm(layer),
            lambda layer: prune.l1_unstructured(layer, "weight", 0.5),
        ],
    )
    def test_what_a_hook_makes_anew_is_not_left_behind(self, guard, reshape):
        layer = nn.Linear(4, 2)
        reshape(layer)
        layer.cuda()
        assert layer(torch.ones(1, 4, device="cuda")).is_cuda
        assert details(guard, Kind.PASSED_BY) == []
        layer.other = torch.ones(2)
        layer.to("cuda:1")
        assert len(details(guard, Kind.PASSED_BY)) == 1

    def test_a_module_without_any_state_of_its_own(self, guard):
        Holder(kept=torch.ones(2)).to("cuda:1")
        assert "moves to cuda:1" in details(guard, Kind.PASSED_BY)[0]
        assert guard.transfers == []

    def test_a_conversion_of_the_dtype_moves_nothing(self, guard):
        Holder(kept=torch.ones(2)).double()
        Holder(kept=torch.ones(2)).share_memory()
        assert details(guard, Kind.PASSED_BY) == []


class TestNoted:
    def test_no_note_is_a_bug_or_a_cost(self, guard):
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.cuda()
        table = torch.zeros(2, 2, device="cuda")
        table[0, 1] = 3
        optimizer.zero_grad()
        kinds = {event.kind for event in guard.ledger}
        assert {Kind.OPTIMIZED_MOVE, Kind.MODULE_MOVE, Kind.ELEMENT_WRITE} <= kinds
        assert guard.problems == []

    def test_a_module_moved_before_its_optimizer(self, guard):
        model = nn.Linear(2, 2).cuda()
        torch.optim.SGD(model.parameters(), lr=0.1)
        model.cuda()
        assert details(guard, Kind.OPTIMIZED_MOVE) == []

    def test_rows_and_host_tables_are_no_elements(self, guard):
        torch.zeros(2, 2, device="cuda")[0] = 1
        torch.zeros(2, 2)[0, 0] = 1
        assert guard.ledger.of(Kind.ELEMENT_WRITE) == []

    def test_moves_that_die_unused_after_their_line(self, guard):
        for tensor in [torch.ones(2), torch.ones(2)]:
            tensor = tensor.cuda()
        assert guard.count(Kind.UNUSED_MOVE) == 1  # the second one still lives
        assert guard.problems == []

    def test_asking_where_a_moved_tensor_is_uses_it(self, guard):
        assert torch.ones(2).cuda().device.type == "cuda"
        assert guard.problems == []


def test_a_lazy_module_is_moved(guard):
    layer = nn.LazyLinear(2).cuda()
    assert layer(torch.ones(1, 3, device="cuda")).is_cuda


class TestCopiesIntoBuffers:
    def test_a_pinned_buffer_is_read_too_early(self, guard):
        buffer = torch.empty(2, pin_memory=True)
        buffer.copy_(torch.ones(2, device="cuda"), non_blocking=True)
        buffer.sum()
        assert [event.kind for event in guard.problems] == [Kind.UNLANDED_READ]

    def test_a_synchronisation_lands_the_copy(self, guard):
        buffer = torch.empty(2, pin_memory=True)
        buffer.copy_(torch.ones(2, device="cuda"), non_blocking=True)
        torch.cuda.synchronize()
        buffer.sum()
        assert guard.problems == []

    def test_a_copy_back_to_the_device_waits_its_turn(self, guard):
        buffer = torch.empty(2, pin_memory=True)
        there = torch.ones(2, device="cuda")
        buffer.copy_(there, non_blocking=True)
        buffer.to("cuda", non_blocking=True)
        buffer.copy_(there, non_blocking=True)
        there.copy_(buffer)
        x = torch.ones(2, device="cuda", requires_grad=True)
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            y = (x * x).sum()
        y.backward()
        assert guard.ledger.of(Kind.UNLANDED_READ) == []

    def test_a_pageable_buffer_makes_the_host_wait(self, guard):
        buffer = torch.empty(2)
        buffer.copy_(torch.ones(2, device="cuda"), non_blocking=True)
        buffer.sum()
        assert guard.problems == []
        assert guard.count("sync") == 1


NO_CUDA = "not compiled with CUDA|Found no NVIDIA driver"
"""What PyTorch says on a machine without a card: a build for the CPU, a build for CUDA."""


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
class TestDevicesThatAreNotThere:
    @pytest.mark.parametrize(
        "ask",
        [
            lambda: torch.ones(2).cuda(),
            lambda: torch.ones(2, device="cuda"),
            lambda: nn.Linear(2, 2).to("cuda:0"),
            lambda: torch.ones(2).to(torch.device("cuda")),
        ],
    )
    def test_asking_for_one_raises_what_pytorch_raises(self, ask):
        with virtual_devices("mps"), DeviceGuard() as guard:
            with pytest.raises((AssertionError, RuntimeError), match=NO_CUDA):
                ask()
            assert guard.count(Kind.UNAVAILABLE) == 1

    @pytest.mark.parametrize(
        "text",
        [
            "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
            "CUDA error: CUDA driver version is insufficient for CUDA runtime version",
            "CUDA error: no CUDA-capable device is detected",
            "module 'torch' has no attribute 'npu'",
        ],
    )
    def test_what_is_said_without_a_card(self, text):
        (told,) = device_events(RuntimeError(text))
        assert told.kind is Kind.UNAVAILABLE

    @pytest.mark.parametrize(
        "text",
        [
            "CUDA error: device-side assert triggered",
            "CUDA error: out of memory",
            "module 'torch' has no attribute 'symeig'",
        ],
    )
    def test_what_it_says_of_a_card_that_is_there(self, text):
        assert device_events(RuntimeError(text)) == []

    def test_naming_one_is_free(self):
        with virtual_devices("mps"), DeviceGuard() as guard:
            assert str(torch.device("cuda", 1)) == "cuda:1"
        assert guard.problems == []


class Holding(nn.Module):
    def __init__(self, wanted):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(2, device=wanted))


class TestWhatIsNoDevice:
    REFUSED = (
        lambda: torch.ones(2).cuda(True),
        lambda: torch.ones(2).to(device=True),
        lambda: torch.zeros(2, device=False),
        lambda: torch.zeros_like(torch.ones(2), device=True),
        lambda: torch.arange(3, device=True),
        lambda: torch.device(True),
        lambda: torch.device("cuda", True),
        lambda: torch.Generator(device=True),
        lambda: Holding(True),
        lambda: nn.Linear(2, 2).to(False),
        lambda: nn.Linear(2, 2).cuda(True),
        lambda: nn.Linear(2, 2).cuda(non_blocking=True),
        lambda: nn.Linear(2, 2).cuda(0, True),
        lambda: torch.ones(2).to(torch.cuda.device(0)),
        lambda: torch.ones(2, device=torch.cuda.device(0)),
        lambda: torch.ones(2).to(torch.ones(2).get_device()),
        lambda: torch.cuda.set_device("cuda"),
        lambda: torch.cuda.set_device(torch.device("cuda")),
        lambda: torch.device("gpu"),
    )

    @pytest.mark.parametrize("ask", REFUSED)
    @pytest.mark.parametrize("virtual", [True, False])
    def test_pytorch_refuses_it(self, ask, virtual):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            if virtual:
                with virtual_devices("cuda:2"):
                    ask()
            else:
                ask()
        (told,) = device_events(caught.value)
        assert told.kind is Kind.NOT_A_DEVICE
        assert told.stack[0].file == __file__

    @pytest.mark.parametrize(
        "ask",
        [
            lambda: torch.ones(2).to(dtype="float"),
            lambda: torch.zeros(2, dtype=True),
            lambda: torch.arange(3, dtype=True),
            lambda: torch.arange("3", device=torch.device("cpu")),
            lambda: nn.Linear(2, 2).to(torch.int8),
            lambda: nn.Linear(2, 2).train(mode="on"),
            lambda: torch.ones(2) @ torch.ones(3),
        ],
    )
    def test_other_mistakes_are_none_of_it(self, ask):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            ask()
        assert device_events(caught.value) == []

    @pytest.mark.parametrize("virtual", [True, False])
    def test_a_flag_that_is_taken_for_a_dtype(self, virtual):
        def convert():
            with DeviceGuard() as guard:
                assert torch.ones(2).to(True).dtype is torch.bool
                assert torch.ones(2).to(bool).dtype is torch.bool
            return [event.kind for event in guard.ledger]

        if virtual:
            with virtual_devices("cuda:2"):
                assert convert() == [Kind.NOT_A_DEVICE]
        else:
            assert convert() == [Kind.NOT_A_DEVICE]

    def test_what_ends_a_test_is_told_once(self, guard):
        with pytest.raises(TypeError) as caught:
            torch.ones(2).cuda(True)
        assert len(news_of(caught.value, ())) == 1
        tell_of(caught.value)
        assert guard.count(Kind.NOT_A_DEVICE) == 1
        tell_of(caught.value)
        assert guard.count(Kind.NOT_A_DEVICE) == 1
        with pytest.raises(RuntimeError) as caught:
            torch.ones(2, device="cuda:7")
        assert guard.count(Kind.UNAVAILABLE) == 1
        tell_of(caught.value)
        assert guard.count(Kind.UNAVAILABLE) == 1
