"""Programs that PyTorch takes down: ``torch.export``, ``torch.onnx.export``, ``make_fx``, and the
fake tensors by which they are traced."""

from __future__ import annotations

import copy
import io
import os
import sys
import textwrap

import pytest
import warm_python

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402
from torch.export import Dim, ExportedProgram  # noqa: E402
from torch.func import grad, vmap  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from runtime_guard import UnsupportedVirtually, virtual_devices  # noqa: E402
from runtime_guard.core import device_guards  # noqa: E402
from runtime_guard.virtual import exports  # noqa: E402

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device"),
    pytest.mark.filterwarnings("ignore"),
]
CPU, CUDA0, CUDA1 = torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")
MIXED = r"two( different)? devices|Tensor device mismatch"
recent = pytest.mark.skipif(
    not hasattr(torch, "accelerator"), reason="torch.export is a prototype before torch 2.6"
)


@pytest.fixture(autouse=True)
def cards():
    with virtual_devices("cuda:2") as machine:
        yield machine


@pytest.fixture(params=[False, True], ids=["as it runs", "strict"])
def strict(request):
    return request.param


class Net(nn.Module):
    """A model whose forward pass makes tensors where its input is."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("shift", torch.arange(3.0))

    def forward(self, x):
        scale = torch.tensor([1.0, 2.0, 3.0], device=x.device)
        return self.layer(x).relu() * scale + self.shift + torch.ones(3, device=x.device)


def model_of(forward):
    """A module with a linear layer, a buffer and this forward pass."""
    net = Net().cuda()
    net.forward = forward.__get__(net)
    return net


def devices_of(program: ExportedProgram):
    values = [node.meta.get("val") for node in program.graph.nodes]
    return {value.device for value in values if isinstance(value, torch.Tensor)}


def named_in(graph):
    return [str(node.kwargs["device"]) for node in graph.nodes if "device" in node.kwargs]


@recent
class TestExports:
    def test_a_program_of_cards_computes_what_the_host_does(self, strict):
        net, x = Net(), torch.randn(2, 4)
        expected = net(x)
        program = torch.export.export(net.cuda(), (x.cuda(),), strict=strict)
        assert torch.equal(program.module()(x.cuda()).cpu(), expected)
        assert torch.allclose(program.run_decompositions().module()(x.cuda()).cpu(), expected)

    def test_its_graph_names_cards(self, strict):
        def forward(self, x):
            return self.layer(x) + self.shift + torch.ones(3, device=x.device)

        program = torch.export.export(model_of(forward), (torch.ones(2, 4).cuda(),), strict=strict)
        assert devices_of(program) == {CUDA0}
        assert named_in(program.graph) == ["cuda:0"]
        assert {tensor.device for tensor in program.state_dict.values()} == {CUDA0}
        assert devices_of(program.run_decompositions()) == {CUDA0}

    def test_a_tensor_of_the_host_raises_in_the_trace(self, strict):
        def factory(self, x):
            return self.layer(x) + torch.ones(3)

        def attribute(self, x):
            return self.layer(x) + self.plain

        for forward in (factory, attribute):
            net = model_of(forward)
            net.plain = torch.ones(3)
            with pytest.raises(RuntimeError, match=MIXED):
                torch.export.export(net, (torch.ones(2, 4).cuda(),), strict=strict)

    def test_an_input_on_another_device_raises_in_the_trace(self, strict):
        for net, x in (
            (Net(), torch.ones(2, 4).cuda()),
            (Net().cuda(), torch.ones(2, 4)),
            (Net().to("cuda:1"), torch.ones(2, 4).cuda()),
        ):
            with pytest.raises(RuntimeError, match=MIXED):
                torch.export.export(net, (x,), strict=strict)

    def test_a_program_stays_on_its_device(self, strict):
        x = torch.ones(2, 4)
        program = torch.export.export(Net().cuda(), (x.cuda(),), strict=strict)
        with pytest.raises(RuntimeError, match="mat1 is on cpu, different from other tensors on"):
            program.module()(x)
        moved = copy.deepcopy(program).module().cpu()
        with pytest.raises(RuntimeError, match="mat1 is on cuda:0, different"):
            moved(x.cuda())
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
            moved(x)

    def test_a_tensor_that_is_moved_again_has_to_be_where_it_was(self):
        program = torch.export.export(
            model_of(lambda self, x: x.cpu() + 1), (torch.ones(2).cuda(),)
        )
        assert program.module()(torch.ones(2).cuda()).device == CPU
        with pytest.raises(
            RuntimeError, match="Tensor device mismatch! Expected: cuda:0, Got: cpu"
        ):
            program.module()(torch.ones(2))

    def test_a_program_is_moved_by_the_pass_for_it(self):
        passes = pytest.importorskip("torch.export.passes")
        net, x = Net(), torch.randn(2, 4)
        expected = net(x)
        program = torch.export.export(net.cuda(), (x.cuda(),))
        for target in ("cuda:1", "cpu"):
            moved = passes.move_to_device_pass(copy.deepcopy(program), target).module()
            assert moved(x.to(target)).device == torch.device(target)
            assert torch.equal(moved(x.to(target)).cpu(), expected)
            with pytest.raises(RuntimeError, match="mat1 is on cuda:0, different"):
                moved(x.cuda())

    def test_moves(self, strict):
        def forward(self, x):
            there = torch.ones(4).cuda() + torch.ones(4).to("cuda") + torch.ones(4).to(x)
            second = x.cuda(1) + torch.ones(4, device=1) + torch.ones(4).to(CUDA1)
            return (x + there).cpu() + second.to("cpu") + torch.ones(4)

        x = torch.randn(2, 4)
        program = torch.export.export(model_of(forward), (x.cuda(),), strict=strict)
        assert devices_of(program) == {CPU, CUDA0, CUDA1}
        result = program.module()(x.cuda())
        assert result.device == CPU
        assert torch.allclose(result, 2 * x + 6)

    def test_a_card_without_a_number_is_the_current_one(self):
        with torch.cuda.device(1):
            net = model_of(lambda self, x: x.cpu().cuda() + torch.ones(4).to("cuda"))
            program = torch.export.export(net, (torch.ones(4, device="cuda"),))
        assert devices_of(program) == {CPU, CUDA1}

    def test_what_a_model_asks_of_the_machine(self, strict):
        def forward(self, x):
            if torch.cuda.is_available() and x.is_cuda and torch.cuda.device_count() == 2:
                return x + torch.ones(4, device=torch.cuda.current_device())
            return x

        x = torch.ones(4).cuda()
        program = torch.export.export(model_of(forward), (x,), strict=strict)
        assert program.module()(x).tolist() == [2, 2, 2, 2]

    def test_layers(self, strict):
        x = torch.randn(2, 3, 4)
        for layer in (
            nn.LSTM(4, 4, batch_first=True),
            nn.MultiheadAttention(4, 2, batch_first=True),
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
            nn.BatchNorm1d(3),
        ):
            given = (x,) * (3 if isinstance(layer, nn.MultiheadAttention) else 1)
            expected = layer.eval()(*given)
            there = tuple(tensor.cuda() for tensor in given)
            program = torch.export.export(layer.cuda(), there, strict=strict)
            result = program.module()(*there)
            if isinstance(result, tuple):
                result, expected = result[0], expected[0]
            assert result.device == CUDA0
            assert torch.allclose(result.cpu(), expected, atol=1e-6)

    def test_indices_constants_and_draws(self, strict):
        def forward(self, x):
            rows = x[torch.arange(2, device="cuda")] + x.new_zeros(4)
            kinds = F.one_hot(torch.zeros(2, dtype=torch.long, device=x.device), 4)
            return F.dropout(rows, 0.0) + kinds + torch.tensor(2.0) + torch.tensor(3.0).to(x.device)

        x = torch.randn(3, 4).cuda()
        net = model_of(forward)
        program = torch.export.export(net, (x,), strict=strict)
        assert torch.equal(program.module()(x), net(x))
        assert torch.equal(program.run_decompositions().module()(x), net(x))

    def test_autocast_casts_by_the_list_of_the_card(self):
        def forward(self, x):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return self.layer(x)

        x = torch.ones(2, 4).cuda()
        program = torch.export.export(model_of(forward), (x,))
        assert program.module()(x).dtype is torch.bfloat16
        values = [node.meta["val"] for node in program.graph.nodes if node.name == "getitem"]
        assert [value.dtype for value in values] == [torch.bfloat16]

    def test_sizes_that_vary(self, strict):
        sizes = {"x": {0: Dim("batch")}}
        x = torch.ones(2, 4).cuda()
        program = torch.export.export(Net().cuda(), (x,), dynamic_shapes=sizes, strict=strict)
        assert program.module()(torch.ones(5, 4).cuda()).shape == (5, 3)

    def test_a_program_is_saved_and_loaded(self):
        x, file = torch.ones(2, 4).cuda(), io.BytesIO()
        program = torch.export.export(Net().cuda(), (x,))
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file)
        assert torch.equal(loaded.module()(x), program.module()(x))
        assert devices_of(loaded.run_decompositions()) >= {CUDA0}

    def test_a_program_is_trained(self, strict):
        net, x = Net().cuda(), torch.ones(2, 4).cuda()
        net(x).sum().backward()
        expected = net.layer.weight.grad.clone()
        net.zero_grad()
        program = torch.export.export(net, (x,), strict=strict)
        program.module()(x).sum().backward()
        assert net.layer.weight.grad.device == CUDA0
        assert torch.equal(net.layer.weight.grad, expected)

    def test_a_forward_pass_that_differentiates_says_why_not(self):
        def forward(self, x):
            return torch.autograd.grad(self.layer(x).sum(), self.layer.weight)[0]

        with pytest.raises(UnsupportedVirtually, match="the engine of autograd asks for the cuda"):
            torch.export.export(model_of(forward), (torch.ones(2, 4).cuda(),))

    @pytest.mark.parametrize("kind", ["mps", "xpu"])
    def test_other_accelerators(self, kind, strict):
        with virtual_devices(kind):
            x = torch.ones(2, 4, device=kind)
            program = torch.export.export(Net().to(kind), (x,), strict=strict)
            assert devices_of(program) - {CPU} == {x.device}
            assert program.module()(x).device == x.device
            with pytest.raises(RuntimeError, match=f"mat1 is on cpu.*on {kind}:0"):
                program.module()(x.cpu())

    def test_the_first_trace_draws_no_random_numbers(self, strict, monkeypatch):
        monkeypatch.setattr(exports, "_rehearsed", set())
        x, before = torch.ones(2, 4).cuda(), torch.get_rng_state()
        net = Net().cuda()
        torch.set_rng_state(before)
        torch.export.export(net, (x,), strict=strict)
        assert torch.equal(torch.get_rng_state(), before)


@recent
def test_afterwards_torch_is_what_it_was_and_its_tables_have_no_stand_ins():
    """In a process of its own, in which nothing was traced before."""
    program = """
        import torch, torch._dynamo
        from runtime_guard import virtual_devices
        from runtime_guard.core import device_guards
        from torch._dynamo.trace_rules import get_torch_obj_rule_map
        from torch._subclasses.fake_tensor import FakeTensorMode

        def shown():
            owners = torch, torch.cuda, torch.export, torch.overrides, FakeTensorMode, torch.Tensor
            every = [(o, name, v) for o in owners for name, v in vars(o).items()]
            return {(id(o), name): id(v) for o, name, v in every if type(v) is not int}

        def own(x):
            y = x + 1 if torch.cuda.is_available() else x - 1
            return torch.nn.functional.layer_norm(y, (2,)) + torch.ones(2, device=x.device)

        with FakeTensorMode():
            pass  # replaces the guard of CUDA for good, in a build for CUDA
        before, guards = shown(), list(device_guards.guards())
        with virtual_devices("cuda"):
            for strict in (True, False):
                layer = torch.nn.Linear(2, 2).cuda()
                program = torch.export.export(layer, (torch.ones(2, 2).cuda(),), strict=strict)
                program.run_decompositions()
            assert list(device_guards.guards()) != guards
        assert list(device_guards.guards()) == guards
        assert before.items() <= shown().items()
        assert torch.cuda.is_available in get_torch_obj_rule_map()
        compiled = torch.compile(own, backend="eager", fullgraph=True)
        assert torch.equal(compiled(torch.ones(2)), own(torch.ones(2)))
        assert torch.export.export(torch.nn.Linear(2, 2), (torch.ones(2, 2),), strict=True)
        print("as before")
    """
    alone = {k: v for k, v in os.environ.items() if k != "DEVLINT_VIRTUAL_DEVICES"}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    run = warm_python.run(command, capture_output=True, text=True, env=alone)
    assert (run.stdout, run.returncode) == ("as before\n", 0), run.stderr


class TestOnnx:
    @pytest.fixture(autouse=True)
    def autocast(self):
        """The exporter switches autocast's cache off, and leaves it so where the trace raises."""
        yield
        torch.set_autocast_cache_enabled(True)

    def test_a_tensor_of_the_host_raises_in_the_trace(self):
        net = model_of(lambda self, x: self.layer(x) + torch.ones(3))
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
            torch.onnx.export(net, (torch.ones(2, 4).cuda(),), io.BytesIO(), dynamo=False)

    def test_the_graph_is_that_of_the_host(self):
        pytest.importorskip("onnx")
        net, there, here = Net(), io.BytesIO(), io.BytesIO()
        torch.onnx.export(net, (torch.ones(2, 4),), here, dynamo=False)
        torch.onnx.export(net.cuda(), (torch.ones(2, 4).cuda(),), there, dynamo=False)
        assert there.getvalue() == here.getvalue()

    def test_the_exporter_that_goes_by_torch_export(self):
        pytest.importorskip("onnxscript")
        program = torch.onnx.export(Net().cuda(), (torch.ones(2, 4).cuda(),), dynamo=True)
        kinds = {node.op_type for node in program.model.graph}
        assert {"Gemm", "Relu", "Mul", "Add"} <= kinds


