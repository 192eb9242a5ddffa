"""What is worth saying at the confidence that users have: what weighs enough, and is in use."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

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
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Seen(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.device = device
        self.seen = torch.zeros(3){place}

    def forward(self, x: torch.Tensor, rows: list):
        {use}
        return self.fc(x)
"""


@pytest.mark.parametrize(
    ("place", "use", "count"),
    [
        (".to(device)", "rows.append(self.seen)", 0),
        (".to(self.device)", "rows = torch.cat((self.seen, rows[0]))", 0),
        (".to(device.of_all)", "rows = torch.cat((self.seen, rows[0]))", 0),
        (".to(DEVICE)", "rows = torch.cat((self.seen, rows[0]))", 0),
        (".to(device)", "rows = torch.cat((self.seen, rows[0]))", 1),
        (".to(device)", "rows = torch.cat((self.seen, self.fc(x)))", 1),
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
