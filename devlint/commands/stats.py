"""`devlint stats`: how many findings there are, of which kinds, where, and what it takes to fix
them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from devlint import engine
from devlint.commands.known import baseline_of
from devlint.commands.messages import errors_of
from devlint.commands.options import UNCHECKED, Refusal, configuring, paths_argument, text_or_json
from devlint.commands.settings import configured, configured_paths, rules_for, with_jobs
from devlint.knowledge import KnowledgeError
from devlint.statistics import as_object, as_text, count
from devlint.terminal import emit

EXAMPLES = """\b
Examples:
  devlint stats                   the project, also what the baseline lists
  devlint stats src --depth 3     by folders three deep
  devlint stats --format json
"""


@click.command(name="stats", epilog=EXAMPLES)
@paths_argument
@configuring
@click.option("--depth", default=2, show_default=True, help="Of the folders that are told apart.")
@text_or_json
def command(paths: tuple[Path, ...], depth: int, form: str, **settings: Any) -> None:
    """Count the findings of PATHS by rule, folder, confidence and fix, also those in the baseline.

    Exit codes: 0, 2 usage or configuration errors, 3 some file could not be checked.
    """
    absolute = [Path(os.path.abspath(path)) for path in paths]
    config = with_jobs(configured(absolute, settings))
    rules = rules_for(config)
    entries = baseline_of(config, None, False)
    try:
        report = engine.check(
            absolute or configured_paths(config), config, rules, cache=config.cache_folder()
        )
    except KnowledgeError as error:
        raise Refusal(str(error)) from None
    known = frozenset(entry.fingerprint for entry in entries)
    tables = count(report, max(depth, 1), known)
    if form == "json":
        emit(json.dumps(as_object(tables), indent=2) + "\n", sys.stdout)
    else:
        emit(as_text(tables), sys.stdout)
    emit(errors_of(report), sys.stderr)
    sys.exit(UNCHECKED if report.errors else 0)
