"""Placeholders: tensors without elements that something else replaces before they are used."""

import pytest
from given import met

HOLDER = """
class Beams:
    def __init__(self):
        self.seen = torch.empty(0)
        self.centers = torch.Tensor()

    def begin(self, points: torch.Tensor):
        self.centers = points[:, :4].t()

    def step(self, scores: torch.Tensor, order: torch.Tensor):
        order = order.to(scores.device).long()
"""


def in_step(*lines):
    return HOLDER + "".join(f"        {line}\n" for line in lines)


@pytest.mark.parametrize(
    "line",
    [
        "return self.seen[order] * 0.5 + scores",
        "self.seen[order] = self.seen[order] * 0.5 + scores",
        "return scores - torch.randn_like(self.centers[0])",
        "return [scores - part[:, None] for part in self.centers.chunk(3)]",
        "return self.centers[order].t() - scores",
    ],
)
def test_an_empty_placeholder_takes_part_in_nothing(line):
    assert met(in_step(line)) == []


@pytest.mark.parametrize("made", ["torch.empty(0)", "torch.Tensor()", "torch.Tensor([])"])
def test_an_empty_placeholder_is_joined_all_the_same(made):
    [meeting] = met(in_step(f"empty = {made}", "return torch.cat([empty, scores.cuda()])"))
    assert meeting.endswith("certain")


def test_what_has_elements_is_no_placeholder():
    [meeting] = met(in_step("table = torch.zeros(5)", "return table[0:3] + scores.cuda()"))
    assert meeting.endswith("certain")


def test_a_new_tensor_of_an_empty_one_has_elements():
    [meeting] = met(in_step("new = torch.empty(0).new_zeros(3)", "return new + scores.cuda()"))
    assert meeting.endswith("certain")


HISTORY = """
class History(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = torch.tensor([])
        self.marks = torch.tensor([])

    def forward(self, rows, marks):
        {how}
        return rows, marks
"""
JOIN = "rows, marks = torch.vstack((self.rows, rows)), torch.cat((self.marks, marks))"
KEEP = "self.rows, self.marks = rows[-5:], marks[-5:]"
BOTH = ["(self.rows, rows)", "(self.marks, marks)"]


@pytest.mark.parametrize(
    ("how", "missing"),
    [
        ((f"if len(self.rows) > 0: {JOIN}", KEEP), []),
        ((f"if self.marks.numel() != 0: {JOIN}", KEEP), []),
        ((JOIN, KEEP), BOTH),
        ((f"if len(rows) > 0: {JOIN}", KEEP), BOTH),
        ((f"if len(self.rows) > 0: {JOIN}", "self.rows = rows[-5:]"), BOTH[1:]),
        ((f"if len(self.rows) > 0: {JOIN}", "pass"), BOTH[1:]),  # never reached with `rows`
    ],
)
def test_an_empty_attribute_that_is_asked_for_its_elements_has_some_where_it_is_used(how, missing):
    found = met(HISTORY.format(how="\n        ".join(how)))
    assert [m.partition("@")[0] for m in found] == missing


@pytest.mark.parametrize(
    ("first", "then", "found"),
    [
        ("torch.empty(1)", "self.seen = ids", 0),  # nobody reads memory that nobody wrote to
        ("torch.zeros(1)", "self.seen = ids", 1),
        ("torch.empty(1)", "print(ids)", 1),
        ("torch.empty(1).fill_(-1)", "self.seen = ids", 1),
    ],
)
def test_unwritten_memory_waits_for_its_content(first, then, found):
    code = f"""
    def same(old, new):
        return old.shape == new.shape and bool((old == new).all())

    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = {first}

        def forward(self, ids: torch.Tensor, rows: torch.Tensor):
            if not same(self.seen, ids):
                rows = rows.cumsum(0)
            {then}
            return rows[ids]
    """
    assert len(met(code)) == found
