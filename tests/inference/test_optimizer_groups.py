"""An optimizer's parameters are where their module is: so must be what it computes with them."""

import pytest
from given import met

STEP = """
from torch.optim.optimizer import Optimizer

class Momentum({base}):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["mean"] = {made}
                state["mean"].mul_(0.9).add_(p.grad, alpha=0.1)
                p.data.add_(state["mean"], alpha=-group["lr"])
"""


@pytest.mark.parametrize("base", ["torch.optim.Optimizer", "Optimizer", "torch.optim.SGD"])
def test_state_on_the_default_device_meets_the_gradients(base):
    (found,) = met(STEP.format(base=base, made="torch.zeros(p.shape)"))
    assert "p.grad" in found
    assert found.endswith("certain")


@pytest.mark.parametrize(
    ("base", "made"),
    [
        ("Optimizer", "torch.zeros_like(p)"),
        ("Optimizer", "torch.zeros(p.shape, device=p.device)"),
        ("Optimizer", "p.new_zeros(p.shape)"),
        ("object", "torch.zeros(p.shape)"),  # whatever has groups of parameters there
    ],
)
def test_state_where_the_parameters_are_does_not(base, made):
    assert met(STEP.format(base=base, made=made)) == []


def test_numbers_of_no_dimension_meet_every_device():
    code = STEP.format(base="Optimizer", made="torch.zeros_like(p)").replace(
        "alpha=0.1)", "alpha=0.1).mul_(torch.tensor(0.5))"
    )
    assert met(code) == []
