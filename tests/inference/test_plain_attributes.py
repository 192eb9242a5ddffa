"""Plain tensors of a module, and where its methods compute with them."""

import pytest
from given import settled

HELD = """
from layers import decode

class Head(nn.Module):
    def __init__(self, size, device="cpu"):
        super().__init__()
        self.layer = nn.Linear(size, size)
        self.priors = {made}

    def forward(self, x, other):
        {line}
        return {result}
"""


def head(result: str, made: str = "torch.ones(size, 4)", line: str = "pass") -> str:
    return HELD.format(result=result, made=made, line=line)


@pytest.mark.parametrize(
    "result",
    ["decode(x, self.priors)", "decode(other, x, priors=self.priors)", "decode(x) * self.priors"],
)
def test_one_is_used_beside_what_may_be_anywhere(result):
    (attribute,) = settled(head(result)).plain_attributes
    assert attribute.read_at is not None


@pytest.mark.parametrize(
    ("result", "made"),
    [
        ("decode(x, self.priors.to(x.device))", "torch.ones(size, 4)"),
        ("decode(self.priors)", "torch.ones(size, 4)"),
        ("decode(3, self.priors)", "torch.ones(size, 4)"),
        ("decode(self.size, self.priors)", "torch.ones(size, 4)"),
        ("decode(x, self.priors)", "torch.tensor(3.0)"),  # meets every device
        ("decode(x, self.priors)", "torch.empty(0)"),
    ],
)
def test_one_that_follows_or_is_alone_or_has_no_dimensions_is_not(result, made):
    assert [a.read_at for a in settled(head(result, made)).plain_attributes] in ([], [None])


@pytest.mark.parametrize(
    ("made", "result", "is_read"),
    [
        ("torch.ones(4, device=device)", "self.layer(x) * self.priors", True),
        ("torch.ones(4).to(device) / 2", "self.layer(x) * self.priors", True),
        ("torch.ones(4, device=device)", "torch.ones(4, device=dev) * self.priors", False),
    ],
)
def test_one_on_the_constructors_device_does_not_follow_the_module(made, result, is_read):
    (attribute,) = settled(head(result, made)).plain_attributes
    assert (attribute.read_at is not None) == is_read
    assert not attribute.excused


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("nn.init.normal_(nn.Parameter(torch.empty(size, 4)))", 0),
        ("nn.init.xavier_uniform_(nn.Parameter(torch.empty(size, 4)), gain=2.0)", 0),
        ("nn.init.normal_(torch.empty(size, 4))", 1),
        ("nn.Parameter(torch.empty(size, 4)).abs()", 1),
    ],
)
def test_what_writes_in_place_gives_back_the_parameter_itself(made, count):
    """`nn.init.normal_` returns what it was given, which the module registers."""
    assert len(settled(head("decode(x, self.priors)", made)).plain_attributes) == count
