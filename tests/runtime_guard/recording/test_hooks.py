"""Hooks of the backward pass: what they copy is counted, what they hand on stays on the card."""

from __future__ import annotations

import inspect

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402
from runtime_guard.recording.events import Kind  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
STEPS = 3


class Looks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        look(grad)
        return grad


def look(grad):
    grad.cpu()  # the copy


def of_a_tensor(net, result):
    result.register_hook(look)


def of_a_parameter(net, result):
    net.weight.register_hook(look)


def of_what_was_added_up(net, result):
    net.weight.register_post_accumulate_grad_hook(lambda parameter: look(parameter.grad))


def of_a_node(net, result):
    result.grad_fn.register_hook(lambda inputs, outputs: look(outputs[0]))


def of_a_module(net, result):
    net.register_full_backward_hook(lambda module, inputs, outputs: look(outputs[0]))
    return net(torch.ones(3, 4, device="cuda", requires_grad=True))


def of_a_function(net, result):
    return Looks.apply(result)


@pytest.mark.parametrize(
    "register",
    [
        of_a_tensor,
        of_a_parameter,
        of_what_was_added_up,
        of_a_node,
        of_a_module,
        of_a_function,
    ],
)
def test_a_copy_in_every_backward_is_counted_at_its_line(register):
    with virtual_devices("cuda:1"), DeviceGuard() as guard:
        net = nn.Linear(4, 2, device="cuda")
        first = net(torch.ones(3, 4, device="cuda"))
        result = register(net, first)
        for _ in range(STEPS):
            (first if result is None else result).sum().backward(retain_graph=True)
    (copied,) = [event for event in guard.transfers if event.direction == "D2H"]
    assert (copied.count, copied.site.function) == (STEPS, "look")
    assert copied.site.line == inspect.getsourcelines(look)[1] + 1
    assert [(e.site, e.count) for e in guard.syncs] == [(copied.site, STEPS)]


def bring_home(grad):
    return grad.cpu()


def test_a_hook_that_hands_on_another_devices_gradient_is_refused():
    with virtual_devices("cuda:1"), DeviceGuard() as guard:
        weight = torch.ones(3, device="cuda", requires_grad=True)
        weight.register_hook(bring_home)
        with pytest.raises(RuntimeError) as raised:
            weight.sum().backward()
        assert str(raised.value).startswith(
            "hook 'bring_home' has changed the type of value "
            "(was torch.cuda.FloatTensor got torch.FloatTensor)"
        )
        assert "moved to cpu at" in str(raised.value)
        assert len(guard.ledger.of(Kind.MIXED)) == 1


def test_a_hook_that_keeps_its_gradient_where_it_is_goes_on():
    with virtual_devices("cuda:1"):
        weight = torch.ones(3, device="cuda", requires_grad=True)
        handle = weight.register_hook(lambda grad: grad.cpu().mul(2).cuda())
        weight.sum().backward()
        assert weight.grad.tolist() == [2.0] * 3
        handle.remove()
        weight.sum().backward()
        assert weight.grad.tolist() == [3.0] * 3
