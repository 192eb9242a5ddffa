"""The commands: what they take, what they print, and how they exit.

Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage or configuration errors, 3 some
file could not be checked.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devlint import __version__

if TYPE_CHECKING:
    from devlint.config import Config
    from devlint.engine import Report
    from devlint.rule import Rule

FINDINGS, USAGE, UNCHECKED = 1, 2, 3
STDIN = Path("-")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", "-V", message="devlint %(version)s")
def main() -> None:
    """Find device-placement bugs in PyTorch code."""


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Selectors may be given comma-separated, repeatedly, or both."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--select", multiple=True, callback=_codes)
@click.option("--extend-select", multiple=True, callback=_codes)
@click.option("--ignore", multiple=True, callback=_codes)
@click.option("--fail-on", type=click.Choice(["error", "warning", "performance", "never"]))
@click.option("--min-confidence", type=click.Choice(["certain", "likely", "possible"]))
@click.option("--exclude", multiple=True)
@click.option("--config", "config_file", type=click.Path(path_type=Path))
@click.option("--stdin-filename", type=click.Path(path_type=Path))
def check(
    paths: tuple[Path, ...],
    form: str,
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    min_confidence: str | None,
    exclude: tuple[str, ...],
    config_file: Path | None,
    stdin_filename: Path | None,
) -> None:
    """Check files and directories; without PATHS, the project."""
    from devlint import engine
    from devlint.config import NEVER
    from devlint.findings import Confidence, Severity
    from devlint.knowledge import KnowledgeError
    from devlint.selection import Layer

    stdin = None
    if STDIN in paths:
        if len(paths) > 1:
            raise click.UsageError("`-` (standard input) cannot be checked along with paths")
        name = Path(os.path.abspath(stdin_filename or "<stdin>"))
        stdin = name, sys.stdin.buffer.read()
    absolute = [Path(os.path.abspath(path)) for path in paths if path != STDIN]
    for given, path in zip(paths, absolute, strict=False):
        if not os.path.lexists(path):
            raise click.UsageError(f"there is no file or directory {str(given)!r}")
    config = _config(absolute or ([stdin[0].parent] if stdin else []), config_file)
    if fail_on is not None:
        config = replace(config, fail_on=None if fail_on == NEVER else Severity(fail_on))
    if min_confidence is not None:
        config = replace(config, min_confidence=Confidence(min_confidence))
    config = replace(
        config,
        extend_exclude=(*config.extend_exclude, *exclude),
        command_line=Layer(select or None, extend_select, ignore),
    )
    rules = _rules(config)
    to_check = absolute or [config.root / path for path in config.paths]
    try:
        report = engine.check(to_check, config, rules, stdin=stdin)
    except KnowledgeError as error:
        raise click.UsageError(str(error)) from None
    from devlint.reporters import json, text

    render = json.render if form == "json" else text.render
    click.echo(render(report), nl=False)
    sys.exit(_exit_code(report, config))


def _config(paths: list[Path], file: Path | None) -> Config:
    from devlint.config import ConfigError, find_config

    directories = [path if path.is_dir() else path.parent for path in paths]
    start = Path(os.path.commonpath(directories)) if directories else Path.cwd()
    try:
        return find_config(start, Path(os.path.abspath(file)) if file else None)
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def _rules(config: Config) -> tuple[Rule, ...]:
    """Every rule installed, after the selectors are found to mean some of them."""
    from devlint.rules import RulePackError, load_rules
    from devlint.selection import SelectionError, validate

    try:
        rules = load_rules()
        for where, selectors in config.selectors():
            validate(selectors, rules, where)
    except (RulePackError, SelectionError) as error:
        raise click.UsageError(str(error)) from None
    return rules


def _exit_code(report: Report, config: Config) -> int:
    if report.errors:
        return UNCHECKED
    fail_on = config.fail_on
    if fail_on and any(found.severity.rank >= fail_on.rank for found in report.findings):
        return FINDINGS
    return 0
