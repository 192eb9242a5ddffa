"""Who runs a tool by hand knows the file that it loads, and the machine."""

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
