"""The first turn of a loop: what only it sees, and what only the turns behind it see."""

import pytest
from given import met

NET = """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(3, 3)

    def decode(self, xs: list[torch.Tensor]):
        out = torch.zeros(1, 3)
"""


def in_decode(*lines):
    return NET + "".join(f"        {line}\n" for line in lines)


def in_loop(head, first, then="out = torch.cat((out, step))", before=()):
    return in_decode(
        *before,
        head,
        "    step = self.proj(x)",
        *(f"    {line}" for line in first),
        "    else:",
        f"        {then}",
        "return out",
    )


FLAG = ("if first:", "    out = step", "    first = False")


@pytest.mark.parametrize(
    ("head", "first", "before"),
    [
        ("for x in xs:", FLAG, ("first = True",)),
        ("for i, x in enumerate(xs):", ("if i == 0:", "    out = step"), ()),
        ("for i, x in enumerate(xs):", ("if i < 1:", "    out = step"), ()),
        ("for x in xs:", ("if last is None:", "    out = last = step"), ("last = None",)),
        (
            "for i in range(3):",
            ("x = xs[i]", "step = self.proj(x)", "if i == 0:", "    out = step"),
            ("x = xs[0]",),
        ),
    ],
)
def test_a_placeholder_that_the_first_turn_replaces_is_met_by_no_later_turn(head, first, before):
    assert met(in_loop(head, first, before=before)) == []


@pytest.mark.parametrize(
    ("head", "first", "before"),
    [
        ("for x in xs:", ("if first:", "    first = False"), ("first = True",)),
        ("for i, x in enumerate(xs):", ("if i == 0:", "    print(i)"), ()),
        ("for i, x in enumerate(xs):", ("if i == 1:", "    out = step"), ()),
        ("for i, x in enumerate(xs, 1):", ("if i == 0:", "    out = step"), ()),
    ],
)
def test_one_that_it_leaves_is(head, first, before):
    [meeting] = met(in_loop(head, first, before=before))
    assert meeting.startswith("(out, step)@cpu torch.cat (out, step)@δ(self)")


def test_what_only_the_first_turn_does_is_seen():
    lines = ("for i, x in enumerate(xs):", "    if i == 0:", "        out = out + self.proj(x)")
    assert met(in_decode(*lines)) == ["out@cpu + self.proj(x)@δ(self) certain"]
