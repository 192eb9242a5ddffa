"""The example of docs/knowledge.md does what the page says."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "knowledge.md"


def test_the_example_of_a_users_file(tmp_path: pathlib.Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    project, knowledge = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[:2]
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    (tmp_path / "our_api.toml").write_text(knowledge, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "devlint", "check", "--format", "json", "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules")))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 1, checked.stderr
    found = {(each["line"], each["rule"]) for each in json.loads(checked.stdout)["findings"]}
    lines = program.splitlines()
    said = {
        (number, match[1])
        for number, line in enumerate(lines, start=1)
        if (match := re.search(r"# (DEV\d+)", line))
    }
    assert found == said == {(7, "DEV101"), (8, "DEV401"), (12, "DEV103")}
