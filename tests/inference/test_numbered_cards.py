"""A card by its number, and what a bare move puts on the current one."""

import pytest
from given import given, met

SCORE = """
    def score(x: torch.Tensor, number):
        device = {device}
        head = nn.Linear(4, 1){moved}
        {line}
        return head(x.to(device))
"""


@pytest.mark.parametrize(
    ("device", "moved", "line", "found"),
    [
        ('f"cuda:{number}"', ".cuda()", "pass", True),
        ('torch.device(f"cuda:{number}")', '.to("cuda")', "pass", True),
        ('f"cuda:{number}"', ".to(device)", "pass", False),
        ('f"cuda:{number}"', ".cuda(number)", "pass", False),
        ('f"cuda:{number}"', ".cuda().to(device)", "pass", False),
        ('f"cuda:{number}"', ".cuda()", "torch.cuda.set_device(number)", False),
        ('f"cuda:{number}"', ".cuda()", 'os.environ["CUDA_VISIBLE_DEVICES"] = "0"', False),
        ("number", ".cuda()", "pass", False),  # it may be None, and so no number
        ('f"{number}"', ".cuda()", "pass", False),
        ('"cuda"', ".cuda()", "pass", False),
    ],
)
def test_the_current_card_need_not_be_the_one_that_is_numbered(device, moved, line, found):
    code = SCORE.format(device=device, moved=moved, line=line)
    assert bool(met(code)) is found


def test_a_script_makes_its_card_the_current_one_itself():
    code = SCORE.format(device='f"cuda:{number}"', moved=".cuda()", line="pass")
    (meeting,) = given(code).meetings
    assert [each.kind.value for each in meeting.assumptions] == ["other-cards-are-used"]
