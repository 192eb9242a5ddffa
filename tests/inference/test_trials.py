"""Trials: what is put through a module for the shape that comes out, where the module was made."""

import pytest
from given import given

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 2)

    def forward(self, x):
        return self.proj(x)

    def test(self, device="cpu"):
{body}
"""


def confidences(*lines: str) -> list[str]:
    """Of the meetings of a method with these lines."""
    code = NET.format(body="\n".join(f"        {line}" for line in lines))
    return [meeting.confidence.value for meeting in given(code).meetings]


@pytest.mark.parametrize(
    "lines",
    [
        ("out = self(torch.rand(4, 8))", "assert out.shape == (4, 2)"),
        ("out = self.forward(torch.rand(4, 8))", "print('works', out.shape)"),
        ("print(self(torch.rand(4, 8)).size())",),
        ("width = self(torch.rand(1, 8)).shape[1]", "self.to(device)", "return width"),
    ],
)
def test_a_look_at_the_shape_is_a_trial(lines: tuple[str, ...]) -> None:
    assert confidences(*lines) == ["possible"]


@pytest.mark.parametrize(
    "lines",
    [
        ("return self(torch.rand(4, 8))",),
        ("out = self(torch.rand(4, 8))", "return out.softmax(1)"),
        ("out = self(torch.rand(4, 8))", "save_image(out)"),
        ("self.to(device)", "out = self(torch.rand(4, 8))", "print(out.shape)"),
    ],
)
def test_what_is_used_or_was_moved_is_none(lines: tuple[str, ...]) -> None:
    assert confidences(*lines) == ["likely"]


@pytest.mark.parametrize(
    ("lines", "is_one"),
    [
        (("return self.proj(torch.rand(1, 8)).view(1, -1).size(1)",), True),
        (("out = self.proj(torch.rand(1, 8))", "return int(np.prod(out.size()))"), True),
        (("width = self.proj(torch.rand(1, 8)).shape[-1]", "return 2 * width, 3"), False),
        (("width = self.proj(torch.rand(1, 8)).shape[-1]", "return 2 * width"), True),
        (("return self.proj(torch.rand(1, 8))",), False),
        (("out = self.proj(torch.rand(1, 8))", "self.out = out", "return out.size(1)"), False),
        (("self.cuda()", "return self.proj(torch.rand(1, 8)).size(1)"), False),
    ],
)
def test_a_method_that_returns_sizes_of_what_parts_give_is_one(
    lines: tuple[str, ...], is_one: bool
) -> None:
    assert (confidences(*lines) == ["possible"]) is is_one
