"""What one change mends is one finding; what takes two changes is two."""

from __future__ import annotations

from rule_check import check_text

from devlint.findings import Finding

MODULE = """\
import torch
from torch import nn


"""


def serious(text: str) -> list[Finding]:
    return [f for f in check_text(MODULE + text) if f.rule < "DEV3" or f.rule.startswith("DEV4")]


def told(text: str) -> list[tuple[str, int]]:
    """The code and the line, counted from the first below the imports, of each finding."""
    return [(f.rule, f.location.line - 4) for f in serious(text)]


KEPT = """\
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = {kept}

    def forward(self, x):
        return x + self.offset{index}

    def back(self, x):
        return x.clamp(0) - self.offset{index}
"""


def test_an_attribute_and_the_operations_that_refuse_it():
    (found,) = serious(KEPT.format(kept="torch.ones(3)", index=""))
    assert (found.rule, found.confidence.value) == ("DEV205", "certain")
    assert {10 + 1, 13 + 1} <= {place.location.line for place in found.related}


def test_a_list_of_tensors_and_the_operations_that_refuse_them():
    assert told(KEPT.format(kept="[torch.ones(3), torch.zeros(3)]", index="[0]")) == [("DEV205", 4)]


def test_an_attribute_that_its_class_moves_is_no_cause():
    text = KEPT.format(kept="torch.ones(3)", index=".to(x.device)")
    assert told(text) == []


def test_an_attribute_of_a_base_class_is_told_once():
    text = """\
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = torch.ones(3)


class Left(Base):
    def forward(self, x):
        return x - self.offset


class Right(Base):
    def forward(self, x):
        return x + self.offset
"""
    assert told(text) == [("DEV205", 4)]


def test_a_parameter_that_is_moved_before_it_is_kept():
    text = """\
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3)).to("cuda")

    def forward(self, x):
        return x * self.gain
"""
    assert told(text) == [("DEV203", 4)]


def test_what_a_method_makes_is_told_where_it_first_meets_something():
    text = """\
class Base(nn.Module):
    def steps(self):
        return torch.arange(3)

    def forward(self, x):
        return self.steps() + x

    def back(self, x):
        return self.steps() - x.clamp(0)
"""
    (found,) = serious(text)
    assert (found.rule, found.location.line - 4) == ("DEV102", 6)
    assert found.related[-1].location.line - 4 == 9


def test_two_values_out_of_place_are_two_findings():
    text = """\
a = torch.zeros(3).cuda()
b = torch.ones(3)
c = torch.ones(3)
d = torch.addcmul(a, b, c)
"""
    assert told(text) == [("DEV101", 4), ("DEV101", 4)]


def test_now_the_one_operand_out_of_place_and_now_the_other_is_one_finding():
    text = """\
def product(a: torch.Tensor, b: torch.Tensor):
    if not isinstance(a, torch.Tensor):
        a = torch.tensor(a)
    if not isinstance(b, torch.Tensor):
        b = torch.tensor(b)
    return a @ b
"""
    assert told(text) == [("DEV102", 6)]


def test_an_operand_that_two_branches_leave_elsewhere_does_not_hide_the_one_out_of_place():
    text = """\
def starts(points: torch.Tensor, lengths=None):
    if lengths is None:
        lengths = torch.full((3,), 4, device=points.device)
    elif lengths.max() > 4:
        raise ValueError
    return lengths * torch.rand(lengths.size())
"""
    assert ("DEV102", 6) in told(text)


def test_one_value_of_two_operations_is_one_finding():
    text = """\
a = torch.zeros(3).cuda()
b = torch.ones(3)
c = a + b
d = a * b
e = torch.ones(3)
f = a / e
"""
    assert told(text) == [("DEV101", 3), ("DEV101", 6)]


def test_a_read_of_one_of_several_values_is_told_once():
    text = """\
class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def show(self, x, device, far):
        y = self.fc(x)
        if far:
            y = torch.rand(3, device=device)
        return y.numpy()
"""
    assert told(text) == [("DEV401", 10)]


