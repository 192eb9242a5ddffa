"""The examples of docs/contracts.md do what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("name", "program"), PROGRAMS[:2])
def test_the_check_finds_what_the_comments_say(name: str, program: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "devlint", "check", "--format", "json", name]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules")))}
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    found = [(each["line"], each["rule"]) for each in json.loads(ran.stdout)["findings"]]
    said = [
        (number, match[1])
        for number, line in enumerate(program.splitlines(), start=1)
        if (match := re.search(r"# (DEV\d+)", line))
    ]
    assert found == said and len(said) == 2


def test_the_guard_says_what_the_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    for name, program in (PROGRAMS[0], PROGRAMS[2]):
        (tmp_path / name).write_text(f"# {name}\n{program}", encoding="utf-8")
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = warm_python.run(
        [sys.executable, name], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert shown in ran.stderr
