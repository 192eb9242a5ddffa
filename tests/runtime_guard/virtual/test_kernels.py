"""What an accelerator computes otherwise than the host: results and dtypes are its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from runtime_guard import DeviceGuard, UnsupportedVirtually, virtual_devices  # noqa: E402
from runtime_guard.core.torch_internals import dispatcher  # noqa: E402
from runtime_guard.virtual import autocast  # noqa: E402
from runtime_guard.virtual.autocast_policies import Policy, policy_of  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
AUTOCAST_HEADER = Path(torch.__file__).parent / "include/ATen/autocast_mode.h"


@pytest.fixture
def card():
    with virtual_devices("cuda:1") as machine:
        yield machine


class TestBuilds:
    """``torch.version.cuda``: libraries compare it with the version they were built for."""

    def test_a_build_without_cuda_gets_a_version(self, card, monkeypatch):
        assert torch.version.cuda is not None

    def test_a_build_for_cuda_keeps_its_own(self, monkeypatch):
        monkeypatch.setattr(torch.version, "cuda", "13.0")
        with virtual_devices("cuda:2"):
            assert torch.version.cuda == "13.0"
        assert torch.version.cuda == "13.0"

    def test_a_build_for_rocm_has_none(self, monkeypatch):
        monkeypatch.setattr(torch.version, "cuda", None)
        monkeypatch.setattr(torch.version, "hip", "6.4")
        with virtual_devices("cuda:1"):
            assert torch.version.cuda is None


class TestHistogramOfIntegers:
    def test_tokens_per_expert(self, card):
        experts = torch.tensor([1, 2, 2, 3], device="cuda", dtype=torch.int32)
        counts = torch.histc(experts, bins=4, min=0, max=3)
        assert counts.tolist() == [0, 1, 2, 1]
        assert (counts.dtype, counts.device.type) == (torch.int32, "cuda")

    @pytest.mark.parametrize("bounds", [(0, 9), (2, 7), (0, 0)])
    def test_bins_are_those_of_floats(self, card, bounds):
        values = torch.arange(10).repeat(3)
        expected = torch.histc(values.double(), 5, *bounds)
        found = torch.histc(values.cuda(), 5, *bounds)
        assert found.cpu().tolist() == expected.tolist()

    def test_into_a_tensor(self, card):
        out = torch.empty(0, dtype=torch.int64, device="cuda")
        torch.histc(torch.tensor([0, 1, 1], device="cuda"), bins=2, min=0, max=1, out=out)
        assert out.tolist() == [1, 2]

    def test_the_host_has_none(self, card):
        with pytest.raises(RuntimeError, match="histogram_cpu"):
            torch.histc(torch.tensor([1, 2]), bins=2)


@pytest.mark.parametrize("kind", [RuntimeError, NotImplementedError])
def test_a_dtype_that_the_host_lacks_is_a_limit_of_virtual_devices(kind):
    """Up to torch 2.6 the host's kernels raise a plain ``RuntimeError``."""

    def spin(x):
        raise kind("\"spin\" not implemented for 'Half'")

    library = torch.library.Library("lacking", "FRAGMENT")
    try:
        library.define("spin(Tensor x) -> Tensor")
        library.impl("spin", spin, "CPU")
        with virtual_devices("cuda"), pytest.raises(UnsupportedVirtually, match="no such kernel"):
            torch.ops.lacking.spin(torch.ones(1, device="cuda"))
        with virtual_devices("cuda"), pytest.raises(kind, match='"spin" not'):
            torch.ops.lacking.spin(torch.ones(1))
    finally:
        library._destroy()


LOWER = {
    "linear": lambda x: F.linear(x, x),
    "conv": lambda x: F.conv1d(x[None], torch.ones(2, 4, 1, device="cuda")),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "attention": lambda x: F.scaled_dot_product_attention(
        x[None, None], x[None, None], x[None, None]
    ),
}
FLOAT32 = {
    "softmax": lambda h: h.softmax(-1),
    "cross_entropy": lambda h: F.cross_entropy(h, torch.zeros(4, dtype=torch.long, device="cuda")),
    "layer_norm": lambda h: F.layer_norm(h, (4,)),
    "power": lambda h: h**2,
    "norm": lambda h: h.norm(),
    "norm over a dimension": lambda h: torch.norm(h, dim=1),
    "norm over a dimension in C++": lambda h: torch.ops.aten.norm(h, 2, [1]),
    "sum": lambda h: h.sum(0),
    "cumsum": lambda h: h.cumsum(0),
    "mse_loss": lambda h: F.mse_loss(h, h),
}
SAME = {
    "relu": lambda h: h.relu(),
    "max": lambda h: h.max(),
    "trace": lambda h: h.trace(),
    "pad": lambda h: F.pad(h[None], (1, 1), mode="reflect"),
    "sum to a dtype": lambda h: h.sum(dtype=torch.float16),
}
ON_THE_HOST = {
    "linear": lambda x: F.linear(x, x),
    "conv": lambda x: F.conv1d(x[None], torch.ones(2, 4, 1)),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "attention": LOWER["attention"],
    "stack": lambda x: torch.stack([x, torch.ones(4, 4)]),
    "cat": lambda x: torch.cat([x, x]),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long)),
    "fft": lambda x: torch.fft.rfft(x).real,
    "softmax": lambda x: x.softmax(-1),
    "sum": lambda x: x.sum(),
    "prod": lambda x: x.prod(),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "power": lambda x: x**2,
}