class TestFakes:
    def test_layers_are_made_and_called(self):
        with FakeTensorMode() as mode:
            layer = nn.Linear(4, 3, device="cuda:1")
            result = layer(torch.ones(2, 4, device="cuda:1"))
            assert mode.from_tensor(torch.ones(2).cuda()).device == CUDA0
            assert torch.as_tensor(torch.ones(2), device="cuda").device == CUDA0
            with pytest.raises(RuntimeError, match=MIXED):
                layer(torch.ones(2, 4))
        assert result.device == CUDA1
        assert result.grad_fn is not None

    def test_gradients_say_why_not(self):
        with FakeTensorMode():
            loss = nn.Linear(4, 3, device="cuda")(torch.ones(2, 4, device="cuda")).sum()
            with pytest.raises(UnsupportedVirtually, match="gradients of fake tensors"):
                loss.backward()
            host = nn.Linear(4, 3)
            host(torch.ones(2, 4)).sum().backward()
            assert host.weight.grad.shape == (3, 4)

    def test_guards_are_lent_until_the_last_block_ends(self, monkeypatch):
        monkeypatch.setattr(device_guards, "_lent", {})
        table = [1, None, *[None] * 11, None, 2]
        monkeypatch.setattr(device_guards, "guards", lambda: table)
        device_guards.lend(["cuda"])
        device_guards.lend(["cuda", "mps"])
        assert (table[1], table[12], table[13]) == (2, None, 2)
        device_guards.take_back()
        assert (table[1], table[12], table[13]) == (None, None, None)


