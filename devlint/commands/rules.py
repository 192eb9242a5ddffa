"""`devlint rules`: the rules, for people or for programs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from devlint.commands.options import color_option, config_option, text_or_json
from devlint.commands.settings import known_rules
from devlint.reporters import catalogue
from devlint.terminal import emit, wants_color

EXAMPLES = """\b
Examples:
  devlint rules
  devlint rules --format json
  devlint rules --config devlint.toml     those of its `rule-paths`, too
"""


@click.command(name="rules", epilog=EXAMPLES)
@text_or_json
@config_option
@color_option
def command(form: str, config_file: Path | None, color: str) -> None:
    """List the rules."""
    found = known_rules(config_file)
    if form == "json":
        emit(catalogue.rules_as_json(found), sys.stdout)
    else:
        emit(catalogue.rules_as_text(found, wants_color(color, sys.stdout)), sys.stdout)
