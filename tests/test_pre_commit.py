"""The pre-commit hook, with the real `pre-commit`: a bad commit is refused, a good one passes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "*.egg-info"
)

BAD = """\
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def forward(self, x):
        return self.proj(x) + torch.zeros(8)
"""
GOOD = BAD.replace("torch.zeros(8)", "torch.zeros(8, device=x.device)")


@dataclass(frozen=True)
class Repository:
    """A git repository under test, apart from the tests' own settings and hooks."""

    path: Path
    hooks: Path

    def environment(self) -> dict[str, str]:
        """Without what a surrounding `git commit` or `PYTHONPATH` would bring in."""
        outside = ("GIT_", "PYTHON")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(outside)}
        tools = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        return kept | {
            "PATH": tools,
            "PRE_COMMIT_HOME": str(self.hooks),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
        }  # fmt: skip

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """The command's result, its two outputs together."""
        return subprocess.run(
            command,
            cwd=self.path,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def must(self, *command: str) -> str:
        result = self.run(*command)
        assert result.returncode == 0, result.stdout
        return result.stdout.strip()


@pytest.fixture(scope="module")
def devlint(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """This repository as it stands in the working tree, committed."""
    home = tmp_path_factory.mktemp("devlint")
    shutil.copytree(ROOT, home / "devlint", ignore=NOT_SOURCE)
    repository = Repository(home / "devlint", home / "hooks")
    repository.must("git", "init", "-q")
    repository.must("git", "add", "--all")
    repository.must("git", "commit", "-q", "-m", "As it stands")
    return repository


@pytest.fixture
def project(devlint: Repository, tmp_path: Path) -> Repository:
    """A user's repository with the hook installed."""
    repository = Repository(tmp_path / "project", devlint.hooks)
    repository.path.mkdir()
    repository.must("git", "init", "-q")
    revision = devlint.must("git", "rev-parse", "HEAD")
    (repository.path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {devlint.path}\n  rev: {revision}\n  hooks:\n  - id: devlint\n"
    )
    repository.must("pre-commit", "install")
    return repository


def commit(repository: Repository, **files: str) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        (repository.path / f"{name}.py").write_text(text)
    repository.must("git", "add", "--all")
    return repository.run("git", "commit", "-m", "A change")


def commits(repository: Repository) -> int:
    result = repository.run("git", "rev-list", "--count", "HEAD")
    return int(result.stdout) if result.returncode == 0 else 0


def test_a_bad_commit_is_refused_and_a_good_one_passes(project: Repository) -> None:
    refused = commit(project, head=BAD)
    assert refused.returncode == 1
    assert "DEV102" in refused.stdout and "head.py" in refused.stdout
    assert commits(project) == 0

    passed = commit(project, head=GOOD)
    assert passed.returncode == 0, passed.stdout
    assert "Passed" in passed.stdout
    assert commits(project) == 1


def test_a_suppressed_finding_passes(project: Repository) -> None:
    suppressed = BAD.replace(
        "+ torch.zeros(8)",
        "+ torch.zeros(8)  # devlint: ignore[DEV102] -- only ever run on the CPU",
    )
    passed = commit(project, head=suppressed)
    assert passed.returncode == 0, passed.stdout


def test_the_projects_configuration_is_read(project: Repository) -> None:
    (project.path / "pyproject.toml").write_text('[tool.devlint]\nignore = ["DEV102"]\n')
    passed = commit(project, head=BAD)
    assert passed.returncode == 0, passed.stdout


def test_an_excluded_file_is_left_alone_although_pre_commit_names_it(project: Repository) -> None:
    (project.path / "pyproject.toml").write_text('[tool.devlint]\nexclude = ["vendored"]\n')
    (project.path / "vendored").mkdir()
    (project.path / "vendored/head.py").write_text(BAD)
    passed = commit(project, head=GOOD)
    assert passed.returncode == 0, passed.stdout


def test_a_file_that_cannot_be_parsed_is_refused(project: Repository) -> None:
    refused = commit(project, broken="def f(:\n", head=GOOD)
    assert refused.returncode == 1
    assert "broken.py" in refused.stdout
    assert "Traceback" not in refused.stdout


def test_a_commit_without_python_does_not_run_the_hook(project: Repository) -> None:
    (project.path / "notes.txt").write_text("x = torch.zeros(3).cuda() + torch.ones(3)\n")
    passed = commit(project)
    assert passed.returncode == 0, passed.stdout
    assert "Skipped" in passed.stdout


def test_the_hooks_environment_has_libcst_and_click_and_no_torch(project: Repository) -> None:
    assert commit(project, head=GOOD).returncode == 0
    (python,) = project.hooks.glob("repo*/py_env-*/bin/python")
    listed = project.must(
        str(python), "-c",
        "import importlib.metadata as m, json;"
        "print(json.dumps([d.metadata['Name'].lower() for d in m.distributions()]))",
    )  # fmt: skip
    allowed = {"devlint", "libcst", "click", "tomli", "pyyaml", "pyyaml-ft", "pip", "setuptools"}
    assert {"devlint", "libcst", "click"} <= set(json.loads(listed)) <= allowed | {"wheel"}


def test_try_repo_takes_a_working_tree_with_uncommitted_changes(
    devlint: Repository, tmp_path: Path
) -> None:
    """As a contributor tries a change: the version in the tree runs, not the committed one."""
    changed = Repository(tmp_path / "devlint", tmp_path / "hooks")
    devlint.must("git", "clone", "-q", str(devlint.path), str(changed.path))
    package = changed.path / "devlint/__init__.py"
    package.write_text(package.read_text() + '\nprint("the uncommitted version")\n')

    project = Repository(tmp_path / "project", tmp_path / "hooks")
    project.path.mkdir()
    project.must("git", "init", "-q")
    (project.path / "head.py").write_text(BAD)
    project.must("git", "add", "--all")
    tried = project.run("pre-commit", "try-repo", str(changed.path), "devlint", "--all-files")
    assert tried.returncode == 1
    assert "the uncommitted version" in tried.stdout
    assert "DEV102" in tried.stdout
