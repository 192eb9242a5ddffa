"""DEV201: whose discarded move is a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES, check_text

from devlint import engine
from devlint.config import Config

LONG = "rows_of_" + "_".join(["negative"] * 8)


@pytest.mark.parametrize(
    ("moved", "count"),
    [
        ("x.to(device)", 1),
        ("x.float().to(device)", 1),
        ("x.to(x.device)", 0),  # it is there already
        (f"{LONG} = x + 1\n    {LONG}.to({LONG}.device)", 0),  # messages shorten it
        ("make(x).to(device)", 0),  # nobody holds it: nothing stays behind
    ],
)
def test_what_stays_where_it_was(moved: str, count: int):
    found = check_text(f"""
import torch


def make(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def use(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    {moved}
    return x * 2
""")
    assert [finding.rule for finding in found].count("DEV201") == count


@pytest.mark.parametrize(
    ("device", "count"), [('"cpu"', 0), ('"cuda"', 2), ('"cuda" if flag else "cpu"', 2)]
)
def test_a_program_for_the_host_alone_has_nothing_to_move(device, count):
    found = check_text(f"""
from sys import flags as flag

import torch
from torch import nn

device = torch.device({device})
model = nn.Linear(4, 2).to(device)

def show(rows: torch.Tensor):
    rows.to(device)
    out = rows.argmax(dim=1)
    out.detach().to(device)
    print(out.numpy())
""")
    assert len([f for f in found if f.rule == "DEV201"]) == count


@pytest.mark.parametrize(
    ("made", "use", "count"),
    [
        ("make(conf)", "net.eval()", 0),
        ("make(conf)", "print(net)", 0),  # the device that it was moved to says nothing of its kind
        ("torch.zeros(3)", "print(net)", 1),
    ],
)
def test_what_is_used_as_a_module_is_no_tensor(made, use, count):
    found = check_text(f"""
import torch


def restore(conf, device):
    net = {made}
    return net.to(device)


def start(conf, index):
    net = restore(conf, torch.device("cuda"))
    {use}
    net.to(index)
    return net
""")
    assert [finding.rule for finding in found].count("DEV201") == count


@pytest.mark.parametrize(
    ("moved", "count"),
    [('torch.zeros(1, device="cuda").cpu()', 0), ("x.detach().cpu()", 1)],
)
def test_what_nobody_holds_is_moved_for_its_effect(moved, count):
    code = f"import torch\n\n\ndef warm(x: torch.Tensor):\n    {moved}\n    return x * 2\n"
    assert [finding.rule for finding in check_text(code)].count("DEV201") == count


def discarded(root: Path, code: str) -> list[int]:
    """The lines of moves whose result is thrown away, at the confidence that users have."""
    file = root / "work.py"
    file.write_text(code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [f.location.line for f in report.findings if f.rule == "DEV201"]


ROWS = """\
import torch


class Scorer:
    def __init__(self, net, device):
        self.device = device
        self.net = net.to(device)

    def rows_of(self, array):
        rows = torch.from_numpy(array)
        rows.to(self.device)
        {more}return rows

    def score(self, a, b):
        return self.net(self.rows_of(a).to(self.device), self.rows_of(b){second})
"""


@pytest.mark.parametrize(
    ("second", "more", "said"),
    [
        (".to(self.device)", "", 0),
        ("", "", 1),  # this call does not move it
        (".to(self.device)", "self.net(rows)\n        ", 1),  # it is used before
    ],
)
def test_what_all_calls_move_was_not_to_be_moved_before(tmp_path, second, more, said):
    assert len(discarded(tmp_path, ROWS.format(second=second, more=more))) == said


OFFSETS = """\
import torch
from torch import nn


class Fields(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.embed = nn.Embedding(9, 4).to(device)
        self.offsets = torch.arange(3)
        self.offsets.to(device)

    def {method}(self, x: torch.Tensor):
        self.offsets = self.offsets.to(x.device)
        return self.embed(x + self.offsets)

    def shifted(self, x: torch.Tensor):
        return x + self.offsets
"""


@pytest.mark.parametrize(("method", "said"), [("forward", 0), ("move_to_device", 1)])
def test_what_the_method_that_reads_it_moves_was_not_to_be_moved_before(tmp_path, method, said):
    assert len(discarded(tmp_path, OFFSETS.format(method=method))) == said


BUFFERS = """\
import torch


class Buffers:
    def __init__(self):
        self.rows = torch.zeros(9)

    def {method}(self, device):
        self.rows.to(device)

    def mean(self):
        return self.rows.mean()


if __name__ == "__main__":
    buffers = Buffers()
    buffers.place("cuda")
    print(buffers.mean())
"""


@pytest.mark.parametrize(("method", "said"), [("place", 1), ("place_all", 0)])
def test_what_nothing_in_an_application_calls_is_not_worth_a_remark(tmp_path, method, said):
    assert len(discarded(tmp_path, BUFFERS.format(method=method))) == said


@pytest.mark.parametrize(
    ("moved", "confidence"),
    [
        ("x.copy_(y).to(device)", "possible"),  # it has written, moved or not
        ("x.mul(2).to(device)", "likely"),
        ("x.to(device)", "certain"),
    ],
)
def test_a_statement_that_writes_in_place_has_its_effect_without_the_move(moved, confidence):
    found = check_text(f"""
import torch


def use(y: torch.Tensor, device: torch.device) -> torch.Tensor:
    x = torch.zeros(3)
    {moved}
    return x * y.to(device)
""")
    (move,) = (finding for finding in found if finding.rule == "DEV201")
    assert move.confidence.value == confidence


@pytest.mark.parametrize(
    ("name", "use", "severity", "confidence"),
    [
        ("rows_of", "table[0] = rows", "warning", "possible"),
        ("rows_of", "table[0].copy_(rows)", "warning", "possible"),
        ("rows_of", "print(rows.sum())", "warning", "likely"),
        ("to_device", "print(rows.sum())", "error", "certain"),
        ("rows_of", "table += rows", "error", "certain"),
        ("rows_of", "table[0] = rows + 1", "warning", "likely"),
    ],
)
def test_it_is_an_error_where_it_is_shown_to_be_needed(name, use, severity, confidence):
    found = check_text(f"""
import torch


def {name}(count: int, device: torch.device):
    table = torch.zeros(2, count, device=device)
    rows = torch.ones(count)
    rows.to(device)
    {use}
    return table


table = {name}(3, "cuda")
""")
    lost = [each for each in found if each.rule == "DEV201"]
    assert [(each.severity.value, each.confidence.value) for each in lost] == [
        (severity, confidence)
    ]


PAIRS = "tuple[list[tuple[Patch, float]], torch.Tensor]"


@pytest.mark.parametrize("annotation", [PAIRS, "Pairs", f'"{PAIRS}"'])
@pytest.mark.parametrize(("moved", "count"), [("rows", 1), ("patch", 0)])
def test_an_object_that_is_declared_beside_a_tensor_is_none(
    annotation: str, moved: str, count: int
):
    found = check_text(f"""
import torch
from elsewhere import Patch

Pairs = {PAIRS}


def test_place(pairs: {annotation}):
    patches, rows = pairs
    for patch, weight in patches:
        {moved}.to(torch.device("cuda"))
        print(patch, rows)
""")
    assert [finding.rule for finding in found].count("DEV201") == count
