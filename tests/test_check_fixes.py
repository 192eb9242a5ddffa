"""`scripts/check_fixes.py`: what `--fix` promises, held against whole projects."""

from __future__ import annotations

from pathlib import Path

import check_fixes
import pytest
from fakes import Tree

from devlint.fixes import Change

BEFORE = "# -*- coding: latin-1 -*-\r\nx = 1  # \xe9t\xe9\r\n".encode("latin-1")


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        (BEFORE, None),
        (BEFORE.replace(b"1  #", b"2  #"), None),
        (BEFORE.replace(b"1  #", b"(  #"), "does not compile"),
        (BEFORE.replace(b"  # \xe9t\xe9", b""), "comments lost: # \xe9t\xe9"),
        (BEFORE.replace(b"\r", b""), "has other line ends"),
        (BEFORE.replace(b"latin-1", b"utf-8").replace(b"\xe9", b"e"), "comments lost"),
        (BEFORE.replace(b"latin-1", b"cp1252"), "has another encoding"),
    ],
)
def test_what_a_file_has_lost(after: bytes, lost: str | None) -> None:
    found = "; ".join(check_fixes.broken(Change(Path("x.py"), BEFORE, after)))
    assert found == "" if lost is None else lost in found


def test_a_project_is_fixed_in_memory(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "import torch\n\nx = torch.zeros(3)\nx.cuda()  # there\n"
    root = tree({"a.py": text})
    monkeypatch.setattr("sys.argv", ["check_fixes.py", "--unsafe", str(root)])
    assert check_fixes.main() == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{root.name}: 1 files, 1 changed by 1 fixes, 0 failures, ")
    assert (root / "a.py").read_text() == text
