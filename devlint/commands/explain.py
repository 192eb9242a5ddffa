"""`devlint explain`: the page of a rule."""

from __future__ import annotations

import sys

import click

from devlint.commands.options import Refusal, color_option
from devlint.commands.settings import all_rules
from devlint.reporters import catalogue
from devlint.rules import find_rule, hint
from devlint.terminal import emit, wants_color


@click.command(name="explain")
@click.argument("rule")
@color_option
def command(rule: str, color: str) -> None:
    """Explain a RULE, by its code or name: what, why, examples, limits."""
    every = all_rules()
    found = find_rule(every, rule)
    if found is None:
        raise Refusal(f"there is no rule {rule!r}{hint(rule, every)}")
    emit(catalogue.explanation(found, wants_color(color, sys.stdout)), sys.stdout)
