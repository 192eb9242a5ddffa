"""Functions that only programs which demand CUDA come to."""

from __future__ import annotations

import pytest
from fakes import Tree

from devlint.project.imports import Project
from devlint.project.questions import Question

STEPS = {
    "steps/__init__.py": """\
from .plain import unused


def chosen(name):
    from .basic import step
    return {"basic": step}[name]
""",
    "steps/plain.py": "def unused():\n    pass\n",
    "steps/basic.py": "__all__ = ['step']\n\n\ndef step(x):\n    return x.cuda()\n",
}
ASKS = "    assert torch.cuda.is_available(), 'no CUDA'\n"
RUN = """\
import torch
from steps import chosen


def main(x):
{asks}    chosen("basic")(x)


if __name__ == "__main__":
    main(torch.ones(3))
"""


def demanded(tree: Tree, **files: str) -> bool:
    others = {f"{name}.py": text for name, text in files.items()}
    root = tree({**STEPS, **others})
    question = Question.CALLERS_DEMAND_CUDA
    return Project(root).answer(question, root / "steps" / "basic.py", "step")


@pytest.mark.parametrize(
    ("asks", "found"),
    [
        (ASKS, True),
        ("    if not torch.cuda.is_available():\n        raise SystemExit\n", True),
        ("    if not torch.cuda.is_available():\n        sys.exit('no CUDA')\n", True),
        ("    if not torch.cuda.is_available():  # not here\n        raise SystemExit\n", True),
        ("", False),
        ("    # assert torch.cuda.is_available()\n", False),
        ("    assert torch.cuda.is_available() or x is None\n", False),
        ("    if not torch.cuda.is_available():\n        print('slow')\n", False),
        (ASKS + "    device = 'cuda' if torch.cuda.is_available() else 'cpu'\n", False),
    ],
)
def test_the_only_program_that_comes_to_it(tree: Tree, asks: str, found: bool) -> None:
    assert demanded(tree, run=RUN.format(asks=asks)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (RUN.format(asks=""), False),
        (RUN.format(asks=ASKS), True),
        (RUN.format(asks="").replace("chosen", "unused"), True),  # it does not come to it
        ("from steps import chosen\n\nSTEP = chosen('basic')\n", False),
        ("import steps\n\n\ndef step(x):\n    return x\n\n\nstep(3)\n", True),  # its own
    ],
)
def test_each_program_counts(tree: Tree, text: str, found: bool) -> None:
    assert demanded(tree, run=RUN.format(asks=ASKS), other=text) == found


def test_a_module_in_between_that_does_something_at_once(tree: Tree) -> None:
    kept = "from steps import chosen\n\nSTEP = chosen('basic')\n"
    program = "import kept\nimport torch\n\nassert torch.cuda.is_available()\n"
    assert not demanded(tree, run=RUN.format(asks=ASKS), kept=kept, other=program)


def test_what_nobody_comes_to_is_demanded_by_nobody(tree: Tree) -> None:
    assert not demanded(tree)


BY_PARTS = """\
import torch
from steps import chosen


def connect():
{connecting}    pass


def train(x):
    chosen("basic")(x)


def main(x):
{asks}    if x.many:
        connect()
    train(x)
{after}"""


@pytest.mark.parametrize(
    ("connecting", "asks", "after", "found"),
    [
        ("", ASKS, "", True),  # whoever trains comes by it
        (ASKS, "", "", False),  # only who connects does
        ("", "", "\n\nassert torch.cuda.is_available()\nmain(None)\n", True),
    ],
)
def test_a_demand_counts_where_it_stands_on_the_way(
    tree: Tree, connecting: str, asks: str, after: str, found: bool
) -> None:
    run = BY_PARTS.format(connecting=connecting, asks=asks, after=after)
    run += '\n\nif __name__ == "__main__":\n    main(torch.ones(3))\n'
    assert demanded(tree, run=run) == found
