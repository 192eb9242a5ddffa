"""The default device belongs to the process: a program that chooses one does so for its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import Tree

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence
from devlint.rules import load_rules

RULES = load_rules()
NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 3)

    def forward(self, x):
        return self.last(x) + {made}
"""
LAUNCHER = """\
import torch


def launch(main):
    {choice}
    main()
"""
CUDA = 'torch.set_default_tensor_type("torch.cuda.FloatTensor")'
TRAIN = "from launcher import launch\nfrom net import Net\n\nlaunch(Net)\n"


def found(root: Path, cache: Path | None = None) -> list[Confidence]:
    config = Config(root, min_confidence=Confidence.POSSIBLE)
    report = engine.check([root], config, RULES, cache=cache)
    return [each.confidence for each in report.findings if each.rule == "DEV102"]


@pytest.mark.parametrize(
    ("made", "choice", "confidence"),
    [
        ("torch.ones(3)", CUDA, Confidence.POSSIBLE),
        ("torch.tensor([1.0, 2.0])", CUDA, Confidence.POSSIBLE),
        ("torch.ones(3)", "torch.set_default_device(chosen())", Confidence.POSSIBLE),
        ("torch.ones(3)", "torch.set_default_tensor_type(kind)", Confidence.POSSIBLE),
        ("torch.ones(3)", "torch.set_default_tensor_type(torch.DoubleTensor)", Confidence.CERTAIN),
        ("torch.ones(3)", "torch.set_num_threads(4)", Confidence.CERTAIN),
        ("torch.ones(3)", 'torch.set_default_device("cpu")', Confidence.CERTAIN),
        ('torch.ones(3, device="cpu")', CUDA, Confidence.POSSIBLE),  # on purpose
    ],
)
def test_the_file_that_chooses_need_not_know_the_file_that_makes(
    tree: Tree, made: str, choice: str, confidence: Confidence
) -> None:
    files = {"net.py": NET.format(made=made), "launcher.py": LAUNCHER.format(choice=choice)}
    assert found(tree(files | {"train.py": TRAIN})) == [confidence]


def test_what_shares_the_memory_of_the_host_stays_there(tree: Tree) -> None:
    files = {"launcher.py": LAUNCHER.format(choice=CUDA), "train.py": TRAIN}
    files["net.py"] = NET.format(made="torch.from_numpy(x.shape_of())")
    assert found(tree(files)) == [Confidence.CERTAIN]


def test_another_program_of_the_project_chooses_for_itself(tree: Tree) -> None:
    files = {"net.py": NET.format(made="torch.ones(3)"), "train.py": "import net\n\nnet.Net()\n"}
    demo = f"import torch\nimport show\n\n{CUDA}\n"
    assert found(tree(files | {"demo.py": demo, "show.py": ""})) == [Confidence.CERTAIN]


def test_what_was_found_is_found_anew_when_the_launcher_changes(tree: Tree) -> None:
    files = {"net.py": NET.format(made="torch.ones(3)"), "train.py": TRAIN}
    root = tree(files | {"launcher.py": LAUNCHER.format(choice="pass")})
    kept = root / ".kept"
    assert found(root, kept) == found(root, kept) == [Confidence.CERTAIN]
    tree({"launcher.py": LAUNCHER.format(choice=CUDA)})
    assert found(root, kept) == [Confidence.POSSIBLE]


TEST = """\
import pytest
import torch
from torch import nn
{set_up}

def test_layer():
    net = nn.Linear(3, 3).to("cuda")
    net(torch.ones(3))
"""
FIXTURE = """
@pytest.fixture({options})
def on_card():
    torch.set_default_device("cuda")
    yield
    torch.set_default_device("cpu")
"""
SET_UP = """
def setup_module(module):
    torch.set_default_device("cuda")
"""


@pytest.mark.parametrize(
    ("files", "found_one"),
    [
        ({"test_net.py": TEST.format(set_up="")}, True),
        ({"test_net.py": TEST.format(set_up=FIXTURE.format(options="autouse=True"))}, False),
        ({"test_net.py": TEST.format(set_up=FIXTURE.format(options=""))}, True),
        ({"test_net.py": TEST.format(set_up=SET_UP)}, False),
        (
            {
                "tests/test_net.py": TEST.format(set_up=""),
                "tests/conftest.py": "import pytest\nimport torch\n"
                + FIXTURE.format(options="autouse=True"),
            },
            False,
        ),
    ],
)
def test_what_a_test_framework_runs_before_each_test_chooses_for_them(
    tree: Tree, files: dict[str, str], found_one: bool
) -> None:
    report = engine.check([tree(files)], Config(tree(files)), RULES)
    assert any(each.rule == "DEV103" for each in report.findings) is found_one
