"""`devlint run`: a program under the runtime guard."""

from __future__ import annotations

import sys

import click

from devlint.commands.guard import guard
from devlint.commands.options import Refusal

EXAMPLES = """\b
Examples:
  devlint run train.py --epochs 1
  devlint run --virtual cuda:2 --report run.html train.py --epochs 1
  devlint run --virtual cuda:1 pytest tests
"""


# -m and -c are the command's, as they are for `python` and `coverage run`
@click.command(
    name="run",
    epilog=EXAMPLES,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--virtual", metavar="DEVICES", help="Run on virtual devices, such as cuda:2.")
@click.option(
    "--report",
    metavar="FORMAT|FILE",
    help="html, json, trace or text, or a file that ends accordingly.  "
    "[default: a summary on standard error]",
)
@click.option("--keep-going", is_flag=True, help="Let mixed-device operations pass, as noted.")
def command(
    command: tuple[str, ...], virtual: str | None, report: str | None, keep_going: bool
) -> None:
    """Run COMMAND under the guard, and report its transfers, syncs and mixed-device failures.

    COMMAND is a script, `-m MODULE`, `-c CODE` or `pytest`, with its arguments.

    Exits as the program does; 2 for usage errors.
    """
    runner = guard("commands.run")
    try:
        code = runner.run_command(command, virtual=virtual, report=report, keep_going=keep_going)
    except OSError as error:
        raise Refusal(f"{error.filename or report}: cannot be written: {error.strerror}") from None
    except ValueError as error:
        raise Refusal(str(error)) from None
    sys.exit(code)
