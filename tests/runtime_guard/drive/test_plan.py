"""Which call leads to a line."""

from __future__ import annotations

import os

import pytest
from fakes import Tree

from runtime_guard.drive.plan import Entry, NoPlan, module_of, plan

NET = """\
import torch

TABLE = torch.ones(3)


class Net(torch.nn.Module):
    def forward(self, x):
        def inner(y):
            return y + TABLE
        return inner(x) + self.bias(x)

    def bias(self, x):
        return x


def _scale(x):
    return x * 2


def outer(x):
    return _scale(x)


if __name__ == "__main__":
    print(outer(TABLE))
"""


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        (10, (Entry("Net", "forward"),)),
        (9, (Entry("Net", "forward"),)),  # in a function within it
        (13, (Entry("Net", "bias"), Entry("Net", "forward"))),  # whoever calls it stands behind
        (17, (Entry("", "_scale"), Entry("", "outer"))),
        (3, (Entry(),)),  # the import alone
    ],
)
def test_the_function_around_a_line_is_called(
    tree: Tree, line: int, entries: tuple[Entry, ...]
) -> None:
    root = tree({"net.py": NET})
    assert plan(str(root / "net.py"), line, str(root)).entries == entries


GRID = """\
import torch


class Grid(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.points = torch.ones(3)

    def build(self, x):
        return x * self.points


class Warp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = Grid()

    def forward(self, x):
        return self.grid.build(x)


def train():
    return Warp()(torch.ones(3))
"""


def test_what_a_constructor_makes_shows_where_it_is_used(tree: Tree) -> None:
    """`points` stays behind, and `Grid` has no `forward`: its owner's meets it."""
    root = tree({"grid.py": GRID})
    assert plan(str(root / "grid.py"), 7, str(root)).entries == (
        Entry("Grid", "__init__"),
        Entry("Warp", "__init__"),
        Entry("Warp", "forward"),
        Entry("", "train"),
    )


BASE = """\
import torch


class Policy(torch.nn.Module):
    def flat(self):
        return torch.nn.utils.parameters_to_vector(self.parameters()).numpy()


class Actor(Policy):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)


class Silent(Policy):
    def flat(self):
        return None


class Small(Actor):
    pass
"""


def test_a_method_that_heirs_share_is_called_on_them_too(tree: Tree) -> None:
    """`Policy` itself has no parameters, and `Silent` a method of its own."""
    root = tree({"base.py": BASE})
    assert plan(str(root / "base.py"), 6, str(root)).entries == (
        Entry("Policy", "flat"),
        Entry("Actor", "flat"),
        Entry("Small", "flat"),
    )


def test_what_only_a_program_runs_is_not_called(tree: Tree) -> None:
    root = tree({"net.py": NET})
    with pytest.raises(NoPlan, match="give its command"):
        plan(str(root / "net.py"), 25, str(root))


def test_a_module_has_the_name_that_its_packages_give_it(tree: Tree) -> None:
    root = tree({"src/pkg/__init__.py": "", "src/pkg/net.py": "", "tool.py": "", "my-tool.py": ""})
    real = os.path.realpath(root)
    found = module_of(str(root / "src/pkg/net.py"), str(root))
    assert found == ("pkg.net", (os.path.join(real, "src"), real))
    assert module_of(str(root / "src/pkg/__init__.py"), str(root))[0] == "pkg"
    assert module_of(str(root / "tool.py"), str(root)) == ("tool", (real,))
    with pytest.raises(NoPlan, match=r"my-tool\.py has no name"):
        module_of(str(root / "my-tool.py"), str(root))
