"""`devlint server`: the language server for editors."""

from __future__ import annotations

import importlib

import click

from devlint.commands.options import Refusal

EXAMPLES = """\b
Examples:
  devlint server      what the configuration of an editor names as the command
"""


@click.command(name="server", epilog=EXAMPLES)
@click.option("--stdio", is_flag=True, hidden=True, help="The only way there is; editors ask.")
def command(stdio: bool) -> None:
    """Serve an editor, which starts this by itself: docs/editors.md.

    Speaks the language server protocol over standard input and output. Needs devlint[lsp].
    """
    try:
        importlib.import_module("lsprotocol.types")
        importlib.import_module("pygls.lsp.server")  # since pygls 2
    except ImportError:
        raise Refusal("this command needs pygls 2 or newer: pip install 'devlint[lsp]'") from None
    importlib.import_module("devlint.server.application").serve()
