"""What is worth saying at the confidence that users have: what weighs enough, and is in use."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_checking import RULES

from devlint import engine
from devlint.config import Config
from devlint.findings import Finding

HEAD = "import torch\nfrom torch import nn\n\n\n"


def found(root: Path, code: str, rule: str, **others: str) -> list[Finding]:
    """What one rule says of `work.py` in a project of several files."""
    for name, text in {"work": HEAD + code, **others}.items():
        (root / f"{name}.py").write_text(text)
    report = engine.check([root / "work.py"], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [finding for finding in report.findings if finding.rule == rule]


MADE = """\
class Loss(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        made = {made}.to(x.device)
        return (x * made * y).mean()
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("torch.zeros(x.size(0))", 0),
        ("torch.rand(len(x), 1)", 0),
        ("torch.zeros(x.shape)", 1),  # a block
        ("torch.zeros(1)", 1),  # a number
        ("torch.arange(x.size(0))", 1),  # it picks elements
    ],
)
def test_a_number_for_each_row_weighs_nothing(tmp_path, made, count):
    assert len(found(tmp_path, MADE.format(made=made), "DEV304")) == count


PICKED = """\
class Pool(nn.Module):
    def forward(self, x: torch.Tensor):
        picked = {picked}
        {use}
        return x.sum()
"""
MASK, ORDER = "torch.ones(x.size(0), dtype=torch.bool)", "torch.randperm(x.size(0))"


@pytest.mark.parametrize(
    ("picked", "use", "count"),
    [
        (MASK, "x = x[picked]", 0),  # on the device, too, the host would wait
        (MASK, "x[picked] = 0", 1),  # there it need not: the shape stays
        (ORDER, "x = x[picked]", 1),
    ],
)
def test_a_mask_on_the_host_selects_without_another_wait(tmp_path, picked, use, count):
    assert len(found(tmp_path, PICKED.format(picked=picked, use=use), "DEV308")) == count


def test_an_index_that_numpy_made_comes_from_the_host(tmp_path):
    code = (
        "import numpy as np\n\n\nclass Pool(nn.Module):\n"
        "    def forward(self, x: torch.Tensor):\n"
        "        order = torch.from_numpy(np.random.permutation(len(x)))\n"
        "        return x[order]\n"
    )
    assert not found(tmp_path, code, "DEV308")


STRAY = """\
def padded(x: torch.Tensor):
    fill = torch.zeros(2, 3)
    if x.is_cuda:
        fill = fill.cuda({card})
    return torch.cat((x, fill))
"""


def test_what_goes_to_the_current_card_where_the_input_is_on_one_is_mostly_beside_it(tmp_path):
    assert not found(tmp_path, STRAY.format(card=""), "DEV106")


KEPT = """\
class Seen(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.seen = torch.zeros(3){place}

    def forward(self, x: torch.Tensor, rows: list):
        {use}
        return self.fc(x)
"""


@pytest.mark.parametrize(
    ("place", "use", "count"),
    [
        (".to(device)", "rows.append(self.seen)", 0),
        ("", "rows.append(self.seen)", 0),
        ("", "x = x + self.seen", 1),
        ('.to("cuda:1")', "rows.append(self.seen)", 1),
    ],
)
def test_a_plain_attribute_is_said_where_it_meets_something(tmp_path, place, use, count):
    assert len(found(tmp_path, KEPT.format(place=place, use=use), "DEV205")) == count


def test_one_file_has_one_habit_of_legacy_types(tmp_path):
    code = (
        "def masks(x: torch.Tensor, device: torch.device):\n"
        "    a = torch.cuda.FloatTensor(3)\n    b = torch.cuda.ByteTensor(4)\n"
        "    return x.type(torch.FloatTensor), x.type(torch.LongTensor), a, b\n"
    )
    said = found(tmp_path, code, "DEV503")
    assert ["1 more in this file" in each.message for each in said] == [True, True]


PARTS = """\
class Part(nn.Module):
    def forward(self, x: torch.Tensor):
        return x * torch.ones(x.shape).to(x.device)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()


class Used(nn.Module):
    def forward(self, x: torch.Tensor):
        return x{used}
"""
MAIN = "from work import Used\n\nnet = Used()\n"


@pytest.mark.parametrize(("used", "count"), [("", 0), (" * Whole().part(x)", 1)])
def test_what_only_left_over_code_uses_is_left_over(tmp_path, used, count):
    assert len(found(tmp_path, PARTS.format(used=used), "DEV304", main=MAIN)) == count


NET = """\
class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        return x + torch.ones(x.shape).cuda()
"""
DEMANDS = (
    "from work import Net\n\nnet = Net().cuda()\n\nif __name__ == '__main__':\n    print(net)\n"
)
CHOOSES = 'DEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n'


@pytest.mark.parametrize(
    ("others", "count"),
    [
        ({}, 1),  # who runs it is not in sight
        ({"main": DEMANDS}, 0),
        ({"main": DEMANDS, "settings": CHOOSES}, 1),
    ],
)
def test_a_project_that_serves_no_other_machine_demands_cuda_on_purpose(tmp_path, others, count):
    assert len(found(tmp_path, NET, "DEV501", **others)) == count


TRAINS = """\
{amp}import GradScaler

device = torch.device("cuda")
net = nn.Linear(3, 3).to(device)
scaler = GradScaler()
for x in range(3):
    loss = net(torch.ones(3, device=device)).sum()
    scaler.scale(loss).backward()
    print(torch.zeros(3, device=loss.device))

if __name__ == "__main__":
    print(net)
"""


@pytest.mark.parametrize(("amp", "count"), [("from torch.cuda.amp ", 0), ("from torch.amp ", 1)])
def test_a_script_that_trains_in_the_mixed_precision_of_cuda_is_for_cuda(tmp_path, amp, count):
    others = {"settings": CHOOSES}
    assert len(found(tmp_path, TRAINS.format(amp=amp), "DEV501", **others)) == count


CHECKED = """\
class Trainer:
    def train_step(self, net, x, optimizer):
        loss = net(x).mean()
        {check}
        self.total += loss.item()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("check", "count"), [("assert not torch.isnan(loss)", 0), ("loss = loss + 1", 1)]
)
def test_a_check_for_an_error_waits_and_stays(tmp_path, check, count):
    code = "import lightning\n\n\n" + CHECKED.format(check=check)
    assert len(found(tmp_path, code, "DEV303")) == count
