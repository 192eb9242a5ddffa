"""What configures the checks of an editor: its own settings, and the project's files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from editor import BUG, editing, environment
from fakes import Tree
from lsprotocol import types

from devlint.server.settings import Settings, configured, is_library, read_settings


@pytest.mark.asyncio
async def test_files_and_settings_that_change_count_at_once(tree: Tree) -> None:
    root = tree({"pyproject.toml": "[tool.devlint]\nignore = ['DEV102']\n"})
    uri = (root / "head.py").as_uri()
    changed = types.DidChangeWatchedFilesParams(
        [types.FileEvent((root / "pyproject.toml").as_uri(), types.FileChangeType.Changed)]
    )
    async with editing(root) as editor:
        client = editor.client
        editor.open(uri, BUG)
        assert await editor.diagnostics(uri) == []

        (root / "pyproject.toml").write_text("[tool.devlint]\n")
        client.workspace_did_change_watched_files(changed)
        await editor.until(lambda: editor.shown[uri].diagnostics)

        client.set_configuration({"devlint": {"ignore": ["DEV1"]}})
        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await editor.until(lambda: not editor.shown[uri].diagnostics)

        client.set_configuration({"devlint": {"enable": True}})
        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await editor.until(lambda: editor.shown[uri].diagnostics)

        (root / "pyproject.toml").write_text("[tool.devlint]\nselect = ['DEV999']\n")
        client.workspace_did_change_watched_files(changed)
        await editor.until(lambda: client.messages)
        assert "DEV999" in client.messages[-1].message

        (root / "pyproject.toml").write_text("[tool.devlint]\n")
        client.set_configuration({"devlint": {"enable": False}})
        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await editor.until(lambda: not editor.shown[uri].diagnostics)


def test_settings_are_read_and_what_is_wrong_is_said() -> None:
    given = {"select": ["DEV1"], "minConfidence": "possible", "delay": 50.0, "command": "x"}
    assert read_settings(given) == (
        Settings(select=("DEV1",), min_confidence="possible", delay=50),
        [],
    )
    assert read_settings({"devlint": given}) == read_settings(given)
    assert read_settings(None) == (Settings(), [])
    settings, wrong = read_settings(
        {"selct": [], "ignore": "DEV1", "enable": 1, "minConfidence": "sure", "delay": -1}
    )
    assert settings == Settings()
    assert [message.partition(" ")[0] for message in wrong] == [
        "there",
        "devlint.ignore",
        "devlint.enable",
        "devlint.delay",
        "devlint.minConfidence",
    ]
    assert "did you mean 'select'" in wrong[0]
    assert read_settings(["x"])[1]


def test_the_extension_and_the_page_have_every_setting_with_its_default() -> None:
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs/editors.md").read_text(encoding="utf-8")
    package = json.loads((root / "editors/vscode/package.json").read_text(encoding="utf-8"))
    properties = package["contributes"]["configuration"]["properties"]
    own = {"devlint.command", "devlint.trace.server"}  # of the extension alone
    defaults = {name: each["default"] for name, each in properties.items() if name not in own}
    settings, wrong = read_settings({n.removeprefix("devlint."): v for n, v in defaults.items()})
    assert wrong == [] and settings == Settings()
    assert len(defaults) == len(fields(Settings))
    for name in defaults:
        assert f"`{name.removeprefix('devlint.')}`" in page


def test_a_file_of_no_project_is_not_taken_to_be_of_the_whole_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root is searched for callers, and an editor may have been started anywhere."""
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "a.py"
    monkeypatch.chdir("/")
    assert configured(file, Settings(), ()).config.root == tmp_path / "folder"
    assert configured(file, Settings(), (tmp_path,)).config.root == tmp_path


def test_what_the_baseline_lists_is_not_shown(tree: Tree) -> None:
    root = tree(
        {
            "pyproject.toml": "[tool.devlint]\n",
            ".devlint-baseline": "a.py DEV102 0123456789abcdef\n",
        }
    )
    known = configured(root / "a.py", Settings(), (root,)).config.known
    assert known == frozenset({"0123456789abcdef"})


def test_installed_code_is_not_checked_unless_it_is_what_is_open() -> None:
    installed = Path("/venv/lib/site-packages/torch/nn/a.py")
    assert is_library(installed, ())
    assert is_library(installed, (Path("/project"),))
    assert not is_library(installed, (installed.parent,))


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['pygls'] = None; import devlint.cli as c; c.main()"
    done = subprocess.run(
        [sys.executable, "-c", blocked, "server"],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "Error: this command needs pygls 2 or newer: pip install 'devlint[lsp]'\n"
    )
