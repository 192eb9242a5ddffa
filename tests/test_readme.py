"""The README is true: its commands, its example of output, its configuration, table and links."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python

from devlint.config import find_config
from devlint.rules import OWN_RULES, load_rules
from devlint.selection import validate

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")


def blocks(language: str) -> list[str]:
    """The README's fenced blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_first_command_prints_what_the_readme_shows_and_exits_with_1() -> None:
    setup, _, arguments = blocks("sh")[0].strip().rpartition(".venv/bin/devlint ")
    assert setup == "python3 -m venv .venv && .venv/bin/pip install -q . && "
    command = [sys.executable, "-m", "devlint", *arguments.split()]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert blocks("text")[0] in result.stdout


def test_the_second_command_is_what_ci_runs() -> None:
    command = blocks("sh")[1].strip()
    assert (ROOT / command.split()[1]).is_file()
    assert (ROOT / ".ci/run").read_text().endswith(f"exec {command}\n")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="operands have no text there")
def test_the_guarded_test_fails_with_the_message_shown(tmp_path: Path) -> None:
    (tmp_path / "test_head.py").write_text(blocks("python")[0])
    command = [sys.executable, "-m", "pytest", "-q", "--device-guard", "test_head.py"]
    result = warm_python.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1, result.stdout + result.stderr
    assert blocks("text")[1] in result.stdout


def test_the_hook_exists() -> None:
    assert "- id: devlint" in blocks("yaml")[0]
    assert "- id: devlint" in (ROOT / ".pre-commit-hooks.yaml").read_text()


def test_the_configuration_shown_is_a_valid_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(blocks("toml")[0])
    config = find_config(tmp_path)
    assert config.overrides
    for where, selectors in config.selectors():
        validate(selectors, load_rules(), where)


def test_the_table_has_every_rule_with_its_name_severity_and_summary() -> None:
    rows = [line for line in README.splitlines() if line.startswith("| [DEV")]
    assert rows == [
        f"| [{rule.code}](docs/rules/{rule.code}.md) | {rule.name} | {rule.severity.value} "
        f"| {rule.summary.removesuffix('.')} |"
        for rule in load_rules()
        if rule not in OWN_RULES
    ]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    missing = [
        link for link in links if "://" not in link and not ((ROOT / page).parent / link).exists()
    ]
    assert missing == []
