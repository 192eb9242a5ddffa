"""Questions to the conventions: each is compiled when it is first asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from devlint.inference.conventions.reading import conventions

_left_out: frozenset[str] = frozenset()


def holds(convention: str, text: str) -> bool:
    """Whether a text is one that the convention speaks of: `holds("model-name", "target_net")`."""
    return _searcher(convention)(text) is not None


def leave_out(ids: Iterable[str]) -> None:
    """From now on these conventions hold of nothing: to measure what they are worth."""
    global _left_out
    _left_out = frozenset(ids)
    _searcher.cache_clear()


@cache
def _searcher(convention: str) -> Callable[[str], re.Match[str] | None]:
    row = conventions()[convention]
    if convention in _left_out:
        return lambda _: None
    return re.compile(row.regex, re.IGNORECASE if row.ignore_case else 0).search