def test_two_reads_of_one_value_are_one_finding():
    assert told("x = torch.ones(3).cuda()\nx.numpy()\nx[0].numpy()\n") == [("DEV401", 2)]


def test_reads_of_two_values_under_one_name_are_two_findings():
    text = "x = torch.ones(3).cuda()\nx.numpy()\nx = torch.zeros(3).cuda()\nx.numpy()\n"
    assert told(text) == [("DEV401", 2), ("DEV401", 4)]


MOVED = """\
def scale(x: torch.Tensor, device: torch.device):
    x = x.to(device)
    w = torch.ones(3)
    {move}
    y = x * w
    return y + w
"""


def test_a_lost_move_and_the_operations_that_it_was_for():
    (found,) = serious(MOVED.format(move="w.to(device)"))
    assert (found.rule, found.location.line) == ("DEV201", 8)
    assert {9, 10} & {place.location.line for place in found.related}
    assert found.fix is not None


def test_a_lost_move_to_elsewhere_is_another_cause():
    assert told(MOVED.format(move="w.to('cpu:0')")) == [("DEV102", 5)]
    assert told(MOVED.format(move="w.to('cuda')")) == [("DEV201", 4), ("DEV102", 5)]


def test_what_is_moved_before_it_meets_others_is_no_cause():
    lost = "w.to(device); w = w * 2"
    assert ("DEV201", 4) in told(MOVED.format(move=lost))
    assert told(MOVED.format(move="w = w.to(device)")) == []


HABIT = """\
def starts(x: torch.Tensor, device):
    rows = torch.arange(x.size(0)).to(device)
    done = torch.zeros(x.size(0)).to(device)
    noise = torch.randn(x.size(0)).to(device)
    return rows + done * noise


def ends(x: torch.Tensor, device):
    return torch.ones(x.size(0)).to(device)
"""


def habits(text: str) -> list[Finding]:
    return [found for found in check_text(MODULE + text) if found.rule == "DEV304"]


def test_what_a_function_does_by_habit_is_one_finding_and_one_fix():
    tensors, noise, other = habits(HABIT)
    assert (tensors.location.line, noise.location.line, other.location.line) == (6, 8, 13)
    assert [place.location.line for place in tensors.related] == [7]
    assert tensors.message.startswith("`torch.arange(x.size(0))`")
    assert "at one more place" in tensors.message
    assert tensors.fix is not None and len(tensors.fix.edits) == 2


def test_a_place_of_a_habit_says_what_to_write_there():
    (place,) = habits(HABIT)[0].related
    assert place.message.endswith("`torch.zeros(x.size(0), device=device)`")


def test_a_habit_inside_of_another_place_of_it_is_mended_with_that():
    text = """\
def level(device):
    return torch.full((3,), float(torch.ones(2).to(device).sum())).to(device)
"""
    (found,) = habits(text)
    assert len(found.related) == 1
    assert found.fix is not None and len(found.fix.edits) == 1


def test_an_attribute_on_the_current_card_and_the_operations_that_refuse_it():
    text = """\
class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        mask = torch.ones(3)
        if torch.cuda.is_available():
            mask = mask.cuda()
        self.mask = mask

    def forward(self, x):
        return x @ (self.mask * self.weight)
"""
    (found,) = serious(text)
    assert found.rule == "DEV205"
    assert 15 in {place.location.line for place in found.related}


REPEATED = """\
def grid(n, device="cpu"):
    return torch.arange(n, device=device)


def pairs(n, device="cpu"):
    return grid(n), grid(n + 1), grid(n)


def others(n, device="cpu"):
    return grid(n)
"""


def test_what_is_left_out_of_several_calls_of_a_function_is_one_finding_and_one_fix():
    found, other = check_text(MODULE + REPEATED)
    assert (found.rule, other.rule) == ("DEV107", "DEV107")
    assert found.message.endswith("works on its default one (and at 2 more places)")
    assert [place.message for place in found.related[-2:]] == ["here, too", "here, too"]
    assert found.fix is not None and len(found.fix.edits) == 3
    assert other.fix is not None and len(other.fix.edits) == 1
