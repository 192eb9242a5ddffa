"""What a node holds is what its fields hold, of the kinds that are told by hand, too."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from devlint.inference.syntax.text import parts, parts_by_fields

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("devlint/inference/**/*.py"))[:60]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_parts_are_found_in_the_order_of_the_fields(file: Path) -> None:
    waiting: list[cst.CSTNode] = [cst.parse_module(file.read_text(encoding="utf-8"))]
    for node in waiting:  # grows on the way
        found = parts(node)
        assert list(map(id, found)) == list(map(id, parts_by_fields(type(node))(node)))
        waiting += found
