"""An object is in one state at a time: what one method left in its attributes never meets what
another did, where each gives all of them a value."""

import pytest
from given import met

RUNNING = """
    class Running:
        def __init__(self):
            self.mean, self.moment, self.count = None, None, 0

        def add(self, a):
            if self.mean is None:
                self.count = len(a)
                self.mean = a.sum(0)
                self.moment = (a - self.mean).t().mm(a - self.mean)
                return
            delta = a - self.mean
            self.moment.addmm_(delta.t(), delta)

        def bring(self, device):
            {bring}

        def load(self, state):
            self.count = state["count"]
            self.mean = torch.from_numpy(state["mean"])
            self.moment = torch.from_numpy(state["moment"])
"""


@pytest.mark.parametrize(
    ("bring", "contradicts"),
    [
        ("self.mean, self.moment = self.mean.to(device), self.moment.to(device)", False),
        (
            "if self.mean is not None:\n                self.mean = self.mean.to(device)\n"
            "            if self.moment is not None:\n"
            "                self.moment = self.moment.to(device)",
            False,
        ),
        ("self.moment = self.moment.to(device)", True),  # and leaves the mean
    ],
)
def test_what_a_method_moves_together_stays_together(bring, contradicts):
    assert bool(met(RUNNING.format(bring=bring))) is contradicts
