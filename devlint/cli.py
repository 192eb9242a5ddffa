"""The command line: its commands by name, each loaded when it is called or asked for help.

Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage or configuration errors, 3 some
file could not be checked, 130 Ctrl-C.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from devlint.version import __version__

# A command's module is `devlint.commands.` and its name; there the command is called `command`.
# The short help stands here, so that `devlint --help` need not load them all.
COMMANDS = {
    "baseline": "Keep the findings of today in a file, and report new ones only.",
    "check": "Check files and directories.",
    "config": "Print the configuration in effect.",
    "confirm": "Run a program, and say of each finding whether it really happens.",
    "infer": "Show where every tensor and module of a file is, and why.",
    "init": "Set devlint up for a project: configuration, hook, baseline.",
    "explain": "Explain a rule.",
    "merge": "Join the results of several checks, such as shards, into one report.",
    "rules": "List the rules.",
    "server": "Serve an editor with findings and fixes while one types.",
    "stats": "Count the findings by rule, folder, confidence and fix.",
    "run": "Run a program under the guard, and report its transfers and syncs.",
    "test": "Run a test suite on the CPU and on virtual devices, and show what differs.",
}

EXAMPLES = """\b
Examples:
  devlint check                 find bugs in the project
  devlint explain DEV102        what a finding means, and what to write instead
  devlint init                  configuration, pre-commit hook and baseline for old code
  devlint infer train.py        where each tensor is, line by line
"""


class Commands(click.Group):
    """A group whose commands are modules. A check of one file shall not load those of others."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"devlint.commands.{name}")
        found: click.Command = module.command
        return found

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib  # only for a mistake

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            context.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except KeyboardInterrupt:  # Click's exit code of 1 stands for findings here
            from devlint.commands.options import INTERRUPTED  # only then

            context.exit(INTERRUPTED)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(
    cls=Commands, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, "--version", "-V", message="devlint %(version)s")
def main() -> None:
    """Find device-placement bugs in PyTorch code: before it runs, and while it runs."""
    try:
        os.getcwd()
    except OSError as error:
        from devlint.commands.options import Refusal  # only for a mistake

        said = f"the current folder cannot be entered, perhaps it was deleted: {error.strerror}"
        raise Refusal(said) from None
