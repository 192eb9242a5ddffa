"""`devlint confirm`: findings held against a real run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from devlint.commands.guard import guard
from devlint.commands.options import Refusal, text_or_json
from devlint.config import ConfigError, find_config
from devlint.terminal import emit


@click.command(name="confirm")
@click.argument("findings", type=click.Path(allow_dash=True), metavar="FINDINGS.json")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--virtual", metavar="DEVICES", help="Run on virtual devices, such as cuda:2.")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="What the paths of the findings are relative to.  [default: the project]",
)
@click.option("--keep-going", is_flag=True, help="Let mixed-device operations pass, as noted.")
@text_or_json
def command(
    findings: str,
    command: tuple[str, ...],
    virtual: str | None,
    root: Path | None,
    keep_going: bool,
    form: str,
) -> None:
    """Run COMMAND under the guard, and say of each finding whether it really happens.

    FINDINGS.json is a report of `devlint check --format json`, `-` for standard input. For example:
    devlint confirm findings.json --virtual cuda:2 -- python train.py --epochs 1

    Exit codes: 1 an error-level finding was confirmed, else 0; 2 usage errors.
    """
    runner = guard("commands.confirm")
    try:
        code = runner.run_confirm(
            findings,
            command,
            virtual=virtual,
            output_format=form,
            root=str(root or find_config(Path.cwd()).root),
            keep_going=keep_going,
            write=lambda text: emit(text, sys.stdout),
        )
    except OSError as error:
        raise Refusal(f"{findings}: cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise Refusal(f"{findings}: is not JSON: {error}") from None
    except (ValueError, ConfigError) as error:
        raise Refusal(str(error)) from None
    sys.exit(code)
