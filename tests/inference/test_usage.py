"""Functions that nothing in sight uses, in a file that the project uses."""

import pytest
from given import given, met

from devlint.config import Config
from devlint.engine import check
from devlint.rules import load_rules

HELPERS = """
    import torch
    from torch.utils.data import Dataset

    def mask(lengths, device):
        return torch.arange(9).to(device) < lengths

    {decorator}
    def rewards(count, device):
        return torch.zeros(count).to(device)

    class Sampler{base}:
        def draw(self, x):
            return torch.rand(3).to(x.device)
"""


def unused(train: str, decorator: str = "", base: str = "") -> set[str]:
    code = HELPERS.format(decorator=decorator, base=base)
    return set(given(code, {"train.py": train}).left_over.values())


def test_what_neither_its_file_nor_another_names_is_left_over():
    assert unused("from main import mask\nmask()") == {"rewards", "Sampler"}


def test_of_a_file_that_nobody_names_nothing_is_known():
    assert unused("import torch") == set()


def test_an_application_is_called_by_nobody_out_of_sight():
    assert unused('if __name__ == "__main__":\n    print(1)') >= {"mask", "rewards", "Sampler"}


def test_a_method_that_nobody_names_is_left_over_though_its_class_is_used():
    assert unused("from main import *\nmask, rewards, Sampler") == {"draw"}
    assert unused("from main import *\nmask, rewards, Sampler().draw(1)") == set()


@pytest.mark.parametrize(
    ("base", "names"),
    [
        ("(Dataset)", {"mask"}),
        ("(nn.Module)", {"mask"}),
    ],
)
def test_a_library_calls_what_overrides_its_methods(base, names):
    assert unused("from main import *\nrewards, Sampler", base=base) == names


OWN = """
    from base import Base

    class Net({base}):
        def {method}(self, x):
            return torch.zeros(3).cuda().numpy()

    def build():
        return Net()
"""


@pytest.mark.parametrize(
    ("base", "method", "names"),
    [
        ("nn.Module", "extra", {"extra"}),
        ("nn.Module", "forward", set()),
        ("nn.Module", "extra_repr", set()),
        ("Base", "extra", {"extra"}),
        ("Base", "draw", set()),  # the base calls it
    ],
)
def test_an_ancestor_calls_what_it_has_itself(base, method, names):
    files = {
        "train.py": "from main import build\n\nnet = build()",
        "base.py": "class Base:\n    def draw(self, x):\n        raise NotImplementedError\n\n"
        "    def run(self, x):\n        return self.draw(x)",
    }
    code = OWN.format(base=base, method=method)
    assert set(given(code, files).uncalled.values()) == names


TRAIN = """\
from net import build

if __name__ == "__main__":
    net = build()
    {called}
"""


@pytest.mark.parametrize(
    ("called", "files", "severity"),
    [
        ("net.spread(x)", {}, ["error"]),
        ("net(x)", {}, []),
        ("net(x)", {"setup.py": "import setuptools"}, ["warning"]),  # others may
    ],
)
def test_what_fails_in_a_method_that_nothing_calls_is_less_sure(tree, called, files, severity):
    root = tree({"net.py": CALLED, "train.py": TRAIN.format(called=called), **files})
    assert severities(root) == severity


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, ["error"]),  # who uses it is out of sight
        ({"train.py": "if __name__ == '__main__':\n    print(1)\n"}, []),
        ({"train.py": "if __name__ == '__main__':\n    print(1)\n", "setup.py": ""}, ["error"]),
        ({"train.py": "print(1)\n"}, ["error"]),
        ({"tests/test_it.py": "if __name__ == '__main__':\n    print(1)\n"}, ["error"]),
    ],
)
def test_of_an_application_what_nothing_names_nobody_calls(tree, files, severity):
    """Nobody installs it, and imports its code from elsewhere."""
    assert severities(tree({"net.py": CALLED, **files})) == severity


def severities(root):
    found = check([root / "net.py"], Config(root), load_rules()).findings
    assert {f.rule for f in found} <= {"DEV102"}
    return [f.severity.value for f in found]


CALLED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def spread(self, x):
        return self.weight + torch.zeros(3)

    def forward(self, x):
        return self.weight * x


def build():
    return Net(3)
"""


SHIFTED = """
    class Attention(nn.Module):
        def _shifted(self, x: torch.Tensor, *, triangular: bool = False):
            if triangular:
                x = x * torch.tril(torch.ones(3, 3))
            return x

        def forward(self, x: torch.Tensor):
            return {call}
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("self._shifted(x)", 0),
        ("self._shifted(x, triangular=True)", 1),
        ("self._shifted(x, triangular=x.shape[0] > 3)", 1),
        ("self._shifted(x, **self.options)", 1),
        ("self._shifted(x) + apply(self._shifted, x)", 1),  # who else calls it is open
    ],
)
def test_what_no_call_hands_to_a_private_function_is_its_default(call, found):
    assert len(met(SHIFTED.format(call=call))) == found


def test_another_file_may_call_a_private_function_too():
    code = SHIFTED.format(call="self._shifted(x)")
    others = {"heads.py": "def head(net, x):\n    return net._shifted(x, triangular=True)\n"}
    assert len(met(code, others)) == 1


def test_anybody_may_call_a_public_function():
    assert len(met(SHIFTED.replace("_shifted", "shifted").format(call="self.shifted(x)"))) == 1


RUN = """
    import torch

    def load(path, device):
        return torch.zeros(3).to(device)

    def begin(device):
        return torch.ones(3).to(device)

    if __name__ == "__main__":
        {main}
"""


@pytest.mark.parametrize(
    ("main", "names"),
    [
        ("begin('cuda')", {"load"}),
        ("begin('cuda')  # was: load()", {"load"}),
        ("begin(load(1, 'cuda'))", set()),
        ("globals()[name]()", set()),
    ],
)
def test_what_a_script_does_not_name_is_left_over(main, names):
    assert set(given(RUN.format(main=main), {}).left_over.values()) == names


LOAD = """
    import torch

    def weights(path):
        return torch.load(path)

    def other(net):
        return net

    {main}
"""


@pytest.mark.parametrize(
    ("main", "names"), [("if __name__ == '__main__': other(1)", {"weights"}), ("", set())]
)
def test_a_load_that_a_script_does_not_call_is_left_over_and_a_library_s_is_not(main, names):
    facts = given(LOAD.format(main=main), {"train.py": "from main import other\nother(1)"})
    assert set(facts.left_over.values()) == names


SHARED = """
import torch


def shifted(x):
    return x.cuda() + torch.zeros(3)


def spread(x):
    return shifted(x)


def norm(x):
    return x / 2
"""


@pytest.mark.parametrize(
    ("user", "found"),
    [
        ("from net import norm, spread\nprint(norm(1), spread(2))\n", "error"),
        ("from net import norm\nprint(norm(1))\n", "warning"),
    ],
)
def test_what_only_a_function_that_nothing_calls_calls_is_not_called(tree, user, found):
    root = tree({"net.py": SHARED, "train.py": user, "setup.py": "import setuptools"})
    report = check([root / "net.py"], Config(root), load_rules())
    assert [f.severity.value for f in report.findings if f.rule.startswith("DEV1")] == [found]
