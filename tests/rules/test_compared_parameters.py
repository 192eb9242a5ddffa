"""A parameter that is compared with the name of a device: the calls say whether it is a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence

BATCHES = """\
class Batches:
    def __init__(self, ids, device{default}):
        self.ids = ids
        self.device = device
        if {test}:
            self.ids = ids.pin_memory()

    def on_host(self):
        return {asked}
"""
CALLS = """\
import torch

from batches import Batches

card = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
HANDED_ON = """

def handed_on(ids, device):
    return Batches(ids, device)


"""


def found(
    root: Path, calls: str, test: str = 'device != "cpu"', asked: str = "0", default: str = ""
) -> list[int]:
    (root / "batches.py").write_text(BATCHES.format(test=test, asked=asked, default=default))
    (root / "calls.py").write_text(CALLS + calls)
    report = engine.check([root], Config(root), tuple(RULES.values()))
    assert not report.errors
    assert all(each.confidence is Confidence.LIKELY for each in report.findings)
    return [each.location.line for each in report.findings if each.rule == "DEV110"]


@pytest.mark.parametrize(
    ("calls", "lines"),
    [
        ("Batches([1], card)", [5]),
        ("Batches([1], device=card)\nBatches([1], torch.zeros(3).device)", [5]),
        ("Batches([1], None)\nBatches([1], card)", [5]),  # None is no text, either
        ("", []),
        ('Batches([1], "cpu")', []),
        ('Batches([1], card)\nBatches([1], "cpu")', []),
        ("Batches([1], card)\nBatches(*open('rows'))", []),
        (HANDED_ON + "handed_on([1], card)", [5]),
        (HANDED_ON + "Batches([1], card)\nhanded_on([1], 'cuda')", []),
        (HANDED_ON + "Batches([1], card)", []),  # whoever calls it is out of sight
    ],
)
def test_all_calls_have_to_hand_in_a_torch_device(tmp_path: Path, calls: str, lines: list[int]):
    assert found(tmp_path, calls) == lines


@pytest.mark.parametrize(
    ("test", "asked", "default", "lines"),
    [
        ('device == "cuda"', "0", "", [5]),
        ("0", 'self.device == "cpu"', "", [9]),
        ('device != "cpu"', "0", "=None", [5]),
        ('device != "cpu"', "0", '="cpu"', []),
        ('isinstance(device, str) and device != "cpu"', "0", "", []),
        ('device.type != "cpu"', 'str(self.device) == "cpu"', "", []),
        ('str(device) != "cpu"', 'self.ids == "cpu"', "", []),
    ],
)
def test_what_is_compared_is_the_parameter(
    tmp_path: Path, test: str, asked: str, default: str, lines: list[int]
):
    assert found(tmp_path, "Batches([1], card)", test, asked, default) == lines
