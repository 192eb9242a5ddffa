"""How each convention is searched for, as `devlint/knowledge/conventions.json` keeps it.

`scripts/generate_conventions.py` writes that file, from the rows of `conventions.toml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from devlint.records import NamedTuple

FILE = Path(__file__).parents[2] / "knowledge" / "conventions.json"
NAME = "<name>"  # in a regular expression


class Search(NamedTuple):
    """How one convention is searched for."""

    regex: str
    ignores_case: bool
    literals: tuple[str, ...] | None  # one of them stands wherever it is found; None if unknown
    is_of_a_line: bool
    asks_for_no_place: bool


@cache
def search_of(convention: str) -> Search:
    """The search for a convention, by its id."""
    return Search(*_kept()[convention])


def compiled(regex: str, ignores_case: bool, name: str = "") -> re.Pattern[str]:
    """The regular expression of a convention, about this name."""
    return re.compile(regex.replace(NAME, re.escape(name)), re.IGNORECASE if ignores_case else 0)


@cache
def _kept() -> Mapping[str, list[Any]]:
    kept: Mapping[str, list[Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept
