"""Calls that a project makes already, as arguments of a witness."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from runtime_guard.drive.examples import Call, Example, examples_of
from runtime_guard.drive.expressions import NotKnown, Scope, imports_of, resolved, value_of
from runtime_guard.drive.plan import Entry
from runtime_guard.drive.values import Options, Tensor, Text, Value

NETS = '''
import torch


class Config:
    def __init__(self, width):
        self.width = width


class Net(torch.nn.Module):
    """Mixes channels.

    >>> from nets import Config, Net
    >>> net = Net(12, config=Config(3))
    >>> net(torch.ones(2, 12))
    """

    def forward(self, x, mask=None):
        return x


def pooled(x, size):
    return x
'''
TESTS = """
import pytest
import torch
from nets import Config, Net, pooled


@pytest.fixture
def image():
    size = 4
    return torch.randn(2, 3, size, size)


@pytest.mark.parametrize("dim, heads", [(7, 2), (8, 3)])
def test_net(dim, heads, image, device):
    net = Net(dim, heads=heads).to(device).eval()
    net(image, torch.ones(3, dtype=torch.bool, device=device).cuda())


def unknown():
    pooled(read_image(), 5)


class TestNet:
    def setup_method(self):
        self.size = 5
        self.net = Net(self.size)

    def test_it(self):
        with torch.no_grad():
            self.net(torch.zeros(self.size))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_nets.py").write_text(TESTS)
    return tmp_path


def found(project: Path, entry: Entry) -> list[Example]:
    return examples_of(str(project / "nets.py"), str(project), entry)


def test_a_docstring_comes_first_then_tests_with_their_fixtures_and_parameters(
    project: Path,
) -> None:
    documented, tested, of_setup, *_ = found(project, Entry("Net", "forward"))
    assert documented == Example(
        Call((Text("12"),), (("config", Text("nets.Config(3)", ("nets",))),)),
        Call((Text("torch.ones(2, 12, device=card)"),)),
    )
    assert tested == Example(
        Call((Text("7"),), (("heads", Text("2")),)),
        Call(
            (
                Tensor("float", (2, 3, 4, 4)),
                Text("torch.ones(3, dtype=torch.bool, device=card)"),
            )
        ),
    )
    assert of_setup == Example(Call((Text("5"),)), Call((Text("torch.zeros(5, device=card)"),)))


def test_an_argument_that_only_a_run_would_tell_is_left_to_be_made_up(project: Path) -> None:
    assert found(project, Entry("", "pooled")) == [Example(called=Call((None, Text("5"))))]


def test_a_readme_is_read_too(project: Path) -> None:
    (project / "README.md").write_text(
        "Use it:\n\n```python\nfrom nets import pooled\npooled(torch.rand(2, 8), size=3)\n```\n"
    )
    documented = Call((Tensor("float", (2, 8)),), (("size", Text("3")),))
    assert Example(called=documented) in found(project, Entry("", "pooled"))


SCOPE = Scope(
    imports_of(ast.parse("import torch\nimport torch.nn as nn\nimport numpy as np")),
    {"n": ast.Constant(4)},
)


@pytest.mark.parametrize(
    ("written", "stands_for"),
    [
        ("n * 2", Text("4 * 2")),
        ("torch.randn(2, n)", Tensor("float", (2, 4))),
        ("torch.randint(0, 10, (n,))", Tensor("long", (4,), 10)),
        ("torch.zeros(n, device='cpu')", Text("torch.zeros(4, device=card)")),
        ("torch.randn(n).cuda()", Tensor("float", (4,))),
        ("torch.rand(n).to(torch.half)", Text("torch.rand(4, device=card).to(torch.half)")),
        ("nn.Linear(n, 2)", Text("torch.nn.Linear(4, 2).to(card)")),
        ("torch.device('cuda:0')", Text("torch.device(card)")),
        ("[np.ones(k) for k in range(n)]", Text("[numpy.ones(k) for k in range(4)]", ("numpy",))),
        ("torch.LongTensor([1])", Text("torch.as_tensor(torch.LongTensor([1]), device=card)")),
    ],
)
def test_what_is_made_is_made_on_the_card_and_names_stand_for_themselves(
    written: str, stands_for: Value
) -> None:
    assert value_of(ast.parse(written, mode="eval").body, SCOPE) == stands_for


@pytest.mark.parametrize("written", ["read(n)", "x", "torch.ones(n).cpu()", "f'{n}'"])
def test_what_is_not_known_is_not_guessed(written: str) -> None:
    with pytest.raises(NotKnown):
        resolved(ast.parse(written, mode="eval").body, SCOPE)


def test_on_the_host_nothing_of_it_is_on_the_card() -> None:
    net = Text("torch.nn.Linear(2, 2).to(card)(torch.ones(2, device=card))")
    assert net.on_host == "torch.nn.Linear(2, 2)(torch.ones(2))"


def test_a_parameter_hides_what_is_imported_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "use.py").write_text(
        "import torch.nn.functional as F\n"
        "from nets import Net\n\n\n"
        "class Outer:\n"
        "    def __init__(self, F, width=3):\n"
        "        self.F = F\n"
        "        self.inner = Net(self.F, config=width)\n"
    )
    examples = examples_of(str(tmp_path / "nets.py"), str(tmp_path), Entry("Net", "__init__"))
    made = [example.made for example in examples if example.made is not None]
    assert Call((None,), (("config", Text("3")),)) in made


PROGRAM = """
import argparse
from nets import Net, pooled


def options(version=1):
    parser = argparse.ArgumentParser(description="trains")
    parser.add_argument("data", type=str)
    parser.add_argument("-w", "--net-width", type=int, default=64)
    parser.add_argument("--no-cuda", action="store_true")
    parser.add_argument("--mode", choices=["fast", "slow"])
    parser.add_argument("--resume", default=None)
    more = parser.add_argument_group("more")
    more.add_argument("--steps", type=int, required=True)
    return parser.parse_args()


def main():
    opt = options()
    opt.cuda = not opt.no_cuda
    x, y = pooled(opt.net_width, 3)
    pooled(opt, y)


def unknown(parser):
    pooled(parser.parse_args(), 7)
"""


def test_the_options_of_a_program_are_as_its_parser_has_them(project: Path) -> None:
    (project / "main.py").write_text(PROGRAM)
    calls = [one.called for one in found(project, Entry("", "pooled")) if one.called]
    (given,) = [call.positional for call in calls if isinstance(call.positional[0], Options)]
    assert isinstance(given[0], Options)
    assert dict(given[0].known) == {
        "data": Text("'witness-file'"),
        "net_width": Text("64"),
        "no_cuda": Text("False"),
        "mode": Text("'fast'"),
        "resume": Text("None"),
        "steps": Text("4"),
        "cuda": Text("not False"),
    }
    assert given[1] == Text("nets.pooled(64, 3)[1]", ("nets",))
    assert Call((None, Text("7"))) in calls
