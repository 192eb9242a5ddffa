"""Forward-mode differentiation on virtual devices: a tangent is where its primal is."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.func import functional_call, jacfwd, jvp, vmap  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

CUDA0, CUDA1, CPU = torch.device("cuda:0"), torch.device("cuda:1"), torch.device("cpu")


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("cuda:2"):
        yield


FUNCTIONS = {
    "one operation": lambda x: x.sin(),
    "a product": lambda x: x * x,
    "a row": lambda x: x[0] * 2,
    "in place": lambda x: x.clone().mul_(2),
    "in place in a row": lambda x: _written_in_a_row(x.clone()),
    "a transposed layout": lambda x: x.t().contiguous().sin().t() * x,
    "a concatenation": lambda x: torch.cat([x, x]),
    "a composite": lambda x: torch.linalg.inv(x @ x.t() + torch.eye(5, device=x.device)),
    "a layer norm": lambda x: nn.functional.layer_norm(x, (3,)),
}


def _written_in_a_row(x):
    x[0].mul_(3)
    return x


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
class TestTangentsAreWhereTheirPrimalsAre:
    def on_the_cpu(self, function, differentiate):
        torch.manual_seed(0)
        return differentiate(function, torch.randn(5, 3), torch.randn(5, 3))

    def on_the_card(self, function, differentiate):
        torch.manual_seed(0)
        found = differentiate(function, torch.randn(5, 3).cuda(), torch.randn(5, 3).cuda())
        assert found.device == CUDA0
        return found.cpu()

    def test_of_dual_tensors(self, function):
        def dual(f, x, tangent):
            with forward_ad.dual_level():
                primal, tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(x, tangent)))
                return primal + tangent

        assert torch.equal(self.on_the_card(function, dual), self.on_the_cpu(function, dual))

    def test_of_jvp(self, function):
        def of_rows(f, x, tangent):  # a row's memory is not laid out as its tangent's
            return jvp(lambda row: f(x * row), (x[0],), (tangent[0].clone(),))[1]

        assert torch.equal(self.on_the_card(function, of_rows), self.on_the_cpu(function, of_rows))

    def test_of_jacfwd(self, function):
        def jacobian(f, x, tangent):
            return jacfwd(f)(x)

        card, host = self.on_the_card(function, jacobian), self.on_the_cpu(function, jacobian)
        assert torch.equal(card, host)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        assert tangent.device == CUDA0
        return 2 * tangent * ctx.saved_tensors[0]


class TestAFunctionOfTheUsers:
    def test_is_given_a_tangent_that_is_where_its_input_is(self):
        x = torch.ones(3, 2, device="cuda")
        tangent = torch.ones(2, 3, device="cuda").t()  # C++ lays it out as `x` is
        assert jvp(Square.apply, (x,), (tangent,))[1].tolist() == [[2, 2]] * 3
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, tangent)
            assert forward_ad.unpack_dual(Square.apply(dual)).tangent.device == CUDA0


class TestMoves:
    def test_a_tangent_moves_with_its_primal(self):
        x = torch.ones(2, 3, device="cuda")
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones(3, 2, device="cuda").t())
            for there in (dual.cpu(), (dual * 2).to("cuda:1"), dual.t().to("cuda:1") * 2):
                assert forward_ad.unpack_dual(there).tangent.device == there.device
            assert (dual.cpu().device, (dual * 2).to(CUDA1).device) == (CPU, CUDA1)


class TestDeviceBugs:
    @pytest.mark.parametrize("made_before", [False, True])
    def test_what_is_on_the_host_still_meets_it(self, made_before):
        other = UNTAGGED if made_before else torch.ones(3)
        x, tangent = torch.ones(3, device="cuda"), torch.ones(3, device="cuda")
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
            jvp(lambda x: x.sin() * other, (x,), (tangent,))
        with (
            forward_ad.dual_level(),
            pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"),
        ):
            forward_ad.make_dual(x, tangent) * other

    @pytest.mark.parametrize(
        "make", [lambda: torch.ones(3), lambda: torch.ones(2, 3)[0], lambda: UNTAGGED[:3]]
    )
    def test_a_tangent_on_the_host_stays_there(self, make):
        x, tangent = torch.ones(3, device="cuda"), make()
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, tangent)
            assert forward_ad.unpack_dual(dual).tangent.device == CPU
            with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
                dual.sin()
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
            jvp(torch.sin, (x,), (tangent,))

    def test_right_code_has_no_problem_and_no_transfer(self):
        layer = nn.Linear(3, 2).cuda()
        rows, tangents = torch.ones(4, 3, device="cuda"), torch.ones(4, 3, device="cuda")
        with DeviceGuard() as guard:
            found = vmap(
                lambda row, tangent: jvp(
                    lambda x: functional_call(layer, dict(layer.named_parameters()), (x,)),
                    (row,),
                    (tangent,),
                )[1]
            )(rows, tangents)
        assert found.device == CUDA0
        assert (guard.problems, guard.count("transfer"), guard.count("sync")) == ([], 0, 0)


UNTAGGED = torch.ones(4)[1:]
"""Made before the block, where nobody noted it."""
