"""A flake8 plugin: devlint's findings among those of flake8, for those who have only that.

It is off until `enable-extensions = DEV` asks for it. Each file is checked for itself, as
`devlint check FILE` does.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from devlint import engine
from devlint.config import ConfigError, find_config
from devlint.knowledge import KnowledgeError
from devlint.reporters.wording import plain, sentence
from devlint.rule import Rule
from devlint.rules import RulePackError, load_rules
from devlint.version import __version__

STDIN = ("stdin", "-", "(none)")
MISCONFIGURED = "DEV000"

Found = tuple[int, int, str, type["Plugin"]]


class Plugin:
    """flake8's interface: made for each file, then run."""

    name = "devlint"
    version = __version__
    off_by_default = True

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self.filename = filename
        self.lines = lines

    def run(self) -> Iterator[Found]:
        """Line, column from 0, and text of each finding. An error of a file is flake8's to tell."""
        name = "<stdin>" if self.filename in STDIN else self.filename
        file = Path(os.path.abspath(name))
        contents = {}
        if not file.is_file():
            contents[file] = "".join(self.lines).encode("utf-8", "backslashreplace")
        try:
            config = find_config(file)
            report = engine.check([file], config, _rules(), contents=contents)
        except (ConfigError, KnowledgeError, RulePackError) as error:
            yield 1, 0, f"{MISCONFIGURED} {plain(str(error))}", type(self)
            return
        for finding in report.findings:
            place = finding.location
            text = f"{finding.rule} {plain(sentence(finding))}"
            yield place.line, place.column - 1, text, type(self)


@lru_cache(maxsize=1)
def _rules() -> tuple[Rule, ...]:
    return load_rules()
