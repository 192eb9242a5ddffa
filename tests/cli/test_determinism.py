"""The same report for any order of arguments and any hash seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("fixtures/teaching", "fixtures/projects/classifier")


def report(seed: int, *paths: str) -> dict[str, object]:
    result = subprocess.run(
        [sys.executable, "-m", "devlint", "check", "--format", "json",
         "--min-confidence", "possible", *paths],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONHASHSEED": str(seed),
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules"))),
        },
        capture_output=True,
        text=True,
    )  # fmt: skip
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_neither_the_hash_seed_nor_the_order_of_arguments_matters() -> None:
    files = sorted(
        file.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
    )
    first = report(0, *files)
    assert first["findings"] and first["files"] == len(files)
    assert report(1, *reversed(files)) == first
    assert report(2, *FOLDERS) == first
