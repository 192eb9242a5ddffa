"""The definitions at the top of a file, as its text tells: which one stands around a place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path

from devlint.records import NamedTuple

# The first line of a definition, of its decorators, or of what stands outside of both.
# It is searched for behind a line end: `^` would be tried at each character of a text.
_BEGINNING = re.compile(rb"\n(?:(@)|(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|[^\s#)\]}])")


class _Parts(NamedTuple):
    """The definitions of a file, and what stands between two: where each starts, and its name."""

    starts: list[int]
    names: list[str]  # "" outside of definitions, and where a decorator may register one


class Definitions:
    """Those of the files of a project: each file is looked through once."""

    def __init__(self, texts: Mapping[Path, bytes]) -> None:
        self._texts = texts
        self._parts: dict[Path, _Parts] = {}

    def names(self, file: Path) -> list[str]:
        """The definitions at the top of a file, but for decorated ones."""
        return [name for name in dict.fromkeys(self._of(file).names) if name]

    def around(self, file: Path, at: int) -> str:
        """The definition around a place in a file; "" where there is none."""
        parts = self._of(file)
        number = bisect_right(parts.starts, at)
        return parts.names[number - 1] if number else ""

    def _of(self, file: Path) -> _Parts:
        known = self._parts.get(file)
        if known is None:
            known = self._parts[file] = _Parts([], [])
            is_decorated = False
            text = self._texts.get(file, b"") if file.suffix == ".py" else b""
            for each in _BEGINNING.finditer(b"\n" + text):
                own = each[2] is not None and not is_decorated
                known.starts.append(each.start())  # without the line end in front
                known.names.append(each[2].decode() if own else "")
                is_decorated = each[1] is not None
        return known
