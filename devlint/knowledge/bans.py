"""Bans: names that a user's knowledge files ban, each with the reason that is given for it.

An entry that has a `banned` is a ban; what else it says is knowledge like any other. A ban alone
leaves what devlint knows of the name as it is.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from devlint.knowledge.entries import KnowledgeError
from devlint.records import NamedTuple

KEY = "banned"
DOTTED = ("functions", "modules", "classes")  # the sections whose keys are dotted names
METHODS = "methods"


class Ban(NamedTuple):
    """One ban. `key` is the name or pattern that says so, `file` the file that it stands in."""

    key: str
    reason: str
    file: str


class Bans:
    """All bans. A name has the ban of its own entry, else that of the longest pattern."""

    def __init__(self) -> None:
        self._names: dict[str, Ban] = {}
        self._methods: dict[str, Ban] = {}

    def __bool__(self) -> bool:
        return bool(self._names or self._methods)

    def __contains__(self, key: object) -> bool:
        return key in self._names or key in self._methods

    def update(self, tables: Mapping[str, Any], file: str) -> None:
        """Add the bans of a knowledge file; they replace those of the same key."""
        for section, name, entry in _entries(tables):
            if isinstance(entry, Mapping) and KEY in entry:
                bans = self._methods if section == METHODS else self._names
                bans[name] = Ban(name, entry[KEY], file)
        for section, name, entry in _entries(tables):
            bans = self._methods if section == METHODS else self._names
            if isinstance(entry, str) and entry in bans:  # another name of what is banned
                bans[name] = bans[entry]

    def of_name(self, name: str) -> Ban | None:
        """The ban of a dotted name. One with an empty reason lifts that of a pattern."""
        found = self._names.get(name)
        if found is None:
            patterns = [key for key in self._names if "*" in key and fnmatch.fnmatchcase(name, key)]
            found = self._names[max(patterns, key=len)] if patterns else None
        return found if found is not None and found.reason else None

    def of_method(self, name: str) -> Ban | None:
        """The ban of a method, by its bare name."""
        found = self._methods.get(name)
        return found if found is not None and found.reason else None

    def words(self) -> set[str]:
        """Words of which a file must hold one to use what is banned."""
        names = {
            key.partition(".")[0] if "*" in key else key.rpartition(".")[2] for key in self._names
        }
        return names | set(self._methods)


def without_bans(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with what they say beside the bans."""
    rest = dict(tables)
    for section, name, entry in _entries(tables):
        if isinstance(entry, Mapping) and KEY in entry:
            kept = {key: value for key, value in entry.items() if key != KEY}
            entries = {key: value for key, value in rest[section].items() if key != name}
            rest[section] = {**entries, name: kept} if kept else entries
    return rest


def check_ban(entry: object, where: str) -> object:
    """The entry without its ban. Raises KnowledgeError for a ban that is no reason."""
    if not isinstance(entry, Mapping) or KEY not in entry:
        return entry
    reason = entry[KEY]
    if not isinstance(reason, str):
        raise KnowledgeError(
            f'{where}, key {KEY!r}: expected the reason, as in "use our_lib.free()", not {reason!r}'
        )
    return {key: value for key, value in entry.items() if key != KEY}


def _entries(tables: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for section in (*DOTTED, METHODS):
        for name, entry in tables.get(section, {}).items():
            yield section, name, entry
