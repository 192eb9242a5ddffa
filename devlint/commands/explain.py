"""`devlint explain`: the page of a rule."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from devlint.commands.options import Refusal, color_option, config_option
from devlint.commands.settings import known_rules
from devlint.reporters import assumptions, catalogue
from devlint.rules import find_rule
from devlint.suggestions import hint
from devlint.terminal import emit, wants_color

EXAMPLES = """\b
Examples:
  devlint explain DEV102
  devlint explain discarded-move
  devlint explain --assumptions
"""


@click.command(name="explain", epilog=EXAMPLES)
@click.argument("rule", required=False)
@click.option(
    "--assumptions", "of_assumptions", is_flag=True,
    help="List the kinds of assumptions that findings rest on.",
)  # fmt: skip
@config_option
@color_option
def command(rule: str | None, of_assumptions: bool, config_file: Path | None, color: str) -> None:
    """Explain a RULE, by its code or name: what, why, examples, limits."""
    if of_assumptions == (rule is not None):
        raise click.UsageError("explain takes a RULE or --assumptions")
    if rule is None:
        emit(assumptions.listing(wants_color(color, sys.stdout)), sys.stdout)
        return
    every = known_rules(config_file)
    found = find_rule(every, rule)
    if found is None:
        raise Refusal(f"there is no rule {rule!r}{hint(rule, every)}")
    emit(catalogue.explanation(found, wants_color(color, sys.stdout)), sys.stdout)
