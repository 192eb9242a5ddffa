"""Questions to the conventions: each is compiled when it is first asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from devlint.inference.conventions.reading import conventions

_left_out: frozenset[str] = frozenset()
_held: set[str] | None = None


def holds(convention: str, text: str) -> bool:
    """Whether a text is one that the convention speaks of: `holds("model-name", "target_net")`."""
    return bool(_searcher(convention)(text))


def leave_out(ids: Iterable[str], held: set[str] | None = None) -> None:
    """From now on these conventions hold of nothing: to measure what they are worth.

    held: gets the ids of those that hold of something.
    """
    global _left_out, _held
    _left_out = frozenset(ids)
    _held = held
    _searcher.cache_clear()


@cache
def _searcher(convention: str) -> Callable[[str], object]:
    row = conventions()[convention]
    if convention in _left_out:
        return lambda _: None
    search = re.compile(row.regex, re.IGNORECASE if row.ignore_case else 0).search
    held = _held
    if held is None:
        return search

    def noting(text: str) -> object:
        found = search(text)
        if found:
            held.add(convention)
        return found

    return noting
