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

EXAMPLES = """\b
Examples:
  devlint check train.py --format json > findings.json
  devlint confirm findings.json --virtual cuda:2 -- python train.py --epochs 1
  devlint confirm --drive findings.json      with no program at hand
"""


@click.command(name="confirm", epilog=EXAMPLES)
@click.argument("findings", type=click.Path(allow_dash=True), metavar="FINDINGS.json")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--virtual", metavar="DEVICES", help="Run on virtual devices, such as cuda:2.")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="What the paths of the findings are relative to.  [default: the project]",
)
@click.option("--keep-going", is_flag=True, help="Let mixed-device operations pass, as noted.")
@click.option(
    "--drive",
    is_flag=True,
    help="Without a COMMAND: import the project and call its code with arguments that are made up.",
)
@click.option(
    "--witnesses",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where --drive keeps the scripts that show it.  [default: devlint-witnesses]",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="How long --drive may try for one finding.  [default: 60]",
)
@text_or_json
def command(
    findings: str,
    command: tuple[str, ...],
    virtual: str | None,
    root: Path | None,
    keep_going: bool,
    drive: bool,
    witnesses: Path | None,
    time_limit: float | None,
    form: str,
) -> None:
    """Run COMMAND under the guard, and say of each finding whether it really happens.

    FINDINGS.json is a report of `devlint check --format json`, `-` for standard input. Where there
    is no command, --drive calls the code of each finding itself, on virtual devices and in
    processes of their own.

    Exit codes: 1 an error-level finding was confirmed, else 0; 2 usage errors.
    """
    _refuse(command, drive, virtual, keep_going, witnesses, time_limit)
    runner = guard("drive.command" if drive else "commands.confirm")
    try:
        base = str(root or find_config(Path.cwd()).root)
        if drive:
            code = runner.run_drive(
                findings,
                witnesses=str(witnesses or "devlint-witnesses"),
                seconds=time_limit or 60.0,
                root=base,
                output_format=form,
                write=lambda text: emit(text, sys.stdout),
            )
        else:
            code = runner.run_confirm(
                findings,
                command,
                virtual=virtual,
                output_format=form,
                root=base,
                keep_going=keep_going,
                write=lambda text: emit(text, sys.stdout),
            )
    except OSError as error:
        if drive and error.filename and error.filename != findings:
            raise Refusal(f"{error.filename}: cannot be written: {error.strerror}") from None
        raise Refusal(f"{findings}: cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise Refusal(f"{findings}: is not JSON: {error}") from None
    except (ValueError, ConfigError) as error:
        raise Refusal(str(error)) from None
    sys.exit(code)


def _refuse(
    command: tuple[str, ...],
    drive: bool,
    virtual: str | None,
    keep_going: bool,
    witnesses: Path | None,
    time_limit: float | None,
) -> None:
    """What contradicts itself: a command and its absence, options of the other way."""
    if drive and command:
        raise click.UsageError("--drive is for findings without a COMMAND: give one of them")
    if drive and (virtual or keep_going):
        raise click.UsageError("--drive chooses the machine itself: no --virtual, no --keep-going")
    if not drive and (witnesses or time_limit):
        raise click.UsageError("--witnesses and --time-limit are options of --drive")
    if not drive and not command:
        raise click.UsageError("Missing argument 'COMMAND...'; or --drive, which needs none")
