"""The files for CI and shells: valid by the schemas of those who read them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.gitlab-ci", "docs/ci/gitlab-ci.yml"),
        ("vendor.gitlab-ci", "docs/ci/gitlab-shards.yml"),
        ("vendor.github-workflows", "docs/ci/github-shards.yml"),
        *(("vendor.github-workflows", str(file)) for file in WORKFLOWS),
    ],
)
def test_it_is_valid(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_runs_check_with_its_inputs(tmp_path: Path) -> None:
    """The script of the action, with a `devlint` that says what it was given."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    program = tmp_path / "devlint"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", action["runs"]["steps"][1]["run"]],
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "ARGUMENTS": "src $(touch owned) --quiet",
            "SARIF": "a b.sarif",
            "SUMMARY": "true",
            "GITHUB_STEP_SUMMARY": "/tmp/summary",
        },
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "check", "--format", "github", "--output", "sarif=a b.sarif",
        "--output", "markdown=/tmp/summary", "src", "$(touch", "owned)", "--quiet",
    ]  # fmt: skip
    assert not (tmp_path / "owned").exists()


def test_the_command_of_the_megalinter_plugin_runs_and_its_errors_are_counted(
    tmp_path: Path,
) -> None:
    """The command as MegaLinter makes it of the descriptor, with a configuration and SARIF."""
    yaml = pytest.importorskip("yaml")
    (file,) = (ROOT / "mega-linter-plugin-devlint").iterdir()
    assert file.name.endswith(".megalinter-descriptor.yml")  # MegaLinter takes no other
    (linter,) = yaml.safe_load(file.read_text())["linters"]
    (tmp_path / linter["config_file_name"]).write_text('ignore = ["DEV5"]\n')
    (tmp_path / "x.py").write_text("import torch\n\nx = torch.ones(1).cuda() + torch.ones(2)\n")
    sarif = [
        part.replace("{{SARIF_OUTPUT_FILE}}", "out.sarif") for part in linter["cli_sarif_args"]
    ]
    configured = [linter["cli_config_arg_name"], linter["config_file_name"]]
    command = [*linter["cli_lint_extra_args"], *sarif, *configured]
    done = subprocess.run(
        [sys.executable, "-m", "devlint", *command],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'rules'}"},
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1 and not done.stderr
    assert linter["cli_lint_errors_count"] == "regex_sum"
    assert sum(map(int, re.findall(linter["cli_lint_errors_regex"], done.stdout))) == 1
    assert len(json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell: str) -> None:
    command = [sys.executable, "-c", "from devlint.cli import main; main(prog_name='devlint')"]
    words = {"COMP_WORDS": "devlint ch", "COMP_CWORD": "1" if shell != "fish" else "ch"}
    variables = {**os.environ, **words, "_DEVLINT_COMPLETE": f"{shell}_complete"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, cwd=ROOT)
    assert "check" in done.stdout and "explain" not in done.stdout


def test_the_help_of_check_has_examples() -> None:
    command = [sys.executable, "-m", "devlint", "check", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    assert "  devlint check train.py --fix         repair what is safe to repair\n" in shown