class TestAutocast:
    """The lists of CUDA's autocast, not the host's."""

    @pytest.mark.parametrize("name", LOWER)
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_lower(self, card, name, dtype):
        with torch.autocast("cuda", dtype=dtype):
            assert LOWER[name](torch.randn(4, 4, device="cuda")).dtype is dtype

    @pytest.mark.parametrize("name", FLOAT32)
    def test_float32(self, card, name):
        with torch.autocast("cuda"):
            half = torch.randn(4, 4, device="cuda").half()
            assert FLOAT32[name](half).dtype is torch.float32

    @pytest.mark.parametrize("name", SAME)
    def test_left_alone(self, card, name):
        with torch.autocast("cuda"):
            assert SAME[name](torch.randn(4, 4, device="cuda").half()).dtype is torch.float16

    def test_promotes(self, card):
        half = torch.ones(3, device="cuda", dtype=torch.float16)
        with torch.autocast("cuda"):
            assert torch.dot(half, half).dtype is torch.float16
            assert torch.dot(half, half.float()).dtype is torch.float32
            assert torch.dot(half.double(), half.double()).dtype is torch.float64

    def test_refuses_what_overflows(self, card):
        probability = torch.rand(3, device="cuda")
        with torch.autocast("cuda"), pytest.raises(RuntimeError, match="BCELoss are unsafe to a"):
            F.binary_cross_entropy(probability, probability)

    def test_refuses_in_pytorchs_words_where_a_kernel_cannot_be_had(self, monkeypatch):
        """``torch.library.get_kernel`` is new in torch 2.9."""
        monkeypatch.delattr(torch.library, "get_kernel", raising=False)
        with virtual_devices("cuda"):
            self.test_refuses_what_overflows(None)

    def test_pytorch_may_have_no_autocast_of_a_type(self, monkeypatch):
        """Torch 2.4 has none of MPS: whatever it is asked about that, it raises."""

        def but_mps(ask):
            def asked(kind, *rest):
                if "mps" in kind.lower():
                    raise RuntimeError(f"unknown device type: {kind}")
                return ask(kind, *rest)

            return asked

        autocast._table.cache_clear()
        monkeypatch.setattr(torch.amp, "is_autocast_available", lambda kind: kind != "mps")
        monkeypatch.setattr(autocast, "_is_enabled", but_mps(autocast._is_enabled))
        known = but_mps(autocast.dispatcher.registrations)
        monkeypatch.setattr(autocast.dispatcher, "registrations", staticmethod(known))
        host = torch.ones(2, 2)
        try:
            with virtual_devices("mps"), torch.autocast("cpu"):
                assert (host @ host).dtype is torch.bfloat16
            with virtual_devices("cuda"), torch.autocast("cuda"):
                assert (host.cuda() @ host.cuda()).dtype is torch.float16
        finally:
            autocast._table.cache_clear()

    def test_host_tensors_are_not_touched(self, card):
        with torch.autocast("cuda"):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
            assert not torch.is_autocast_enabled("cpu")

    def test_the_hosts_own_autocast_is_the_hosts(self, card):
        x = torch.ones(2, 2)
        with torch.autocast("cuda"), torch.autocast("cpu"):
            assert torch.is_autocast_enabled("cpu")
            assert (x @ x).dtype is torch.bfloat16
            assert (x.cuda() @ x.cuda()).dtype is torch.float16
        with torch.autocast("cpu"):
            assert (x.cuda() @ x.cuda()).dtype is torch.float32

    def test_the_hosts_autocast_alone_leaves_a_card_s_tensors(self, card):
        x, layer = torch.ones(2, 2, device="cuda"), nn.Linear(2, 2).cuda()
        with torch.autocast("cpu"):
            assert (x @ x).dtype is layer(x).dtype is torch.float32
            assert (x.cpu() @ x.cpu()).dtype is torch.bfloat16

    def test_a_block_within_the_hosts_autocast(self):
        x = torch.ones(2, 2)
        with torch.autocast("cpu"):
            with virtual_devices("cuda:1"):
                assert ((x @ x).dtype, (x.cuda() @ x.cuda()).dtype) == (
                    torch.bfloat16,
                    torch.float32,
                )
            assert (x @ x).dtype is torch.bfloat16

    @pytest.mark.parametrize("name", sorted(ON_THE_HOST))
    @pytest.mark.parametrize("kernel", ["of PyTorch", "of ours"])
    def test_the_hosts_autocast_does_what_it_does_outside(self, name, kernel, monkeypatch):
        """``torch.library.get_kernel`` is new in torch 2.9: before, we cast by the host's lists."""
        if kernel == "of ours":
            monkeypatch.setattr(autocast.dispatcher, "kernel", staticmethod(lambda *_: None))
        x, half = torch.rand(4, 4), torch.rand(4, 4).bfloat16()
        with torch.autocast("cpu"):
            expected = [ON_THE_HOST[name](tensor) for tensor in (x, half)]
        with virtual_devices("cuda:1"), torch.autocast("cpu"):
            found = [ON_THE_HOST[name](tensor) for tensor in (x, half)]
        assert [t.dtype for t in found] == [t.dtype for t in expected]
        assert all(map(torch.equal, found, expected))

    def test_switched_off_inside(self, card):
        x = torch.ones(2, 2, device="cuda")
        with torch.autocast("cuda"):
            with torch.autocast("cuda", enabled=False):
                assert (x @ x).dtype is torch.float32
            assert (x @ x).dtype is torch.float16
        assert (x @ x).dtype is torch.float32

    def test_gradients_come_back_in_the_parameters_dtype(self, card):
        layer = nn.Linear(4, 2).cuda()
        with torch.autocast("cuda"):
            loss = layer(torch.ones(3, 4, device="cuda")).sum()
        loss.backward()
        assert layer.weight.grad.dtype is torch.float32
        assert layer.weight.grad.tolist() == [[3.0] * 4] * 2

    def test_a_parameter_is_cast_once_per_block(self, card):
        weight = torch.ones(2, 2, device="cuda", requires_grad=True)
        x = torch.ones(2, 2, device="cuda")
        with torch.autocast("cuda"):
            first, second = x @ weight, x @ weight
        casts = {y.grad_fn.next_functions[1][0] for y in (first, second)}
        assert len(casts) == 1

    def test_nothing_is_left_of_it(self):
        x = torch.ones(2, 2)
        with virtual_devices("cuda:1"), torch.autocast("cuda"):
            x.cuda() @ x.cuda()
        with torch.autocast("cpu"):
            half = x @ x
            assert (half.dtype, half.softmax(-1).dtype) == (torch.bfloat16, torch.bfloat16)
        assert (x @ x).dtype is torch.float32

    @pytest.mark.skipif(not AUTOCAST_HEADER.exists(), reason="PyTorch without its headers")
    def test_the_lists_are_pytorchs(self):
        """``AT_FORALL_…`` of ``ATen/autocast_mode.h``, for all that CUDA's autocast knows."""
        policies = {}
        text = AUTOCAST_HEADER.read_text().replace("\\\n", " ")
        for macro, policy in (
            ("LOWER_PRECISION_FP", Policy.LOWER),
            ("FP32", Policy.FLOAT32),
            ("FP32_SET_OPT_DTYPE", Policy.RESULT_FLOAT32),
            ("PROMOTE", Policy.PROMOTE),
        ):
            line = re.search(rf"#define AT_FORALL_{macro}\(_\)(.*)", text)
            for name in re.findall(r"_\((\w+)", line[1]):
                policies[f"aten::{name}"] = policy
        known = dispatcher.registrations("AutocastCUDA")
        by_hand = {
            "aten::binary_cross_entropy": Policy.REFUSE,
            "aten::norm": Policy.RESULT_FLOAT32,
            "aten::linalg_matrix_sqrth": Policy.FLOAT32,  # as the host's autocast has it in 2.14
        }
        for name in known:
            base = name.partition(".")[0]
            if base.startswith("aten::") and "cudnn_" not in base:
                assert policy_of(name) is (policies | by_hand)[base], name


