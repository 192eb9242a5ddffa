"""A file by itself and within its project: the findings differ by what callers and imports add."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from rule_check import check_files

from devlint.findings import Finding

PLAIN = settings(derandomize=True, max_examples=25, deadline=None)
PRELUDE = "import torch\nfrom torch import nn\n"
FUNCTIONS = [
    "def {}(x):\n    return x + torch.ones(3)\n",
    "def {}(x):\n    x = x.cuda()\n    return x * torch.zeros(3)\n",
    "def {}(x):\n    return x.softmax(0).numpy()\n",
    "def {}(x, device):\n    return x.to(device)[torch.arange(3)]\n",
    "def {}(x):\n    total = 0\n    for row in x:\n        total += row.item()\n    return total\n",
    "def _{0}(x):\n    return x @ torch.eye(3)\n\n\ndef {0}(x):\n    return _{0}(x)\n",
]
METHODS = [
    "        return x + torch.ones(3)\n",
    "        return self.layer(x) + self.scale\n",
    "        return self.layer(x).cpu().numpy()\n",
]
MODULE = """class {}(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
"""
ARGUMENTS = ["torch.ones(3)", "torch.ones(3).cuda()", "torch.load('x.pt')", "batch"]
USES = [
    "print({}({}))\n",
    "model = {}()\nmodel(*[{}])\n",
    "model = {}().cuda()\nmodel(*[{}])\n",
    "def train(batch):\n    {}({})\n",
    "def run(batch):\n    return {}({})\n\n\nif __name__ == '__main__':\n    run(torch.ones(3))\n",
]


@st.composite
def a_file(draw: st.DrawFn, number: int, names: dict[str, str]) -> str:
    """A file that defines and uses; `names`: those that it may import, each with its module."""
    imported = draw(st.lists(st.sampled_from(sorted(names)), max_size=2)) if names else []
    text = PRELUDE + "".join(f"from {names[n]} import {n}\n" for n in dict.fromkeys(imported))
    own = []
    for place in range(draw(st.integers(0, 2))):
        own.append(f"combine_{number}_{place}")
        text += "\n\n" + draw(st.sampled_from(FUNCTIONS)).format(own[-1])
    if draw(st.booleans()):
        own.append(f"Block{number}")
        text += "\n\n" + MODULE.format(own[-1]) + draw(st.sampled_from(METHODS))
    used = draw(st.lists(st.sampled_from([*own, *imported]), max_size=2)) if own or imported else []
    for name in used:
        use = draw(st.sampled_from(USES)).format(name, draw(st.sampled_from(ARGUMENTS)))
        text += f"\n\n{use}"
    names.update(dict.fromkeys(own, f"part{number}"))
    return text


@st.composite
def a_project(draw: st.DrawFn) -> dict[str, str]:
    """Two or three files, of which the later ones may import the earlier ones."""
    names: dict[str, str] = {}
    return {f"part{n}.py": draw(a_file(n, names)) for n in range(draw(st.integers(2, 3)))}


@st.composite
def a_lone_file(draw: st.DrawFn, number: int) -> str:
    """A file that imports none of the project."""
    return draw(a_file(number, {}))


def told(findings: list[Finding], file: Path) -> list[tuple[object, ...]]:
    """What is said of a file, and how sure that is."""
    return [
        (found.location.line, found.rule, found.severity, found.confidence, found.message)
        for found in findings
        if found.location.path == file.name or found.location.path.endswith(f"/{file.name}")
    ]


@PLAIN
@given(a_project())
def test_to_check_one_file_tells_what_a_check_of_its_project_tells_of_it(
    project: dict[str, str],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in project.items():
            (root / name).write_text(text)
        whole = check_files(root, root)
        for name in project:
            assert told(check_files(root, root / name), root / name) == told(whole, root / name)


@PLAIN
@given(a_lone_file(0), a_lone_file(1))
def test_a_file_that_nothing_names_adds_nothing_to_another(one: str, other: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file = root / "part0.py"
        file.write_text(one)
        alone = told(check_files(root, root), file)
        (root / "part1.py").write_text(other)
        assert told(check_files(root, root), file) == alone
