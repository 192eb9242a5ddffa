"""An autograd function: `backward` finds in `ctx` what `forward` stored."""

import pytest
from given import met

CODE = """
    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.n = a.shape[0]
            ctx.kept = {}
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            h = torch.empty(ctx.n, 3)
            return torch.matmul(ctx.kept, h).to(grad.device), None
"""


@pytest.mark.parametrize("kept", ["b.cpu().double()", "torch.zeros(3)"])
def test_what_forward_stored_on_the_host_is_there_in_backward(kept):
    assert met(CODE.format(kept)) == []


def test_what_forward_stored_of_its_inputs_is_where_they_are():
    (found,) = met(CODE.format("b"))
    assert found.startswith("h@cpu torch.matmul ctx.kept@δ(ctx)")


def test_what_one_branch_alone_moved_is_somewhere():
    assert met(CODE.format("b.cpu() if b.requires_grad else b")) == []
