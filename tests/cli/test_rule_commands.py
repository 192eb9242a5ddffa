"""`devlint rules`, `devlint explain` and `devlint config`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from fakes import Tree

from devlint.cli import main
from devlint.config import OPTIONS

HOUSE = """\
from devlint.findings import Severity
from devlint.rule import Rule

RULE = Rule("HOUSE1", "no-tolist", Severity.WARNING, "s", "w", "y", "", (), (), lambda facts: ())
"""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_rules_one_a_line() -> None:
    lines = run("rules").splitlines()
    assert lines[0].startswith("DEV001  unused-suppression")
    assert any(line.split()[:3] == ["DEV303", "sync-in-loop", "performance"] for line in lines)


def test_rules_as_json_hold_every_text() -> None:
    by_code = {rule["code"]: rule for rule in json.loads(run("rules", "--format", "json"))}
    rule = by_code["DEV102"]
    assert rule["name"] == "cpu-tensor-meets-module-device"
    assert rule["severity"] == "error"
    assert all(rule[key] for key in ("summary", "what", "why", "bad", "good", "reference"))


@pytest.mark.parametrize("name", ["DEV102", "dev102", "cpu-tensor-meets-module-device"])
def test_explain(name: str) -> None:
    text = run("explain", name)
    assert text.startswith("# cpu-tensor-meets-module-device (DEV102)\n")
    for section in ("What it does", "Why is this bad?", "Example", "Use instead", "Reference"):
        assert f"\n## {section}\n" in text
    assert "```python\nimport torch" in text
    assert "# devlint: ignore[DEV102] -- reason" in text
    assert "\x1b[" not in text


def test_rules_of_a_named_configuration_are_listed_and_explained(tree: Tree) -> None:
    root: Path = tree({"d.toml": 'rule-paths = ["house.py"]\n', "house.py": HOUSE})
    config = str(root / "d.toml")
    assert "HOUSE1" in run("rules", "--config", config)
    assert run("explain", "no-tolist", "--config", config).startswith("# no-tolist (HOUSE1)\n")
    assert "HOUSE1" not in run("rules")


def test_a_command_that_is_misspelt_gets_a_hint() -> None:
    result = CliRunner().invoke(main, ["chek"])
    assert (result.exit_code, "Did you mean 'check'?" in result.stderr) == (2, True)


def test_config_prints_what_is_in_effect(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root: Path = tree({"pyproject.toml": '[tool.devlint]\nignore = ["DEV5"]\n'})
    monkeypatch.chdir(root)
    text = run("config", "--ignore", "DEV3", "--fail-on", "never")
    assert f"# {root / 'pyproject.toml'}" in text
    assert 'ignore = ["DEV5", "DEV3"]' in text
    assert 'fail-on = "never"' in text
    listed = {line.split(" = ")[0] for line in text.splitlines() if " = " in line}
    # by default nothing is said of these
    unset = {"select", "severity", "assume", "overrides", "jobs", "target-torch"}
    assert listed >= set(OPTIONS) - unset


def commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_every_command_and_option_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert len(commands()) > 10
    for name, command in commands().items():
        assert f"\n## `devlint {name}" in page, name
        for parameter in command.params:
            if getattr(parameter, "hidden", False):
                continue
            for option in (o for o in parameter.opts if o.startswith("--") and o != "--help"):
                assert re.search(rf"[`\[ ]{option}[`\] ]", page), f"{name} {option}"


@pytest.mark.parametrize("name", ["", *commands()])
def test_help_ends_with_examples(name: str) -> None:
    shown = run(*filter(None, [name]), "--help")
    examples = shown.partition("Examples:\n")[2].strip().splitlines()
    assert examples and all(line.strip().startswith("devlint ") for line in examples)
