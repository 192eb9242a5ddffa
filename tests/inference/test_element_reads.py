"""What a loop reads of one tensor: elements, pieces, and what never changes."""

import pytest
from given import given

from devlint.inference.facts import Sync
from devlint.inference.syntax.text import code


def whole(sync: Sync) -> str:
    """The tensor that is read in parts, in words."""
    assert sync.whole is not None
    return code(sync.whole.node)


GPU = 'x = torch.rand(8, 4, device="cuda")\ny = torch.rand(8, device="cuda")\n'


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("[y[i].item() for i in range(8)]", "y"),
        ("[x[i][-1].item() for i in range(8)]", "x"),
        ("[v.item() for v in y]", "y"),
        ("[int(v) for v in y]", "y"),
        ("[(v.item(), i) for i, v in enumerate(y)]", "y"),
        ("for i in range(8):\n    if x[i][0] > 0:\n        print(i)", "x"),
    ],
)
def test_elements_of_a_tensor_one_by_one(text, of):
    for sync in given(GPU + text).syncs:
        assert sync.elementwise and not sync.of_piece and whole(sync) == of


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("[torch.sum(part).item() for part in torch.split(y, [3, 5])]", "torch.split(y, [3, 5])"),
        ("[part.max().item() for part in y.chunk(4)]", "y.chunk(4)"),
        ("[row.max().item() for row in x]", "x"),
        ("[x[i].mean().item() for i in range(8)]", "x"),
    ],
)
def test_a_number_made_of_each_piece(text, of):
    (sync,) = given(GPU + text).syncs
    assert sync.elementwise and sync.of_piece and whole(sync) == of


def test_elements_of_what_a_caller_hands_in():
    (sync,) = given("def lengths(n: torch.Tensor):\n    return [int(v) for v in n]\n").syncs
    assert sync.elementwise and whole(sync) == "n"


@pytest.mark.parametrize(
    "text",
    [
        "while y[0] > 0:\n    y = y - 1",  # not gone through
        "for i in range(8):\n    y = y * 2\n    y[i].item()",  # another tensor in each turn
        "for v in y:\n    (v * x).sum().item()",  # made of two
    ],
)
def test_other_reads_are_no_elements(text):
    assert not any(sync.elementwise for sync in given(GPU + text).syncs)


@pytest.mark.parametrize(
    ("test", "invariant"),
    [("k != best", True), ("best > k", True), ("x[k] != best", False), ("best != x[k]", False)],
)
def test_a_comparison_with_what_the_loop_does_not_change(test, invariant):
    text = f"best = y.argmax()\nfor k in range(8):\n    if {test}:\n        print(k)\n"
    assert [s.invariant for s in given(GPU + text).syncs] == [invariant]
