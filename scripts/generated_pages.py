"""Pages that scripts write: kept as they are wanted, or said to be stale."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def update(wanted: Mapping[Path, str], script: str, arguments: list[str]) -> int:
    """Write the pages that are missing or differ. With `--check` only name them, and return 1."""
    stale = 0
    for file, text in wanted.items():
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        if "--check" in arguments:
            print(f"{file.relative_to(ROOT)} is stale: run scripts/{script}")
            stale = 1
        else:
            file.write_text(text, encoding="utf-8")
    return stale
