"""`devlint rules`: the rules, for people or for programs."""

from __future__ import annotations

import sys

import click

from devlint.commands.options import color_option, text_or_json
from devlint.commands.settings import all_rules
from devlint.reporters import catalogue
from devlint.terminal import emit, wants_color

EXAMPLES = """\b
Examples:
  devlint rules
  devlint rules --format json
"""


@click.command(name="rules", epilog=EXAMPLES)
@text_or_json
@color_option
def command(form: str, color: str) -> None:
    """List the rules."""
    found = all_rules()
    if form == "json":
        emit(catalogue.rules_as_json(found), sys.stdout)
    else:
        emit(catalogue.rules_as_text(found, wants_color(color, sys.stdout)), sys.stdout)
