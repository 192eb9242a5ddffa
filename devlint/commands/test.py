"""`devlint test`: a suite on the CPU and on virtual devices, and what differs."""

from __future__ import annotations

import sys

import click

from devlint.commands.guard import guard
from devlint.commands.options import Refusal, text_or_json
from devlint.terminal import emit

EXAMPLES = """\b
Examples:
  devlint test                              the suite in this folder
  devlint test -- tests -k model            what follows `--` goes to pytest
  devlint test --virtual cuda:2 --put nothing
"""


@click.command(name="test", epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- PYTEST ARGUMENTS]")
@click.option(
    "--virtual",
    metavar="DEVICES",
    default="cuda:1",
    help="The virtual devices, such as cuda:2.  [default: cuda:1]",
)
@click.option(
    "--put",
    type=click.Choice(["tests", "nothing"]),
    default="tests",
    help="What goes to the card: what the tests make, or nothing but what they and the code put "
    "there themselves.  [default: tests]",
)
@click.option(
    "--strict-default", is_flag=True, help="Note every factory that is called without device=."
)
@text_or_json
def command(
    arguments: tuple[str, ...], virtual: str, put: str, strict_default: bool, form: str
) -> None:
    """Run a pytest suite on the CPU and on virtual devices, and show what fails on a card alone.

    What follows `--` goes to pytest.

    Exit codes: 0 nothing fails on the card alone, 1 tests do; 2 usage errors (no pytest, no test),
    3 a run did not come to its end.
    """
    runner = guard("commands.suite")
    try:
        code = runner.run_test(
            arguments,
            virtual=virtual,
            put=put == "tests",
            strict=strict_default,
            output_format=form,
            write=lambda text: emit(text, sys.stdout),
            say=lambda text: print(f"devlint test: {text}", file=sys.stderr, flush=True),
        )
    except ValueError as error:
        emit(getattr(error, "output", ""), sys.stderr)
        raise Refusal(str(error)) from None
    sys.exit(code)