class TestRecurrentLayersUnderAutocast:
    @pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
    def test_all_of_it_is_in_float16(self, card, layer):
        net = layer(4, 4).cuda()
        with torch.autocast("cuda"):
            out, _ = net(torch.randn(5, 2, 4, device="cuda"))
        assert out.dtype is torch.float16
        out.float().sum().backward()
        assert {p.grad.dtype for p in net.parameters()} == {torch.float32}

    def test_an_lstm_that_is_half_itself(self, card):
        net = nn.LSTM(4, 4).cuda().half()
        out, (h, c) = net(torch.randn(5, 2, 4, device="cuda").half())
        assert {t.dtype for t in (out, h, c)} == {torch.float16}
        assert torch._C._get_mkldnn_enabled()


class TestScaledGradients:
    @pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}], ids=str)
    @pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
    def test_a_step_with_infinite_gradients_is_skipped(self, card, optimizer, options):
        net = nn.Linear(4, 3).cuda()
        optimizer = optimizer(net.parameters(), lr=0.1, **options)
        scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
        x = torch.ones(2, 4, device="cuda")
        for factor, scale, moved in ((1.0, 8.0, True), (float("inf"), 4.0, False)):
            before = net.weight.detach().clone()
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = net(x).square().sum() * factor
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            assert scaler.get_scale() == scale
            assert (not torch.equal(net.weight, before)) is moved


