"""A finding that rests on what calls hand in: alone or with the others, a file gets the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes import Tree

from devlint.check import settlement
from devlint.cli import main

SHIFT = """\
import torch


def shift(rows: torch.Tensor):
    return rows + torch.arange(4)
"""
FROM_HOST = """\
import torch
from shift import shift


def read(path):
    return shift(torch.load(path, map_location="cpu"))
"""
FROM_DEVICE = """\
from shift import shift


def use(x):
    return shift(x.cuda())
"""


def found(*arguments: str) -> list[str]:
    result = CliRunner().invoke(main, ["check", "--format", "json", *arguments])
    assert not isinstance(result.exception, Exception), result.exception
    return [part.split('"')[0] for part in result.output.split('"rule": "')[1:]]


@pytest.mark.parametrize("paths", [("shift.py",), (".",), ("shift.py", "use.py")])
@pytest.mark.parametrize(
    ("caller", "expected"), [(FROM_HOST, []), (FROM_DEVICE, ["DEV102"]), ("", ["DEV102"])]
)
def test_a_file_alone_is_seen_with_its_callers(
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
    paths: tuple[str, ...],
    caller: str,
    expected: list[str],
) -> None:
    monkeypatch.chdir(tree({"shift.py": SHIFT, "use.py": caller, "pyproject.toml": ""}))
    codes = found(*paths, "--select", "DEV102")
    assert codes == expected


def test_it_is_shown_where_what_is_possible_is(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree({"shift.py": SHIFT, "use.py": FROM_HOST, "pyproject.toml": ""}))
    assert found("shift.py", "--select", "DEV102", "--min-confidence", "possible") == ["DEV102"]


def test_callers_are_looked_for_as_far_as_the_budget_goes(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree({"shift.py": SHIFT, "use.py": FROM_HOST, "pyproject.toml": ""}))
    monkeypatch.setattr(settlement, "CALLERS_BUDGET", 20)
    assert found("shift.py", "--select", "DEV102") == ["DEV102"]


@pytest.mark.parametrize("broken", [b"shift(", b"shift(\x00)", b"\xff\xfe shift"])
def test_what_cannot_be_read_there_is_no_error_of_this_run(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, broken: bytes
) -> None:
    root = tree({"shift.py": SHIFT, "pyproject.toml": ""})
    (Path(root) / "bad.py").write_bytes(broken)
    monkeypatch.chdir(root)
    assert found("shift.py", "--select", "DEV102") == ["DEV102"]


TABLES = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def set_up(self, n):
        self.table = torch.rand(n, 8)

    def forward(self, x, at):
        return self.proj(x) + self.table[at]
"""
SETS_UP = """\
import torch
from tables import Net


def build(device):
    net = Net().to(device)
    {around}
    return net
"""


@pytest.mark.parametrize("path", ["tables.py", "."])
@pytest.mark.parametrize(
    ("around", "expected"),
    [("with torch.device(device):\n        net.set_up(4)", []), ("net.set_up(4)", ["DEV205"])],
)
def test_a_caller_may_choose_the_default_device(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, path: str, around: str, expected: list[str]
) -> None:
    files = {"tables.py": TABLES, "build.py": SETS_UP.format(around=around), "pyproject.toml": ""}
    monkeypatch.chdir(tree(files))
    assert found(path, "--select", "DEV2") == expected


@pytest.mark.parametrize(
    ("caller", "settings", "severity"),
    [
        ("", "", "warning"),  # it breaks for callers out of sight, and works for others
        (FROM_DEVICE, "", "warning"),  # nor is it followed whether that call comes there
        ("", "[tool.devlint.assume]\ncaller-is-accelerated = true\n", "error"),
        ("", '[tool.devlint.severity]\nDEV102 = "error"\n', "error"),
    ],
)
def test_what_breaks_only_for_callers_out_of_sight_is_a_warning(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, caller: str, settings: str, severity: str
) -> None:
    files = {"shift.py": SHIFT, "use.py": caller, "pyproject.toml": settings}
    monkeypatch.chdir(tree(files))
    result = CliRunner().invoke(
        main, ["check", "--format", "json", "shift.py", "--select", "DEV102"]
    )
    assert [each["severity"] for each in json.loads(result.output)["findings"]] == [severity]
