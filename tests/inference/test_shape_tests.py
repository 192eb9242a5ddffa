"""A test on the shape of a tensor says what it is not: no placeholder, no number."""

import pytest
from given import met

STEP = """
def step(scores: torch.Tensor, weight=None):
    scores = scores.cuda()
    extra = {extra}
    {test}
        scores = torch.cat([scores, extra])
    return scores
"""
EMPTY, FILLED = "torch.empty(0)", "torch.zeros(4)"


@pytest.mark.parametrize(
    "test",
    [
        "if extra.numel() > 0:",
        "if extra.size(0) != 0:",
        "if extra.shape[0] > 0:",
        "if len(extra) > 0 and scores.dim() == 1:",
        "if not extra.numel() == 0:",
    ],
)
def test_behind_a_question_for_elements_is_no_placeholder(test):
    assert met(STEP.format(extra=EMPTY, test=test)) == []
    (meeting,) = met(STEP.format(extra=FILLED, test=test))
    assert meeting.endswith("certain")


@pytest.mark.parametrize("test", ["if extra.numel() == 0:", "if extra.size(0) < 1:", "if True:"])
def test_a_placeholder_is_where_there_are_none(test):
    (meeting,) = met(STEP.format(extra=EMPTY, test=test))
    assert meeting.endswith("certain")


WEIGHED = """
def loss(errors: torch.Tensor, weight={default}):
    errors = errors.cuda()
    if isinstance(weight, float):
        weight = torch.tensor(weight)
    else:
        weight = torch.ones(3, device="cuda")
    {test}
        weight = weight.unsqueeze(-1)
    return errors * weight
"""


@pytest.mark.parametrize(
    "test", ["if len(weight.shape) == 1:", "if weight.dim() > 0:", "if weight.ndim != 0:"]
)
def test_behind_a_question_for_dimensions_is_no_number(test):
    """`torch.tensor(0.5)` has none, and meets every device as long as that is so."""
    assert met(WEIGHED.format(default="0.5", test=test)) == []


def test_without_the_question_a_number_gets_a_dimension():
    (meeting,) = met(WEIGHED.format(default="0.5", test="if True:"))
    assert "weight" in meeting


DEFAULT = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(3, 3)

    def chunk(self, x, mask: torch.Tensor = {default}):
        x = self.proj(x)
        {rebound}
        {test}
            x = x.masked_fill(~mask[:, 0].unsqueeze(-1), 0.0)
        return x

    def forward(self, x):
        return self.chunk(x)
"""


@pytest.mark.parametrize("test", ["if mask.size(1) != 0:", "if mask.numel() > 0:", "if True:"])
@pytest.mark.parametrize("rebound", ["pass", "x, mask = x + 1, mask"])
def test_a_default_without_elements_meets_nothing_in_the_callee(test, rebound):
    code = DEFAULT.format(
        default="torch.ones((0, 0), dtype=torch.bool)", test=test, rebound=rebound
    )
    assert met(code) == []


@pytest.mark.parametrize("test", ["if mask.size(1) != 0:", "if True:"])
def test_a_default_with_elements_does(test):
    code = DEFAULT.format(default="torch.ones((4, 4), dtype=torch.bool)", test=test, rebound="pass")
    (meeting,) = met(code)
    assert "masked_fill" in meeting


def test_a_callee_that_joins_a_placeholder_meets_it():
    (meeting,) = met(
        """
        def grow(seen: torch.Tensor, new: torch.Tensor):
            return torch.cat([seen, new])

        grow(torch.empty(0), torch.zeros(3, device="cuda"))
        """
    )
    assert "torch.cat" in meeting and "likely" in meeting
