"""`devlint baseline`: the findings that were there before, kept in a file and not reported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from devlint import engine
from devlint.baseline import BaselineError, Entry, entry_of, read_baseline, write_baseline
from devlint.commands.known import stale
from devlint.commands.messages import errors_of
from devlint.commands.options import UNCHECKED, Refusal, configuring, paths_argument
from devlint.commands.settings import configured, configured_paths, rules_for, with_jobs
from devlint.knowledge import KnowledgeError
from devlint.reporters.wording import plural
from devlint.terminal import emit, show

EXAMPLES = """\b
Examples:
  devlint baseline create         write .devlint-baseline; then commit it
  devlint check                   reports what is not in it
  devlint baseline prune          after repairs: remove what is found no more
  devlint check --error-on-stale  fails until it is pruned
"""


@click.group(name="baseline", epilog=EXAMPLES)
def command() -> None:
    """Keep the findings that are there today in a file, and let `check` report new ones only."""


def _verb(name: str) -> Callable[[Any], Any]:
    file = click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The file.  [default: the configured one, else .devlint-baseline in the project]",
    )

    def decorate(work: Any) -> Any:
        return command.command(name)(paths_argument(file(configuring(work))))

    return decorate


@_verb("create")
def create(paths: tuple[Path, ...], baseline: Path | None, **settings: Any) -> None:
    """Write all findings of today to a new baseline."""
    _work("create", paths, baseline, settings)


@_verb("update")
def update(paths: tuple[Path, ...], baseline: Path | None, **settings: Any) -> None:
    """Make the baseline what is found today: add new findings, remove those found no more."""
    _work("update", paths, baseline, settings)


@_verb("prune")
def prune(paths: tuple[Path, ...], baseline: Path | None, **settings: Any) -> None:
    """Remove from the baseline what is found no more."""
    _work("prune", paths, baseline, settings)


def _work(verb: str, paths: tuple[Path, ...], baseline: Path | None, settings: Any) -> None:
    absolute = [Path(os.path.abspath(path)) for path in paths]
    config = with_jobs(configured(absolute, settings))
    rules = rules_for(config)
    file = Path(os.path.abspath(baseline)) if baseline else config.baseline_file()
    before: frozenset[Entry] = frozenset()
    if verb == "create" and os.path.lexists(file):
        raise Refusal(f"{file} is there already: `devlint baseline update` renews it")
    try:
        if verb != "create":
            before = read_baseline(file)
        known = replace(config, known=frozenset(entry.fingerprint for entry in before))
        report = engine.check(
            absolute or configured_paths(config), known, rules, cache=config.cache_folder()
        )
    except (BaselineError, KnowledgeError) as error:
        raise Refusal(str(error)) from None
    gone = set(stale(report, before, config, rules))
    added = set() if verb == "prune" else {entry_of(finding) for finding in report.findings}
    after = (before - gone) | added
    try:
        write_baseline(file, after)
    except OSError as error:
        raise Refusal(f"{file}: cannot be written: {error.strerror}") from None
    said = f"{plural(len(after), 'finding')} in {show(os.path.relpath(file))}"
    emit(f"{said}: {len(added)} added, {len(gone)} removed\n", sys.stdout)
    emit(errors_of(report), sys.stderr)
    sys.exit(UNCHECKED if report.errors else 0)
