"""Bans: what a knowledge file bans is found by what names mean, and the message is its reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes import Tree

from devlint import engine
from devlint.ban_rule import RULE
from devlint.config import find_config
from devlint.knowledge import Agreement, KnowledgeError, load
from devlint.report import Report

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "bans.md").read_text(encoding="utf-8")
PROJECT = ROOT / "fixtures" / "projects" / "bans"
BANS = """\
[functions]
"torch.cuda.*" = { banned = "use ours" }
"torch.cuda.is_*" = { banned = "" }
"torch.cat" = { banned = "use join" }
"pkg.old" = { banned = "use pkg.new" }

[methods]
item = { banned = "wait less" }
"""


def check(root: Path) -> Report:
    return engine.check([root], find_config(root), (RULE,))


def banned(tree: Tree, text: str, name: str = "x.py") -> list[tuple[int, str]]:
    """Line and message of each finding in a file of a project with `BANS`."""
    root = tree({"devlint.toml": 'knowledge = ["b.toml"]\n', "b.toml": BANS, name: text})
    report = check(root)
    assert not report.errors
    return [(f.location.line, f.message) for f in report.findings]


def expected(text: str, marker: str) -> list[int]:
    return [n for n, line in enumerate(text.splitlines(), 1) if marker in line]


def test_the_example_of_the_page(tree: Tree) -> None:
    project, bans = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    root = tree({"pyproject.toml": project, "bans.toml": bans, "x.py": program})
    lines = [finding.location.line for finding in check(root).findings]
    assert lines == expected(program, "# DEV003") and len(lines) == 2
    (root / "our_lib").mkdir()
    (root / "x.py").rename(root / "our_lib" / "devices.py")
    assert check(root).findings == []


def test_a_project_with_bans() -> None:
    report = check(PROJECT)
    found = [(f.location.path, f.location.line) for f in report.findings]
    text = (PROJECT / "our_lib/train.py").read_text(encoding="utf-8")
    assert found == [("our_lib/train.py", line) for line in expected(text, "# expect: DEV003")]


@pytest.mark.parametrize(
    "use",
    [
        "import torch\ntorch.cuda.synchronize()",
        "import torch.cuda as gpu\ngpu.synchronize()",
        "from torch.cuda import synchronize as wait\nwait()",
        "def f():\n    from torch import cuda\n    return cuda.synchronize",
        "import torch\n@torch.cuda.synchronize\ndef f(): ...",
    ],
)
def test_every_name_of_it_counts(tree: Tree, use: str) -> None:
    assert [m for _, m in banned(tree, use)] == ["`torch.cuda.synchronize` is banned: use ours"]


@pytest.mark.parametrize(
    "other",
    [
        "import torch\ntorch.cuda.is_available()",  # its own ban is lifted
        "from torch import cuda\ndef f(cuda):\n    cuda.synchronize()",  # another thing's name
        "class torch: ...\ntorch.cuda.synchronize()",
        "from torch.cuda import synchronize",  # an import alone uses nothing
        "import torch\nf(cat=1); x.cat; torch.concat",
        "x.item",  # not called
        "import nd\nnd.item()",  # a function of a module
    ],
)
def test_nothing_else_counts(tree: Tree, other: str) -> None:
    assert banned(tree, other) == []


def test_a_method_counts_on_whatever_it_is_called(tree: Tree) -> None:
    text = "import torch\nx.item()\ntorch.zeros(3).item()\nf(a)[0].item()\n"
    assert banned(tree, text) == [(n, "`.item()` is banned: wait less") for n in (2, 3, 4)]


def test_relative_imports_are_of_the_package(tree: Tree) -> None:
    tree({"pkg/__init__.py": "from . import old\nold()\n", "pkg/sub/__init__.py": ""})
    root = tree({"pkg/sub/y.py": "from .. import old\nold()\n"})
    assert banned(tree, "from . import old\nold()\n", "pkg/x.py")
    found = [f.location.path for f in check(root).findings]
    assert found == ["pkg/__init__.py", "pkg/sub/y.py", "pkg/x.py"]


def test_a_ban_is_suppressed_with_a_reason_and_takes_a_severity(tree: Tree) -> None:
    text = "import torch\ntorch.cat([])  # devlint: ignore[banned-api] -- measured\ntorch.cat([])\n"
    assert [line for line, _ in banned(tree, text)] == [3]


def test_a_ban_alone_leaves_what_is_known(tmp_path: Path) -> None:
    file = tmp_path / "b.toml"
    file.write_text(BANS, encoding="utf-8")
    known = load([file])
    assert known.functions["torch.cat"] == load().functions["torch.cat"]
    assert known.functions["torch.cat"].agreement is Agreement.STRICT
    file.write_text('[functions]\n"torch.cat" = { banned = "no", result = "host" }\n')
    assert load([file]).functions["torch.cat"] != load().functions["torch.cat"]


def test_a_ban_that_is_no_reason_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "b.toml"
    file.write_text('[functions]\n"torch.cat" = { banned = true }\n')
    with pytest.raises(KnowledgeError, match=r"'banned': expected the reason.*not True"):
        load([file])
