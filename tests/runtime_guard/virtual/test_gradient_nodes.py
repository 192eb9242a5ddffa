"""Backward over two cards: each node's gradients are where its result was.

Some formulas make a tensor of sizes alone (`clamp`, `where` and `cat` a zero), in C++, which says
of no device but the host's.  Whichever card was busy before, it belongs to the node's own.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch.utils import _pytree as pytree  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402
from runtime_guard.conformance import operators as conformance  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

MAKE_TENSORS = (
    "cat",
    "clamp",
    "clamp_max",
    "clamp_min",
    "corrcoef",
    "cummax",
    "cummin",
    "index_put",
    "logdet",
    "masked.prod",
    "max_pool2d_with_indices_backward",
    "mvlgamma.mvlgamma_p_1",
    "nextafter",
    "nn.functional.cosine_embedding_loss",
    "nn.functional.ctc_loss",
    "nn.functional.hinge_embedding_loss",
    "nn.functional.margin_ranking_loss",
    "normal",
    "normal.number_mean",
    "put",
    "repeat",
    "tile",
    "trace",
    "where",
)
"""Operators of PyTorch's data base in whose backward a tensor is made of sizes alone."""
SAMPLES = 6


@pytest.fixture(autouse=True)
def cards():
    with virtual_devices("cuda:2"):
        yield


def while_another_card_is_busy(outputs: list[torch.Tensor], there: str) -> None:
    """Backward of ``outputs``, right after a node that computed ``there``."""
    later = torch.ones(3, device=there, requires_grad=True) * 2
    outputs = [*outputs, later]
    torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])


def gradients_of(operator: str, here: str, there: str) -> list[tuple[torch.device, torch.device]]:
    """Where the gradients of an operator's samples are, each beside where its leaf is."""
    op = conformance.operators()[operator]
    found: list[tuple[torch.device, torch.device]] = []
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=True)
    for _, sample in zip(range(SAMPLES), samples, strict=False):
        leaves: list[torch.Tensor] = []

        def put(value, leaves=leaves):
            if not isinstance(value, torch.Tensor):
                return value
            leaf = value.detach().to(here).requires_grad_(value.requires_grad)
            leaves.append(leaf)
            return leaf

        given = pytree.tree_map(put, (sample.input, sample.args, sample.kwargs))
        result = op.op(given[0], *given[1], **given[2])
        outputs = [r for r in pytree.tree_leaves(result) if r.requires_grad]
        if outputs:
            while_another_card_is_busy(outputs, there)
        found += [(leaf.grad.device, leaf.device) for leaf in leaves if leaf.grad is not None]
    return found


@pytest.mark.parametrize("operator", MAKE_TENSORS)
@pytest.mark.parametrize(("here", "there"), [("cuda:0", "cuda:1"), ("cpu", "cuda:0")])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gradients_are_where_the_leaves_are(operator, here, there):
    pytest.importorskip("expecttest")  # the data base imports it
    if not conformance.operators()[operator].supports_autograd:
        pytest.skip("older PyTorch does not differentiate it")
    pairs = gradients_of(operator, here, there)
    assert pairs
    assert {got for got, _ in pairs} == {expected for _, expected in pairs}


def test_below_a_move_it_is_where_that_brought_the_tensor():
    leaf = torch.ones(2, requires_grad=True)
    y = leaf.to("cuda:0").clamp(0, 0.5)
    while_another_card_is_busy([y], "cuda:1")
    assert leaf.grad.device.type == "cpu"


def test_below_a_copy_into_a_part_it_is_where_the_whole_is():
    values = torch.ones(2, device="cuda:1", requires_grad=True)
    whole = torch.zeros(4, device="cuda:0")
    whole[:2] = values
    while_another_card_is_busy([whole.clamp(0, 0.5)], "cuda:1")
    assert values.grad.device == torch.device("cuda:1")


def test_a_number_of_the_host_says_nothing():
    """A parameter of no dimension may be the host's beside a card's tensor."""
    scale = torch.tensor(2.0, requires_grad=True)
    x = torch.ones(3, device="cuda:0", requires_grad=True)
    while_another_card_is_busy([(scale * x).clamp(0, 1)], "cuda:1")
    assert (scale.grad.device.type, x.grad.device) == ("cpu", torch.device("cuda:0"))


class Shared(torch.nn.Module):
    """Attention with a bias that a mask takes part of."""

    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(5, 5))

    def forward(self, x):
        steps = torch.arange(5, device=x.device)
        return x @ torch.where(steps[:, None] >= steps, self.bias, -1e4).softmax(-1)


