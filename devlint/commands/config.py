"""`devlint config`: the configuration in effect."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from devlint.commands.options import configuring, paths_argument
from devlint.commands.settings import configured, rules_for
from devlint.config import to_toml
from devlint.terminal import emit


@click.command(name="config")
@paths_argument
@configuring
def command(paths: tuple[Path, ...], **settings: Any) -> None:
    """Print the configuration in effect for PATHS, as TOML."""
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
