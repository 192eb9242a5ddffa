"""Files that may call a function, found by its name in their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from devlint.project.source import SourceError, read

# In characters of source, of one run: as much as is good for the check of a single file.
CALLERS_BUDGET = 400_000


def files_that_mention(
    names: Iterable[str],
    files: Iterable[Path],
    near: Iterable[Path],
    read: Callable[[Path], bytes] = read,
) -> Iterator[Path]:
    """The files in whose text one of the names stands, those next to `near` first.

    What can't be read is passed over: it is no file to be checked.
    """
    wanted = re.compile(rb"\b(" + b"|".join(re.escape(n).encode() for n in sorted(names)) + rb")\b")
    places = [file.parts for file in near]
    for file in sorted(files, key=lambda file: (-_nearness(file.parts, places), file)):
        try:
            data = read(file)
        except SourceError:
            continue
        if len(data) < CALLERS_BUDGET and wanted.search(data):
            yield file


def _nearness(parts: tuple[str, ...], places: list[tuple[str, ...]]) -> int:
    """How many directories a file has in common with one of some others."""
    found = 0
    for place in places:
        common = 0
        for own, other in zip(parts, place, strict=False):
            if own != other:
                break
            common += 1
        found = max(found, common)
    return found
