"""`devlint infer`: where every tensor and module of a file is, why, and what is assumed."""

from __future__ import annotations

import json
import re
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fakes import Tree

from devlint.cli import main

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import torch
from torch import nn
from parts import make

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(3, 3)

    def forward(self, x, bias=None):
        y = self.proj(x)
        noise = torch.randn(3)
        return y + noise.to(y.device)

model = Head().to("cuda")
rows = [torch.ones(3), torch.zeros(3)]
for row in rows:
    row, host = row.to("cuda"), row
    out = model(row)
with torch.no_grad() as mode:
    loss: torch.Tensor = out.sum()
    loss += 1
either = torch.ones(3) if model.training else torch.ones(3, device="cuda")
made = make(3)
device = torch.device("cuda", 1)
name = "cpu"
"""
PARTS = "import torch\n\ndef make(n):\n    return torch.ones(n)\n"


def infer(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["infer", *arguments])


def notes(output: str) -> dict[str, str]:
    """The notes of a program by the names that they are about; the last of a name."""
    found = {}
    for line in output.splitlines():
        for note in line.partition("  # ")[2].split("; "):
            name, colon, place = note.partition(": ")
            if colon:
                found[name] = place
    return found


def test_every_name_has_its_place_beside_it(tree: Tree) -> None:
    root = tree({"train.py": PROGRAM, "parts.py": PARTS})
    done = infer(str(root / "train.py"))
    assert done.exit_code == 0
    assert notes(done.output) == {
        "self.proj": "module on cpu",
        "x": "tensor on the device of `x`",
        "bias": "tensor on the device of `bias`?",
        "y": "tensor on the module's device",
        "noise": "tensor on cpu",
        "model": "module on cuda",
        "rows": "tensors on cpu",
        "row": "tensor on cuda",
        "host": "tensor on cpu",
        "out": "tensor on cuda",
        "loss": "tensor on cuda",
        "either": "tensor on cpu or tensor on cuda",
        "made": "tensor on cpu",
        "device": "cuda:1",
    }
    assert [
        line.partition(" | ")[2].partition("  # ")[0].rstrip() for line in done.output.splitlines()
    ] == [line.rstrip() for line in PROGRAM.splitlines()]


def test_a_name_of_which_nothing_is_known_has_no_note_and_its_line_tells_of_it(tree: Tree) -> None:
    text = """\
    from torch import Tensor, nn
    from elsewhere import loaded

    class Head(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.classes = classes
            self.proj = nn.Linear(3, classes)

    def declared(x: Tensor, held: list[Tensor]):
        y = loaded(x)
        return y @ x
    """
    root = tree({"head.py": textwrap.dedent(text)})
    said = notes(infer(str(root / "head.py")).output)
    assert set(said) == {"self.proj", "x", "held"}
    assert "`classes`: tensor on an unknown device?" in infer(f"{root / 'head.py'}:8").output


def test_a_line_says_why_and_what_is_assumed(tree: Tree) -> None:
    root = tree({"train.py": PROGRAM, "parts.py": PARTS})
    line = PROGRAM[: PROGRAM.index("return y")].count("\n") + 1
    done = infer(f"{root / 'train.py'}:{line}")
    assert done.output.splitlines()[:4] == [
        "        return y + noise.to(y.device)",
        "  16: `y`: tensor on the module's device",
        "     line 8: made here",
        "     line 11: computed here",
    ]
    made = PROGRAM[: PROGRAM.index("made =")].count("\n") + 1
    assert (
        "     parts.py:4: made here on the default device\n"
        in infer(f"{root / 'train.py'}:{made}").output
    )
    header = PROGRAM[: PROGRAM.index("def forward")].count("\n") + 1
    assert (
        "= assuming: `bias` is a tensor (value-is-tensor)"
        in infer(f"{root / 'train.py'}:{header}").output
    )
    assert "= assuming: `bias` is a tensor" in infer(str(root / "train.py"), "--why").output


def test_json_has_every_expression(tree: Tree) -> None:
    root = tree({"train.py": PROGRAM, "parts.py": PARTS})
    document = json.loads(infer(str(root / "train.py"), "--format", "json").output)
    assert document["path"] == "train.py"
    (call,) = [v for v in document["values"] if v["name"] == "self.proj(x)"]
    assert not call["binds"]
    (where,) = call["where"]
    assert (where["kind"], where["device"], where["place"]) == (
        "tensor",
        None,
        "the module's device",
    )
    assert [step["message"] for step in where["why"]] == ["made here", "computed here"]
    start, end = call["column"] - 1, call["end_column"] - 1
    assert PROGRAM.split("\n")[call["line"] - 1][start:end] == "self.proj(x)"


def test_the_map_draws_devices_and_transfers(tree: Tree) -> None:
    root = tree({"train.py": PROGRAM, "parts.py": PARTS, "empty.py": ""})
    picture = ElementTree.fromstring(infer(str(root / "train.py"), "--graph", "svg").output)
    words = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"cpu", "cuda", "noise (tensor, line 12)", "model (module, line 15)"} <= set(words)
    assert "lines 15, 18" in words
    graph = infer(str(root / "train.py"), "--graph", "dot").output
    assert re.search(r'd\d+ -> d\d+ \[label="lines 15, 18"\];', graph)
    assert (
        ElementTree.fromstring(infer(str(root / "empty.py"), "--graph", "svg").output) is not None
    )


def test_a_notebook_is_shown_by_cells(tree: Tree) -> None:
    cells = [["import torch\n", "x = torch.ones(3)"], ["%time y = x\n", "z = x.cuda()"]]
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [{"cell_type": "code", "metadata": {}, "source": source} for source in cells],
    }
    root = tree({"study.ipynb": json.dumps(document)})
    done = infer(str(root / "study.ipynb"))
    assert notes(done.output) | {"x": "tensor on cpu", "z": "tensor on cuda"} == notes(done.output)
    assert "cell 2\n1 | %time" in done.output
    assert (
        "`x.cuda()`: tensor on cuda\n     cell 1, line 2: made here"
        in infer(f"{root / 'study.ipynb'}:cell 2:2").output
    )


@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        ("missing.py", 3, "missing.py:1:1: cannot be read"),
        ("broken.py", 3, "broken.py:1:5: syntax error"),
        ("train.py:99", 2, "train.py has no line 99"),
        ("-", 2, "name a file"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, place: str, code: int, said: str
) -> None:
    monkeypatch.chdir(tree({"train.py": PROGRAM, "parts.py": PARTS, "broken.py": "x = (\n"}))
    done = infer(place)
    assert done.exit_code == code
    assert said in done.output


def test_nobody_listens_when_nobody_asks(tree: Tree) -> None:
    from devlint.inference.program.frames import EVALUATORS, EXECUTORS

    before = dict(EVALUATORS), dict(EXECUTORS)
    root = tree({"train.py": PROGRAM, "parts.py": PARTS})
    assert infer(str(root / "train.py")).exit_code == 0
    assert before == (EVALUATORS, EXECUTORS)


def test_the_page_shows_what_is_printed(tree: Tree) -> None:
    page = (ROOT / "docs/inference.md").read_text(encoding="utf-8")
    whole, line = re.findall(r"```\n\$ devlint infer (.*?)\n(.*?)```", page, re.DOTALL)
    shown = re.findall(r"^ *\d+ \|(?: (.*?))? *(?:# .*)?$", whole[1], re.M)
    root = tree({"train.py": "\n".join(line.rstrip() for line in shown)})
    printed = infer(str(root / "train.py")).output
    assert _words(printed) == _words(whole[1])
    assert infer(str(root / line[0])).output.startswith("        return y")
    for text in line[1].splitlines():
        assert text in infer(str(root / line[0])).output


def _words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]
