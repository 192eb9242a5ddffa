"""`devlint init`: configuration, hook and baseline for a project, after asking."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from devlint import engine
from devlint.atomic_files import write_whole
from devlint.baseline import USUAL_NAME, entry_of, write_baseline
from devlint.commands.options import Refusal
from devlint.commands.settings import all_rules, with_jobs
from devlint.config import Config, ConfigError, find_config
from devlint.knowledge import KnowledgeError
from devlint.project_setup import HOOKS, configuration_text, look_at, with_hook
from devlint.reporters.wording import plural, tally
from devlint.terminal import emit, show

EXAMPLES = """\b
Examples:
  devlint init            look at the project, and ask before each file
  devlint init --yes      the same without asking
"""


@click.command(name="init", epilog=EXAMPLES)
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--yes", "-y", is_flag=True, help="Do all of it without asking.")
def command(folder: Path, yes: bool) -> None:
    """Set devlint up for the project in FOLDER: configuration, pre-commit hook, baseline.

    Each file is shown before it is written, and nothing is written over: what is there is kept or
    added to.
    """
    if not yes and not sys.stdin.isatty():
        raise Refusal("nobody can be asked here: `devlint init --yes` does without")
    root = Path(os.path.abspath(folder))
    try:
        config = find_config(root)
    except ConfigError as error:
        raise Refusal(str(error)) from None
    if config.file is not None and config.root == root:
        _say(f"{_name(config.file)} configures devlint already.")
    else:
        config = _configure(root, yes) or config
    if (root / ".git").exists():
        _hook(root, yes)
    _baseline(config, yes)


def _configure(root: Path, yes: bool) -> Config | None:
    layout = look_at(root)
    _say(f"{plural(layout.files, 'Python file')}, {layout.with_torch} of them with PyTorch.")
    file = root / "pyproject.toml"
    before = _read(file)
    if before is None:
        file, before = root / "devlint.toml", ""
    text = configuration_text(layout, is_table=file.name == "pyproject.toml")
    added = f"\n{text}" if before else text
    if before and not before.endswith("\n"):
        added = f"\n{added}"
    if not _agreed(f"Add to {_name(file)}:", text, yes):
        return None
    _write(file, before + added)
    try:
        return find_config(root)
    except ConfigError as error:  # a pyproject.toml to which nothing can be added
        _write(file, before)
        raise Refusal(f"{_name(file)} is as it was: {error}") from None


def _hook(root: Path, yes: bool) -> None:
    file = root / HOOKS
    before = _read(file)
    if before is not None and "devlint" in before:
        _say(f"{_name(file)} has a hook of devlint already.")
        return
    after, added = with_hook(before or "")
    if after is None:
        _say(f"Add to {_name(file)} yourself, under `repos:`:\n\n{added}")
    elif _agreed(f"Add to {_name(file)}:", added, yes):
        _write(file, after)


def _baseline(config: Config, yes: bool) -> None:
    file = config.root / USUAL_NAME
    if file.exists():
        _say(f"{_name(file)} is there already.")
        return
    try:
        paths = [config.root / path for path in config.paths]
        report = engine.check(paths, with_jobs(config), all_rules())
    except KnowledgeError as error:
        raise Refusal(str(error)) from None
    found = tally(report.findings)
    if not found:
        _say("Nothing is found today: no baseline is needed.")
    elif _agreed(
        f"Found {found}. Write them to {_name(file)}, so that only new ones count?", "", yes
    ):
        try:
            write_baseline(file, map(entry_of, report.findings))
        except OSError as error:
            raise Refusal(f"{file}: cannot be written: {error.strerror}") from None
    _say("Done: `devlint check` checks the project.")


def _agreed(question: str, text: str, yes: bool) -> bool:
    shown = "".join(f"    {line}\n" for line in text.splitlines())
    emit(f"{show(question)}\n{shown}", sys.stdout)
    return yes or click.confirm("OK?", default=True)


def _say(text: str) -> None:
    emit(f"{text}\n", sys.stdout)


def _name(file: Path) -> str:
    return show(os.path.relpath(file))


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: cannot be read: {error}") from None


def _write(file: Path, text: str) -> None:
    try:
        write_whole(file, text.encode("utf-8"))
    except OSError as error:
        raise Refusal(f"{file}: cannot be written: {error.strerror}") from None
