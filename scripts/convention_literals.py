r"""Texts that a regular expression can't do without. Where none of them stands, a search finds
nothing, and to look for them takes a tenth of the time of the search.

    literals_of(r"\bcuda\.stream\(|pin_memory[^)]*non_blocking")
    -> {"cuda.stream(", "non_blocking"}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from keyword import iskeyword
from typing import Any

Literals = frozenset[str]
NEWLINE = ord("\n")
_Item = tuple[Any, Any]  # of a regular expression that was read: its kind, and what it is of

# Python's own reader of regular expressions has no public name.
try:
    _reader: Any = import_module("re._parser")
except ImportError:  # Python 3.10
    _reader = import_module("sre_parse")


@lru_cache(maxsize=1)  # both questions are asked of one after the other
def _read(regex: str, flags: int) -> Any:
    return _reader.parse(regex, flags)


def literals_of(regex: str, flags: int = 0) -> Literals | None:
    """Texts of which one stands wherever the expression is found; None if none are known.

    With `re.IGNORECASE` they are in lower case, and for texts in lower case, of ASCII only: others
    have letters that are the same but for their case, and don't become so by `str.lower`.
    """
    try:
        read = _read(regex, flags)
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
    """The literals of the part that is found least by chance."""
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


def is_of_a_line(regex: str) -> bool:
    r"""Whatever the expression is found in is found in its line alone: nothing in it can be a line
    end, nor does it ask where the whole text begins or ends.

    is_of_a_line(r"(?m)^import \w+$") -> True, is_of_a_line(r"import\s+\w+") -> False
    """
    try:
        read = _read(regex, 0)
        flags = read.state.flags
        return not flags & re.DOTALL and _all_of_a_line(read, bool(flags & re.MULTILINE))
    except (AttributeError, TypeError, ValueError):  # a reader that gives something else
        return False


def asks_for_no_place(regex: str) -> bool:
    r"""Whatever the expression is found in is found in its line alone, wherever in that it stands:
    so it is found in all that holds the line, indented more or less.

    asks_for_no_place(r"import \w+") -> True, asks_for_no_place(r"(?m)^import \w+") -> False
    """
    try:
        read = _read(regex, 0)
        return not read.state.flags & re.DOTALL and _all_of_a_line(read, by_line=False)
    except (AttributeError, TypeError, ValueError):  # a reader that gives something else
        return False


def _all_of_a_line(items: Iterable[_Item], by_line: bool) -> bool:
    return all(_is_of_a_line(str(kind), value, by_line) for kind, value in items)


def _is_of_a_line(kind: str, value: Any, by_line: bool) -> bool:
    if kind == "LITERAL":
        return bool(value != NEWLINE)
    if kind == "NOT_LITERAL":
        return bool(value == NEWLINE)
    if kind == "IN":
        return _excludes_line_ends(value)
    if kind == "AT":
        ends = ("AT_BEGINNING", "AT_END")
        return str(value) in ("AT_BOUNDARY", *(ends if by_line else ()))
    if kind == "SUBPATTERN":
        _, added, removed, inner = value
        return not added and not removed and _all_of_a_line(inner, by_line)
    if kind == "BRANCH":
        return all(_all_of_a_line(branch, by_line) for branch in value[1])
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        return _all_of_a_line(value[2], by_line)
    if kind in ("ASSERT", "ASSERT_NOT"):
        return _all_of_a_line(value[1], by_line)
    return kind == "ANY"


def _excludes_line_ends(members: Iterable[_Item]) -> bool:
    """`[a-z]`, `[^\\n]`, `\\w`."""
    kinds = [(str(kind), value) for kind, value in members]
    negated = ("NEGATE", None) in kinds
    with_line_end = any(
        (kind == "LITERAL" and value == NEWLINE)
        or (kind == "RANGE" and value[0] <= NEWLINE <= value[1])
        for kind, value in kinds
    )
    categories = {str(value) for kind, value in kinds if kind == "CATEGORY"}
    if negated:
        return with_line_end or bool(categories & {"CATEGORY_SPACE"})
    return not with_line_end and categories <= {"CATEGORY_WORD", "CATEGORY_DIGIT"}
