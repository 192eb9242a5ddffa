"""An autograd function: `apply` runs `forward`, and `backward` finds in `ctx` what that stored."""

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
    assert found.startswith("h@cpu torch.matmul ctx.kept@δ(b)")


def test_what_one_branch_alone_moved_is_somewhere():
    assert met(CODE.format("b.cpu() if b.requires_grad else b")) == []


CLAMP = """
    class Clamp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, steps):
            {kept}
            return {output}

        @staticmethod
        def backward(ctx, grad):
            {read}
            return {gradient}, None
"""


def clamp(
    kept="ctx.save_for_backward(x, steps)",
    output="x.clamp(0, 1)",
    read="x, steps = ctx.saved_tensors",
    gradient="grad",
):
    return met(CLAMP.format(kept=kept, output=output, read=read, gradient=gradient))


@pytest.mark.parametrize("gradient", ["grad", "x", "steps", "ctx.saved_tensors[1]"])
def test_a_gradient_and_what_was_saved_are_tensors_of_the_callers(gradient):
    (found,) = clamp(gradient=f"{gradient} / torch.arange(8.0)")
    assert found.startswith("torch.arange(8.0)@cpu / ")


@pytest.mark.parametrize(
    "kept", ["ctx.save_for_backward(x, torch.arange(8.0))", "ctx.steps = torch.arange(8.0)"]
)
def test_what_was_made_on_the_host_meets_a_gradient(kept):
    read = "steps = ctx.steps" if "ctx.steps" in kept else "x, steps = ctx.saved_tensors"
    (found,) = clamp(kept, read=read, gradient="grad * steps")
    assert found.startswith("steps@cpu * grad@δ(grad)")


@pytest.mark.parametrize(
    "gradient",
    ["grad * x", "grad / torch.arange(8.0, device=grad.device)", "grad * 2", "grad * steps"],
)
def test_gradients_meet_what_is_where_the_callers_have_it(gradient):
    assert clamp(gradient=gradient) == []


def test_a_saved_number_is_one_in_backward():
    assert clamp("ctx.n = x.shape[0]", read="n = ctx.n", gradient="grad * n") == []


def test_what_is_saved_in_one_of_two_branches_alone_is_somewhere():
    kept = "ctx.save_for_backward(x, steps.cpu() if x.requires_grad else steps)"
    assert clamp(kept, gradient="grad * steps") == []


def test_gradients_of_what_forward_moves_are_there():
    (found,) = clamp(output="x.clamp(0, 1).cuda()", gradient="grad + torch.arange(8.0)")
    assert found.startswith("torch.arange(8.0)@cpu + grad@cuda")
    assert clamp(output="x.cpu().clamp(0, 1)", gradient="grad + torch.arange(8.0)") == []


APPLIED = """
    class Add(torch.autograd.Function):
        @staticmethod
        def forward({ctx}x, y):
            return x + y
{more}
    def run(x, n):
        {call}
"""
SET_UP = """
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.n = 3
"""


@pytest.mark.parametrize(("ctx", "more"), [("ctx, ", ""), ("", SET_UP)])
def test_apply_is_forward(ctx, more):
    def found(call):
        return met(APPLIED.format(ctx=ctx, more=more, call=call))

    assert found("Add.apply(x.cuda(), 1) + torch.arange(n)") != []
    assert found("add = Add.apply; add(x.cuda(), torch.arange(n))") != []
    assert found("Add.apply(x, 1) + torch.arange(n)") == []
    assert found("Add.apply(x.cuda(), x.cuda()).cpu() + torch.arange(n)") == []
