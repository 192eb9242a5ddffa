"""Who runs a tool by hand knows the file that it loads, and the machine; and whether the code has
asked for an accelerator before is a matter of whole words: `input` has no `npu` in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config

TOOL = """\
import torch


def {name}(source, target, net):
    weights = torch.load(source)
    net.load_state_dict(weights["model"])
    {behind}
{run}"""
RUN = '\n\nif __name__ == "__main__":\n    main("a.pt", "b.pt", None)\n'


@pytest.mark.parametrize(
    ("name", "behind", "run", "count"),
    [
        ("resume", "return net", "", 1),
        ("merge", "torch.save(net.state_dict(), target)", "", 0),
        ("merge", "net.save_pretrained(target)", "", 0),
        ("resume", "net.fit(); torch.save(net.state_dict(), target)", "", 1),
        ("main", "net.answer()", RUN, 0),
        ("main", "net.answer()", "", 1),
    ],
)
def test_a_tool_loads_what_its_user_knows(tmp_path: Path, name, behind, run, count):
    file = tmp_path / "tool.py"
    file.write_text(TOOL.format(name=name, behind=behind, run=run))
    report = engine.check([file], Config(tmp_path), tuple(RULES.values()))
    assert not report.errors
    assert sum(finding.rule == "DEV502" for finding in report.findings) == count


CONVERSION = """\
import sys
from pathlib import Path

import torch

{name} = Path(sys.argv[1])
assert {name}.{test}()
torch.save(torch.load({name}), "converted.pt")
"""


@pytest.mark.parametrize(
    ("name", "test", "count"),
    [
        ("source_model", "exists", 1),
        ("input_model", "exists", 1),
        ("inputs_of_model", "is_file", 1),
        ("npu_model", "exists", 0),
        ("model", "is_on_npu", 0),
    ],
)
def test_an_input_asks_for_no_accelerator(tmp_path: Path, name: str, test: str, count: int):
    file = tmp_path / "convert.py"
    file.write_text(CONVERSION.format(name=name, test=test))
    report = engine.check([file], Config(tmp_path), tuple(RULES.values()))
    assert not report.errors
    assert sum(finding.rule == "DEV502" for finding in report.findings) == count


KEPT = """\
import torch


class Pool:
    def __init__(self, rows, net):
        self.net = net
        self.rows = {rows}

    def save(self, folder):
        torch.save({saved}, folder / "{file}")

    def resume(self, folder):
        self.checkpoint = torch.load(folder / "{file}")
        self.net.resume(self.checkpoint)
"""


@pytest.mark.parametrize(
    ("rows", "saved", "file", "count"),
    [
        ("torch.LongTensor(rows)", "self.rows", "checkpoint.pt", 0),
        ("rows", "torch.tensor(self.rows)", "checkpoint.pt", 0),
        ("rows", "self.net.weight.cpu()", "checkpoint.pt", 0),
        ("torch.tensor(rows, device=net.device)", "self.rows", "checkpoint.pt", 1),
        ("rows", "self.net.weight", "checkpoint.pt", 1),
        ("rows", "self.net.weight", "checkpoint_indices.pt", 0),  # data, by its name
        ("rows", "self.net.weight", "checkpoint.safetensors", 0),  # no pickle: it can't be read
    ],
)
def test_what_was_saved_from_the_host_loads_everywhere(tmp_path: Path, rows, saved, file, count):
    path = tmp_path / "pool.py"
    path.write_text(KEPT.format(rows=rows, saved=saved, file=file))
    report = engine.check([path], Config(tmp_path), tuple(RULES.values()))
    assert not report.errors
    assert sum(finding.rule == "DEV502" for finding in report.findings) == count