class TestAttentionBackends:
    """``sdpa_kernel``: what ``native/transformers/cuda/sdp_utils.cpp`` takes."""

    @pytest.mark.parametrize(
        ("backend", "dtype", "taken"),
        [
            (SDPBackend.MATH, torch.float64, True),
            (SDPBackend.EFFICIENT_ATTENTION, torch.float32, True),
            (SDPBackend.EFFICIENT_ATTENTION, torch.float64, False),
            (SDPBackend.FLASH_ATTENTION, torch.float16, True),
            (SDPBackend.FLASH_ATTENTION, torch.float32, False),
            (SDPBackend.CUDNN_ATTENTION, torch.bfloat16, True),
            (SDPBackend.CUDNN_ATTENTION, torch.float32, False),
        ],
    )
    def test_by_name(self, card, backend, dtype, taken):
        q = torch.randn(1, 2, 4, 8, device="cuda", dtype=dtype)
        with sdpa_kernel(backend):
            if taken:
                assert F.scaled_dot_product_attention(q, q, q).device.type == "cuda"
            else:
                with pytest.raises(RuntimeError, match="No available kernel"):
                    F.scaled_dot_product_attention(q, q, q)

    def test_the_choice_is_the_programs_again(self, card):
        q = torch.randn(1, 2, 4, 8, device="cuda")
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            F.scaled_dot_product_attention(q, q, q)
            assert not torch.backends.cuda.math_sdp_enabled()

    def test_an_operand_elsewhere_is_refused_in_the_words_of_a_kernel_of_cuda(self, card):
        x = torch.ones(1, 1, 4, 8, device="cuda")
        with pytest.raises(RuntimeError, match="wrapper_CUDA___scaled_dot_product_efficient_atten"):
            F.scaled_dot_product_attention(x, x, x.cpu())


def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2).eval()


@pytest.mark.filterwarnings("ignore:.*nested tensors.*")
class TestTransformersFastPath:
    """Inference without gradients takes fused kernels, which fill padded positions with 0."""

    @torch.no_grad()
    def test_on_a_card(self):
        net, x = encoder(), torch.randn(2, 5, 8)
        pad = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()
        expected = net(x, src_key_padding_mask=pad)
        with virtual_devices("cuda:1"):
            found = net.cuda()(x.cuda(), src_key_padding_mask=pad.cuda()).cpu()
        assert expected[0, 4].count_nonzero() == 0
        assert torch.equal(found, expected)

    @torch.no_grad()
    def test_beside_a_guard(self):
        net, x = encoder(), torch.randn(2, 5, 8)
        pad = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()
        expected = net(x, src_key_padding_mask=pad)
        with DeviceGuard():
            assert torch.equal(net(x, src_key_padding_mask=pad), expected)

    @torch.no_grad()
    def test_a_mask_that_stayed_behind_is_refused(self, card):
        net, x = encoder().cuda(), torch.randn(2, 5, 8, device="cuda")
        pad = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()
        with pytest.raises(RuntimeError, match="same device"):
            net(x, src_key_padding_mask=pad)

    @torch.no_grad()
    def test_a_mode_of_the_programs_own_still_counts(self, card):
        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.add(func)
                return func(*args, **(kwargs or {}))

        seen = set()
        net, x = encoder().cuda(), torch.randn(2, 5, 8, device="cuda")
        net(x)
        with Mode():
            net(x)
        assert nn.functional.linear in seen  # the slow path's
