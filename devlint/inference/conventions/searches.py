"""How each convention is searched for, worked out beforehand and kept in
`devlint/knowledge/conventions.json`: to read a row and its regular expression takes longer than
most of the searches of a small check, and few of them need the expression itself.

`scripts/generate_conventions.py` writes the file. Of a row that was changed since, everything is
worked out anew.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from devlint.inference.conventions.literals import (
    asks_for_no_place,
    is_of_a_line,
    literals_of,
)
from devlint.inference.conventions.reading import Convention, conventions, text_of

FILE = Path(__file__).parents[2] / "knowledge" / "conventions.json"


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
    checksum, *kept = _kept().get(convention, (None,))
    if checksum != checksum_of(text_of(convention)):
        return worked_out(conventions()[convention])
    regex, ignores_case, literals, of_a_line, no_place = kept
    texts = None if literals is None else tuple(literals)
    return Search(regex, ignores_case, texts, of_a_line, no_place)


def worked_out(row: Convention) -> Search:
    """The search for the convention of a row."""
    texts = literals_of(row.regex, re.IGNORECASE if row.ignore_case else 0)
    return Search(
        row.regex,
        row.ignore_case,
        None if texts is None else tuple(sorted(texts)),
        bool(texts) and not row.ignore_case and is_of_a_line(row.regex),
        asks_for_no_place(row.regex),
    )


def checksum_of(text: str) -> int:
    """Tells the texts of a row before and after a change apart."""
    return zlib.crc32(text.encode())


@cache
def _kept() -> Mapping[str, list[Any]]:
    kept: Mapping[str, list[Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept
