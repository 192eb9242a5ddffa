"""In IPython and Jupyter: each cell is checked when it has run, with those that ran before it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from devlint import engine
from devlint.config import ConfigError, find_config
from devlint.knowledge import KnowledgeError
from devlint.reporters import text
from devlint.reporters.options import Options
from devlint.rules import RulePackError, load_rules
from devlint.terminal import emit, show, wants_color

NAME = "session.ipynb"  # of the notebook that a session is taken for
BUDGET = 60_000  # characters of cells that are kept


class Watcher:
    """The cells of one session, by their execution numbers, and what is said of the last one."""

    def __init__(self) -> None:
        self.cells: dict[int, str] = {}
        self._numbers: dict[str, int] = {}  # by the identity of a cell in a notebook

    def after_cell(self, result: Any) -> None:
        """Say what is wrong with the cell that has just run, on standard error."""
        number, info = result.execution_count, result.info
        if number is None or not info.store_history or not info.raw_cell.strip():
            return
        self._keep(number, info.raw_cell, getattr(info, "cell_id", None))
        try:
            said = self.report(number)
        except (ConfigError, KnowledgeError, RulePackError) as error:
            said = f"devlint: {show(str(error))}\n"
        except FileNotFoundError:  # the folder that the session is in was deleted
            said = "devlint: the current folder was deleted, and cells are not checked\n"
        emit(said, sys.stderr)

    def report(self, number: int) -> str:
        """The findings of one cell as text; empty without any."""
        config = find_config(Path.cwd())
        file = Path.cwd() / NAME
        contents = {file: _notebook(self.cells)}
        report = engine.check([file], config, load_rules(), contents=contents)
        report.findings = [f for f in report.findings if f.location.cell == number]
        report.errors = []  # of a cell that does not parse IPython says so itself
        color = wants_color("auto", sys.stderr)
        options = Options(color, Path.cwd(), summary=False)
        return text.render(report, options)

    def _keep(self, number: int, source: str, identity: str | None) -> None:
        if identity is not None:  # its newer text stands for it
            self.cells.pop(self._numbers.get(identity, 0), None)
            self._numbers[identity] = number
        self.cells[number] = source
        while sum(map(len, self.cells.values())) > BUDGET and len(self.cells) > 1:
            del self.cells[next(iter(self.cells))]


def _notebook(cells: dict[int, str]) -> bytes:
    """The cells as a notebook, each in the place of its number."""
    empty = {"cell_type": "markdown", "source": ""}
    numbered = [
        {"cell_type": "code", "source": cells[number]} if number in cells else empty
        for number in range(1, max(cells) + 1)
    ]
    return json.dumps({"nbformat": 4, "cells": numbered}).encode()


_watchers: dict[int, Watcher] = {}


def load(shell: Any) -> None:
    """Begin to watch a shell."""
    watcher = _watchers[id(shell)] = Watcher()
    shell.events.register("post_run_cell", watcher.after_cell)


def unload(shell: Any) -> None:
    """Stop watching a shell."""
    shell.events.unregister("post_run_cell", _watchers.pop(id(shell)).after_cell)
