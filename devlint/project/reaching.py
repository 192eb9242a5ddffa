"""Definitions that nothing reaches: all that names them is itself named by nobody.

    def norms(rows): ...               # `clip` alone names it
    def clip(rows): norms(rows)        # nobody names it, though the file is in use: neither runs

A definition is a function or a class at the top of a file. What stands outside of all of them runs
where the file does, and so may what a decorator registers, what an `__init__` or a configuration
or a text names, all of a module in which some code looks names up (`getattr(helpers, name)`), and
what nobody names of a file of which nothing else is named: code out of sight may.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from devlint.project.uses import RUN, means_its_own, uses_in

MOST = 40  # definitions that are looked at, on the ways to one

Place = tuple[Path, str]  # a file, and a name that it defines

_DEFINED = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.M)
_WORD = re.compile(rb"[^\W\d]\w*")
# The first line of a definition, of its decorators, or of what stands outside of both.
_BEGINNING = re.compile(rb"^(?:(@)|(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|[^\s#)\]}])", re.M)
_DEFINING = re.compile(rb"\b(?:def|class)[ \t]+\Z")
_QUOTED = re.compile(rb"[\"'][\w.:/]*\Z")  # whoever reads the text may look the name up
_LOOKED_UP = re.compile(rb"\b(?:dir|vars|getattr)\((?:\w+\.)*(\w+)\b|\b(\w+)\.__dict__")


class _Part(NamedTuple):
    """The lines of one definition, or of what stands between two."""

    start: int
    name: str  # "" outside of definitions, and where a decorator may register one


class Reaching:
    """Who uses what, as the texts of a project tell."""

    def __init__(self, root: Path, texts: Mapping[Path, bytes], is_installed: bool) -> None:
        self._root, self._texts, self._is_installed = root, texts, is_installed
        self._known: dict[Place, frozenset[Place | None]] = {}
        self._parts: dict[Path, list[_Part]] = {}

    def reaches(self, name: str, file: Path) -> bool:
        """Whether something that may run uses a name that a file defines."""
        seen, waiting = {(file, name)}, [(file, name)]
        for place in waiting:  # grows on the way
            users = self._users(*place)
            if place[0].stem.encode() in self._searched:
                return True
            if None in users or len(seen) > MOST or not (users or self._is_left(*place)):
                return True
            new = {user for user in users if user is not None} - seen
            seen |= new
            waiting += sorted(new)
        return False

    def _is_left(self, file: Path, name: str) -> bool:
        """What nobody names is left over in a file that is run, or of which others are named."""
        text = self._texts.get(file, b"")
        if file.suffix != ".py" or RUN.search(text) is not None:
            return file.suffix == ".py"
        others = {part.name for part in self._of(file)} - {name, ""}
        return any(
            user is None or user[0] != file for each in others for user in self._users(file, each)
        )

    def _users(self, file: Path, name: str) -> frozenset[Place | None]:
        """The definitions that use a name; None for all else that does."""
        place = (file, name)
        if place not in self._known:
            self._known[place] = frozenset(self._using(file, name))
        return self._known[place]

    def _using(self, file: Path, name: str) -> Iterator[Place | None]:
        literal = name.encode()
        for other in self._naming.get(literal, ()):
            text = self._texts[other]
            if other.suffix == ".py" and other != file and means_its_own(text, literal):
                continue
            for at in uses_in(other.relative_to(self._root), text, literal, self._is_installed):
                user = self._around(other, at)
                if (other, user) == (file, name) or _DEFINING.search(
                    text[max(at - 80, 0) : at]
                ) is not None:
                    continue
                yield (
                    None
                    if not user or _QUOTED.search(text[max(at - 80, 0) : at]) is not None
                    else (other, user)
                )

    def _around(self, file: Path, at: int) -> str:
        """The definition around a place in a file."""
        parts = self._of(file) if file.suffix == ".py" else []
        number = bisect_right(parts, at, key=lambda part: part.start)
        return parts[number - 1].name if number else ""

    def _of(self, file: Path) -> list[_Part]:
        known = self._parts.get(file)
        if known is None:
            known = self._parts[file] = []
            is_decorated = False
            for each in _BEGINNING.finditer(self._texts.get(file, b"")):
                own = each[2] is not None and not is_decorated
                known.append(_Part(each.start(), each[2].decode() if own else ""))
                is_decorated = each[1] is not None
        return known

    @cached_property
    def _searched(self) -> frozenset[bytes]:
        """The modules, and other objects, whose names some code looks up."""
        code = (text for file, text in self._texts.items() if file.suffix == ".py")
        return frozenset(
            name for text in code for pair in _LOOKED_UP.findall(text) for name in pair
        )

    @cached_property
    def _naming(self) -> dict[bytes, list[Path]]:
        """By each name that some file defines: the files in whose text it stands."""
        texts = self._texts.items()
        code = (text for file, text in texts if file.suffix == ".py")
        defined = {name for text in code for name in _DEFINED.findall(text)}
        found: defaultdict[bytes, list[Path]] = defaultdict(list)
        for file, text in texts:
            for name in defined.intersection(_WORD.findall(text)):
                found[name].append(file)
        return found
