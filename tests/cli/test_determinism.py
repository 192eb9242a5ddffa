"""The same report for any order of arguments and any hash seed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("teaching", "projects/classifier")


def report(root: Path, seed: int, *paths: str) -> dict[str, object]:
    result = subprocess.run(
        [sys.executable, "-m", "devlint", "check", "--format", "json",
         "--min-confidence", "possible", "--no-cache", *paths],
        cwd=root,
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


def test_neither_the_hash_seed_nor_the_order_of_arguments_matters(tmp_path: Path) -> None:
    for folder in FOLDERS:  # where no thousand other files could call theirs
        shutil.copytree(ROOT / "fixtures" / folder, tmp_path / folder)
    files = sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.py"))
    first = report(tmp_path, 0, *files)
    assert first["findings"] and first["files"] == len(files)
    assert report(tmp_path, 1, *reversed(files)) == first
    assert report(tmp_path, 2, *FOLDERS) == first
