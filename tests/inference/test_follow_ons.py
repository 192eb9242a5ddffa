"""What follows from a contradiction that was told is not told again."""

import pytest
from given import met


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("a = torch.arange(4) + x; b = torch.ones(3) * a", ["torch.arange(4)@cpu + x@δ(x)"]),
        # a list filled in turns, whose last element the next one is computed from
        (
            "parts = []\n"
            "    for _ in range(3):\n"
            "        start = parts[-1].max() if parts else 0\n"
            "        parts.append(torch.arange(4) * x + start)\n"
            "        parts.append(torch.arange(5).view(1, -1) + start)",
            ["torch.arange(4)@cpu * x@δ(x)"],
        ),
        # two mistakes are two
        (
            "a = torch.arange(4) + x; b = torch.ones(3) * x",
            ["torch.arange(4)@cpu + x@δ(x)", "torch.ones(3)@cpu * x@δ(x)"],
        ),
    ],
)
def test_a_contradiction_is_told_where_it_begins(steps, expected):
    found = met(f"""
def f(x: torch.Tensor):
    {steps}
""")
    assert [m.rpartition(" ")[0] for m in found] == expected
