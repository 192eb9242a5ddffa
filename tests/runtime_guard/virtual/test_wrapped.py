"""Tensors that stand for others are where these are: functionalized, masked, of a class of one's
own."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch.func import functionalize, grad, vmap  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.masked import masked_tensor  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

CUDA0, CUDA1, CPU = torch.device("cuda:0"), torch.device("cuda:1"), torch.device("cpu")


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("cuda:2"):
        yield


class TestFunctionalized:
    def test_what_it_writes_in_place_stays_where_it_is(self):
        def function(x):
            assert x.device == CUDA0
            y = x.clone()
            y.view(-1)[0] = 5
            y.add_(torch.ones(3, device=x.device))
            return y * 2, y.new_zeros(2), y.to("cuda:1"), y.cpu()

        with DeviceGuard() as guard:
            found = functionalize(function)(torch.zeros(2, 3, device="cuda"))
        assert [tensor.device for tensor in found] == [CUDA0, CUDA0, CUDA1, CPU]
        assert found[0].tolist() == [[12, 2, 2], [2, 2, 2]]
        assert (guard.count("transfer"), guard.problems) == (2, [])

    def test_what_is_on_the_host_is_refused(self):
        refused = r"`x`: made on cuda:0 at .*; `torch.ones\(3\)`: made on cpu at"
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu") as error:
            functionalize(lambda x: x + torch.ones(3))(torch.ones(3, device="cuda"))
        error.match(refused)

    def test_with_other_transforms(self):
        x = torch.ones(2, 3, device="cuda")
        assert functionalize(grad(lambda x: (x.sin() * x).sum()))(x).device == CUDA0
        assert vmap(functionalize(lambda x: x * 2))(x).device == CUDA0
        assert functionalize(vmap(lambda x: x * 2))(x).device == CUDA0
        graph = make_fx(functionalize(lambda x: x.clone().add_(x.new_ones(3))))(x)
        assert "add_" not in graph.code and graph(x).device == CUDA0


class TestMasked:
    def test_it_is_where_its_data_is(self):
        mask = torch.tensor([True, False, True], device="cuda")
        masked = masked_tensor(torch.arange(3.0, device="cuda"), mask)
        assert (masked * 2).device == masked.get_data().device == masked.sum().device == CUDA0
        assert masked.sum().get_data().tolist() == 2

    def test_what_is_on_the_host_is_refused(self):
        masked = masked_tensor(torch.arange(3.0, device="cuda"), torch.ones(3).bool().cuda())
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
            masked.get_data() * torch.ones(3)


class Laid(torch.Tensor):
    """Answers for its own layout, by what it gets after it was made."""

    @staticmethod
    def __new__(cls, whole):
        return torch.Tensor._make_wrapper_subclass(
            cls, whole.shape, dtype=whole.dtype, device=whole.device, dispatch_layout=True
        )

    def __init__(self, whole):
        self.whole = whole

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*(a.whole if isinstance(a, Laid) else a for a in args), **(kwargs or {}))


def test_a_class_that_answers_for_its_layout():
    laid = Laid(torch.ones(2, device="cuda:1"))
    assert (laid.device, laid.layout, (laid * 2).device) == (CUDA1, torch.strided, CUDA1)