def test_below_a_function_that_sends_to_several_cards_it_is_the_replica_s():
    """`DataParallel` hands each replica the parameters by way of such a function."""
    module = torch.nn.DataParallel(Shared().cuda())
    module(torch.ones(4, 5, device="cuda")).sum().backward()
    assert module.module.bias.grad.device == torch.device("cuda:0")


class TestNumbers:
    """A 0-dim tensor of the host's may meet a card's; its gradient comes to the host."""

    def meets_a_card(self, scale: torch.Tensor) -> torch.Tensor:
        return (scale * torch.ones(3, device="cuda")).sum()

    def test_of_a_leaf(self):
        scale = torch.tensor(2.0, requires_grad=True)
        self.meets_a_card(scale).backward()
        assert scale.grad.device.type == "cpu"

    def test_of_a_result(self):
        leaf = torch.tensor(2.0, requires_grad=True)
        seen = []
        scale = leaf.exp()
        loss = self.meets_a_card(scale)
        scale.register_hook(lambda gradient: seen.append(gradient.device.type))
        loss.backward()
        assert [*seen, leaf.grad.device.type] == ["cpu", "cpu"]

    def test_it_is_a_transfer_and_the_host_waits(self):
        scale = torch.tensor(2.0, requires_grad=True)
        loss = self.meets_a_card(scale)
        with DeviceGuard() as guard:
            loss.backward()
        assert [(t.what, t.direction) for t in guard.transfers] == [("backward", "D2H")]
        assert guard.count("sync") == 1

    def test_where_the_leaf_was_moved_meanwhile(self):
        layer = torch.nn.ParameterDict({"scale": torch.nn.Parameter(torch.tensor(2.0))})
        self.meets_a_card(layer["scale"]).backward()
        layer.cuda().zero_grad()
        self.meets_a_card(layer["scale"]).backward()
        assert layer["scale"].grad.device == torch.device("cuda:0")

    @pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
    def test_it_is_trained_on_the_host(self, kind):
        """The `logit_scale` of a contrastive loss that nobody moved."""
        scale = torch.nn.Parameter(torch.tensor(2.0))
        optimizer = kind([scale], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            self.meets_a_card(scale.exp()).backward()
            optimizer.step()
        assert scale.item() < 2

    def test_one_hook_is_enough(self):
        scale = torch.nn.Parameter(torch.tensor(2.0))
        for _ in range(3):
            self.meets_a_card(scale).backward()
        assert len(scale._backward_hooks) == 1

    def test_it_is_saved_without_a_warning(self, tmp_path, recwarn):
        scale = torch.tensor(2.0, requires_grad=True)
        self.meets_a_card(scale)
        torch.save(scale, tmp_path / "scale.pt")
        assert not recwarn.list

    def test_that_a_function_of_the_user_s_gives(self):
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, scale, x):
                ctx.save_for_backward(scale, x)
                return scale * x

            @staticmethod
            def backward(ctx, gradient):
                scale, x = ctx.saved_tensors
                return (gradient * x).sum(), gradient * scale

        scale = torch.tensor(2.0, requires_grad=True)
        Scaled.apply(scale, torch.ones(3, device="cuda", requires_grad=True)).sum().backward()
        assert scale.grad.device.type == "cpu"


class Spread(torch.autograd.Function):
    """Of two outputs the first is on the next card."""

    materialize = True

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(Spread.materialize)
        return x.to("cuda:1"), x * 2

    @staticmethod
    def backward(ctx, first, second):
        Spread.seen = [None if one is None else str(one.device) for one in (first, second)]
        return (second if first is None else first.to("cuda:0")) * torch.ones(3, device="cuda:0")


def test_zeros_for_outputs_that_nobody_used_are_where_these_are():
    x = torch.ones(3, device="cuda:0", requires_grad=True)
    for used in Spread.apply(x):
        used.sum().backward()
        assert Spread.seen == ["cuda:1", "cuda:0"]
    assert x.grad.device.index == 0


def test_a_function_may_want_no_such_zeros(monkeypatch):
    monkeypatch.setattr(Spread, "materialize", False)
    x = torch.ones(3, device="cuda:0", requires_grad=True)
    first, second = Spread.apply(x)
    second.sum().backward()
    assert Spread.seen == [None, "cuda:0"]
    first.sum().backward()
    assert Spread.seen == ["cuda:1", None]
