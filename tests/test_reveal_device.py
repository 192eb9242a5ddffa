"""`reveal_device(x)`: a note that says where `x` is, and why."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from fakes import Tree

from devlint import reveal_device
from devlint.cli import main
from devlint.reveal_rule import RULE
from devlint.rules import load_rules
from devlint.testing import findings_in


def answers(text: str) -> list[str]:
    return [finding.message for finding in findings_in(text, [RULE])]


@pytest.mark.parametrize("example", RULE.bad)
def test_a_call_is_answered(example: str) -> None:
    assert answers(example)


@pytest.mark.parametrize("example", RULE.good)
def test_a_function_of_ones_own_is_none_of_ours(example: str) -> None:
    assert answers(example) == []


BEGIN = "import torch\nfrom torch import nn\nfrom devlint import reveal_device as where\n"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("where(torch.ones(3))", "`torch.ones(3)`: tensor on cpu"),
        ("where(nn.Linear(3, 3).cuda())", "`nn.Linear(3, 3).cuda()`: module on cuda"),
        ("where(torch.device('cuda:1'))", "`torch.device('cuda:1')`: cuda:1"),
        ("where([torch.ones(3)])", "`[torch.ones(3)]`: tensors on cpu"),
        ("where(unknown())", "of `unknown()` no device is known"),
        (
            "def f(x, y=None):\n    z = x + 1\n    return where(y)",
            "`y`: tensor on the device of `y`, assuming `y` is a tensor",
        ),
        (
            "def f(x: torch.Tensor, flag):\n    y = torch.ones(3) if flag else x\n    where(y)",
            "`y`: tensor on cpu or tensor on the device of `x`",
        ),
        ("x = torch.ones(3)\nfor i in range(3):\n    where(x)\n    x = x.cuda()", "cuda"),
    ],
)
def test_answers(code: str, answer: str) -> None:
    (said,) = answers(BEGIN + code + "\n")
    assert said.endswith(answer)


def test_it_returns_its_argument_when_it_runs_and_when_it_is_checked() -> None:
    value = object()
    assert reveal_device(value) is value
    text = BEGIN + "x = where(torch.ones(3).cuda()) + torch.ones(3)\n"
    assert "DEV101" in {finding.rule for finding in findings_in(text, load_rules())}


def test_the_answer_has_the_steps_and_fails_no_build(tree: Tree) -> None:
    root = tree({"a.py": BEGIN + "x = torch.ones(3)\nwhere(x.to('meta'))\n"})
    done = CliRunner().invoke(main, ["check", str(root), "--select", "DEV004"])
    assert done.exit_code == 0
    assert "note 1: made here on the default device" in done.output
    assert "note 2: moved here" in done.output


def test_a_file_that_another_one_imports_is_answered_too(tree: Tree) -> None:
    root = tree(
        {
            "a.py": "from b import made\n\nx = made()\n",
            "b.py": BEGIN + "def made():\n    return where(torch.ones(3))\n",
        }
    )
    done = CliRunner().invoke(main, ["check", str(root), "--format", "concise"])
    assert done.output.count("DEV004") == 1