def weights(x):
    return torch.ones(3, device=x.device)


GRAPHS = {
    "nothing made": (lambda x: x * 2, []),
    "a factory": (lambda x: x + torch.ones(3, device="cuda"), ["cuda:0"]),
    "to the host": (lambda x: x.cpu() + torch.ones(3), ["cpu", "cpu"]),
    "to the second card and back": (
        lambda x: (x.to("cuda:1") + torch.arange(3, device="cuda:1")).cuda(),
        ["cuda:1", "cuda:1", "cuda:0"],
    ),
    "beside an operand": (lambda x: x + x.new_zeros(3), ["cuda:0"]),
    "a constant": (lambda x: x + torch.tensor([1.0, 2.0, 3.0], device="cuda"), ["cuda:0"]),
    "a gradient": (lambda x: grad(lambda y: (y * weights(y)).sum())(x), ["cuda:0", "cuda:0"]),
    "a gradient that comes back": (
        lambda x: grad(lambda y: (y.cpu() ** 2).sum())(x),
        ["cpu", "cpu", "cuda:0"],
    ),
    "a batch": (lambda x: vmap(lambda y: y * torch.ones(2, device="cuda"))(x), ["cuda:0"]),
}


class TestGraphs:
    @pytest.mark.parametrize("name", GRAPHS)
    def test_a_graph_chooses_the_devices_that_its_results_were_on(self, name):
        function, named = GRAPHS[name]
        x = torch.tensor([1.0, 2.0, 3.0]).cuda()
        drawn = make_fx(function)(x)
        assert named_in(drawn.graph) == named
        again = torch.tensor([4.0, 5.0, 6.0]).cuda()
        assert drawn(again).device == function(again).device
        assert torch.equal(drawn(again).cpu(), function(again).cpu())

    def test_on_fake_tensors_its_values_are_on_cards(self):
        x = torch.ones(3).cuda()
        drawn = make_fx(lambda x: x.cuda(1) + torch.ones(3, device=CUDA1), tracing_mode="fake")(x)
        values = [node.meta["val"].device for node in drawn.graph.nodes if node.op != "output"]
        assert values == [CUDA0, CUDA1, CUDA1, CUDA1]
        assert drawn(x).tolist() == [2, 2, 2]

    def test_mixed_devices_raise_in_the_trace(self):
        for tracing in ("real", "fake"):
            with pytest.raises(RuntimeError, match=MIXED):
                make_fx(lambda x: x + torch.ones(3), tracing_mode=tracing)(torch.ones(3).cuda())


class TestFlexAttention:
    def test_gradients_are_those_of_what_it_computes(self):
        flex = pytest.importorskip("torch.nn.attention.flex_attention")
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 2, 2, 128, 16, device="cuda").requires_grad_()
        bias = torch.randn(128, 128, device="cuda", requires_grad=True)
        mask = flex.create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cuda")
        result = flex.flex_attention(
            q, k, v, score_mod=lambda s, b, h, i, j: s + bias[i, j], block_mask=mask
        )
        found = torch.autograd.grad(result.square().sum(), (q, k, v, bias))
        past = torch.ones(128, 128, device="cuda").tril().bool()
        plain = F.scaled_dot_product_attention(q, k, v, torch.where(past, bias, -torch.inf))
        expected = torch.autograd.grad(plain.square().sum(), (q, k, v, bias))
        assert {gradient.device for gradient in found} == {CUDA0}
        for one, other in zip(found, expected, strict=True):
            assert torch.allclose(one, other, atol=1e-4)
