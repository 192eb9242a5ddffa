"""A tensor that a module's constructor is given, and keeps, stays where it was made."""

import pytest
from given import met, settled

from devlint.inference.domain.assumptions import AssumptionKind

KEPT = """
class Distances(nn.Module):
    def __init__(self, anchors{annotation}):
        super().__init__()
        {shown}
        self.anchors = {kept}

    def forward(self, x):
        return torch.cat([x, {used}])
"""


def distances(annotation=": torch.Tensor", shown="", kept="anchors", used="self.anchors"):
    return KEPT.format(annotation=annotation, shown=shown or "pass", kept=kept, used=used)


@pytest.mark.parametrize(
    "code",
    [
        distances(),
        distances(used="self.anchors.expand(len(x), -1)"),
        distances(annotation="", shown="assert anchors.dim() == 2"),
    ],
)
def test_it_does_not_follow_the_module(code):
    facts = settled(code)
    (meeting,) = facts.meetings
    kinds = {each.kind for each in meeting.assumptions}
    assert AssumptionKind.GIVEN_TENSOR_STAYS_BEHIND in kinds
    (attribute,) = facts.plain_attributes
    assert attribute.was_given
    assert attribute.used_at == meeting.site


@pytest.mark.parametrize(
    "code",
    [
        distances(used="self.anchors.to(x.device)"),
        distances(used="x.new_zeros(3)"),
        distances(annotation=": nn.Parameter"),
        distances(annotation=""),  # perhaps a parameter of another module, or no tensor
        distances(kept="nn.Parameter(anchors)"),
        distances(used="torch.zeros(3, device=self.anchors.device)"),
    ],
)
def test_what_follows_or_is_followed_meets_nothing(code):
    assert met(code) == []


def test_a_buffer_of_it_follows():
    code = distances().replace("self.anchors = anchors", 'self.register_buffer("anchors", anchors)')
    assert met(code) == []


def test_one_number_meets_every_device():
    """What the constructor is given may have no dimensions."""
    code = distances().replace("torch.cat([x, self.anchors])", "x * self.anchors")
    (meeting,) = settled(code).meetings
    assert AssumptionKind.GIVEN_TENSOR_HAS_DIMENSIONS in {each.kind for each in meeting.assumptions}
