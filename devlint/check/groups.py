"""Groups: the files of a check, cut into runs of neighbours that are inferred on their own.

What is inferred of a file is shared by the files of its group, and by no other one. So a group can
be checked anywhere and at any time: by another process, on another machine, in an earlier run.
The cut goes by paths and sizes only, between folders where it can: an edit moves no other group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from devlint.records import dataclass

# In bytes of source. Larger groups share more, smaller ones are spread better and kept longer.
ALONE = 400_000  # a check of no more is one group
LEAST = 250_000  # then a group ends with its folder
MOST = 400_000  # or in the middle of it
# That may be parsed for a group of several for the sake of imports alone: as for the check of many
# files in one go, a fifth of what is checked.
GROUP_ALLOWANCE = 60_000


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are checked together, in this order.

    allowance: the characters that may be parsed for imports only; None: those of a check alone.
    """

    files: tuple[Path, ...]
    allowance: int | None = None


def groups_of(sized: Iterable[tuple[Path, int]]) -> list[Group]:
    """The groups of some files, given with their sizes, neighbours next to each other."""
    files = list(sized)
    if sum(size for _, size in files) <= ALONE:
        return [Group(tuple(file for file, _ in files))] if files else []
    return [Group(part, GROUP_ALLOWANCE) for part in _parts(files)]


def _parts(files: Sequence[tuple[Path, int]]) -> Iterable[tuple[Path, ...]]:
    part: list[Path] = []
    taken = 0
    for file, size in files:
        is_next_folder = bool(part) and part[-1].parent != file.parent
        if part and (taken + size > MOST or (taken >= LEAST and is_next_folder)):
            yield tuple(part)
            part, taken = [], 0
        part.append(file)
        taken += size
    if part:
        yield tuple(part)
