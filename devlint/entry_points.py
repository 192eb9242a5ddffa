"""The entry points of a group, as `importlib.metadata` finds them.

    entry_points("devlint.rules")  # (EntryPoint("devlint", "devlint_rules"),)

To import `importlib.metadata`, with the packages for mail and archives that it needs, takes a tenth
of the check of a small file. Where all that is installed lies in folders, a look at the files
`entry_points.txt` there says the same; else it is asked.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from functools import reduce
from importlib.machinery import PathFinder
from typing import Any

from devlint.records import NamedTuple

RULE_PACKS = "devlint.rules"  # the group of packs of rules
_SUFFIXES = (".dist-info", ".egg-info")
_SEPARATORS = re.compile("[-_.]+")


class EntryPoint(NamedTuple):
    """A line of `entry_points.txt`: `name = package.module:attribute`."""

    name: str
    value: str

    def load(self) -> Any:
        """Import what it names."""
        module, _, attributes = self.value.partition("[")[0].partition(":")
        names = filter(None, attributes.strip().split("."))
        return reduce(getattr, names, importlib.import_module(module.strip()))


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """All entry points of the group, in the order of `sys.path`."""
    try:
        if _only_folders():
            return tuple(_of(group))
    except OSError:
        pass  # an archive, or a folder that can't be read
    from importlib import metadata  # see above

    return tuple(EntryPoint(each.name, each.value) for each in metadata.entry_points(group=group))


def _only_folders() -> bool:
    """Whether nothing but Python's own finder knows of what is installed."""
    finders = [each for each in sys.meta_path if hasattr(each, "find_distributions")]
    return finders == [PathFinder]


def _of(group: str) -> Iterator[EntryPoint]:
    """Raises OSError for what can't be looked into."""
    seen = set()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except FileNotFoundError:
            continue
        for name in names:
            if not name.lower().endswith(_SUFFIXES):
                continue
            installed = _SEPARATORS.sub("_", name.rpartition(".")[0].partition("-")[0]).lower()
            if installed not in seen:  # Python takes the first one, too
                seen.add(installed)
                yield from _read(os.path.join(folder, name, "entry_points.txt"), group)


def _read(file: str, group: str) -> Iterator[EntryPoint]:
    try:
        with open(file, "rb") as stream:
            data = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return
    if group.encode() not in data:
        return
    section = ""
    for line in map(str.strip, data.decode().splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif section == group and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield EntryPoint(name.strip(), value.strip())
