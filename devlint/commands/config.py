"""`devlint config`: the configuration in effect."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from devlint.commands.options import configuring, paths_argument
from devlint.commands.settings import configured, rules_for
from devlint.config import to_toml
from devlint.schema import configuration_schema
from devlint.terminal import emit

EXAMPLES = """\b
Examples:
  devlint config                what is in effect, and from which file
  devlint config tests/a.py     what is in effect for that file's project
  devlint config --schema       for an editor that completes and checks it
"""


@click.command(name="config", epilog=EXAMPLES)
@paths_argument
@click.option("--schema", is_flag=True, help="Print the JSON schema of the configuration.")
@configuring
def command(paths: tuple[Path, ...], schema: bool, **settings: Any) -> None:
    """Print the configuration in effect for PATHS, as TOML."""
    if schema:
        emit(json.dumps(configuration_schema(), indent=2) + "\n", sys.stdout)
        return
    config = configured([Path(os.path.abspath(path)) for path in paths], settings)
    rules_for(config)  # for what it refuses
    layer = config.command_line
    config = replace(
        config,
        select=layer.select or config.select,
        extend_select=(*config.extend_select, *layer.extend_select),
        ignore=(*config.ignore, *layer.ignore),
    )
    origin = config.file or "no configuration file: the defaults"
    emit(f"# {origin}\n# project root: {config.root}\n{to_toml(config)}", sys.stdout)
