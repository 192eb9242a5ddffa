"""Waits for the device that cost time, though the code around them may look as if they did not."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_checking import RULES

from devlint import engine
from devlint.config import Config

HEAD = "import torch\nfrom torch import nn\n\n\n"


def waits(root: Path, code: str) -> list[int]:
    """The lines of which DEV303 or DEV305 says that the host waits there, at least likely."""
    file = root / "work.py"
    file.write_text(HEAD + code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    begin = HEAD.count("\n")
    found = [f for f in report.findings if f.rule in ("DEV303", "DEV305")]
    return [finding.location.line - begin for finding in found]


SCATTER = """\
class Conv(nn.Module):
    def forward(self, x, index: torch.Tensor):
        size = int(index.max()) + 1
        return {made}.index_add_(0, index, x)
"""


def test_a_size_read_from_the_device_is_known_to_the_host_beside_the_tensor(tmp_path):
    assert waits(tmp_path, SCATTER.format(made="x.new_zeros(size, 8)")) == [3]


def test_a_whole_number_that_picks_an_object_has_to_be_read(tmp_path):
    assert waits(tmp_path, SCATTER.format(made="self.tables[size]")) == []


COUNTS = """\
class Confusion:
    def __init__(self, classes, device):
        self.classes = classes
        self.counts = torch.zeros(classes, classes, device=device)

    def update(self, found, wanted):
        for i in range(self.classes):
            {loop}
                self.counts[i, j] += ((wanted == i) & (found == j)).sum().item()
"""


def test_a_wait_in_each_turn_of_two_loops_costs_time_wherever_the_input_comes_from(tmp_path):
    code = COUNTS.format(loop="for j in range(self.classes):")
    assert waits(tmp_path, code) == [9]


def test_of_an_input_that_is_read_in_one_loop_nothing_is_known(tmp_path):
    assert waits(tmp_path, COUNTS.format(loop="if (j := i + 1):")) == []


CENTRES = """\
def centres(rows, count, device="cuda"):
    rows = rows.to(device)
    middle = rows[:count].clone()
    for _ in range(100):
        nearest = torch.cdist(rows, middle).argmin(1)
        for k in range(count):
            members = rows[nearest == k]
            middle[k] = {use}
    return middle
"""


@pytest.mark.parametrize(("use", "lines"), [("members.mean(0)", [7]), ("refine(members)", [])])
def test_a_mask_may_weigh_where_what_it_selects_is_only_reduced_by_its_name(tmp_path, use, lines):
    assert waits(tmp_path, CENTRES.format(use=use)) == lines
