r"""Texts that a regular expression can't do without. Where none of them stands, a search finds
nothing, and to look for them takes a tenth of the time of the search.

    literals_of(r"\bcuda\.stream\(|pin_memory[^)]*non_blocking")
    -> {"cuda.stream(", "non_blocking"}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from keyword import iskeyword
from typing import Any

Literals = frozenset[str]
_Item = tuple[Any, Any]  # of a regular expression that was read: its kind, and what it is of

# Python's own reader of regular expressions has no public name.
try:
    _reader: Any = import_module("re._parser")
except ImportError:  # Python 3.10
    _reader = import_module("sre_parse")


def literals_of(regex: str, flags: int = 0) -> Literals | None:
    """Texts of which one stands wherever the expression is found; None if none are known.

    With `re.IGNORECASE` they are in lower case, and for texts in lower case, of ASCII only: others
    have letters that are the same but for their case, and don't become so by `str.lower`.
    """
    try:
        read = _reader.parse(regex, flags)
        found = _of_sequence(read)
        ignores_case = bool(read.state.flags & re.IGNORECASE)
    except (AttributeError, TypeError, ValueError):  # a reader that gives something else
        return None
    if found is None or ignores_case != bool(flags & re.IGNORECASE):
        return None
    if ignores_case:
        if not all(text.isascii() for text in found):
            return None
        found = frozenset(text.lower() for text in found)
    return frozenset(each for each in found if not any(o in each for o in found if o != each))


def _of_sequence(items: Iterable[_Item]) -> Literals | None:
    """Those of the part that is found least by chance."""
    parts: list[Literals] = []
    run = ""
    for kind, value in (*items, ("end", None)):
        if str(kind) == "LITERAL":
            run += chr(value)
            continue
        if run:
            parts.append(frozenset((run,)))
            run = ""
        inner = _of_item(str(kind), value)
        if inner:
            parts.append(inner)
    return max(parts, key=_rarity, default=None)


def _rarity(texts: Literals) -> tuple[int, int]:
    """Long texts are rare, and few are rarer than many; Python's keywords stand in every file."""
    return min(0 if iskeyword(text.strip()) else len(text) for text in texts), -len(texts)


def _of_item(kind: str, value: Any) -> Literals | None:
    if kind == "SUBPATTERN":
        _, added, _, inner = value
        return None if added & re.IGNORECASE else _of_sequence(inner)
    if kind == "BRANCH":
        return _of_any(value[1])
    if kind in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
        return _of_sequence(value[2])
    return None


def _of_any(branches: Iterable[Iterable[_Item]]) -> Literals | None:
    texts: set[str] = set()
    for branch in branches:
        found = _of_sequence(branch)
        if found is None:
            return None
        texts |= found
    return frozenset(texts)
