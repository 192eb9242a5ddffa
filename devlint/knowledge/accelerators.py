"""What each release of torch has in `torch.accelerator`, and what that stands in for.

`torch.accelerator.synchronize` stands in for `torch.cuda.synchronize` from torch 2.6 on. The table
is generated from the releases themselves (scripts/generate_accelerators.py).
"""

from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from devlint.records import NamedTuple

_FILE = pathlib.Path(__file__).parent / "accelerators.json"
_RELEASE = re.compile(r"(\d+)\.(\d+)(\.\d+)?")

Release = tuple[int, int]


class StandIn(NamedTuple):
    """A function of `torch.accelerator` for one of `torch.cuda`.

    alike: where there is no accelerator, it does as that one does.
    complete: the release from which on it works on every accelerator of PyTorch's own; "" where it
        does in all that the project supports.
    """

    name: str
    since: str
    alike: bool
    complete: str = ""


class Accelerators:
    """`torch.accelerator` for a project that supports torch from `target` on, "" for unknown."""

    def __init__(self, target: str = "") -> None:
        self.target = target
        self._least = parse_release(target) if target else None
        self._names = {parse_release(r): frozenset(n) for r, n in _table()["releases"].items()}
        self._cuda: Mapping[str, Any] = _table()["stands_for"]

    @property
    def newest(self) -> str:
        """The newest release that is known."""
        return write_release(max(self._names))

    def since(self, name: str) -> str:
        """The first release with this name in `torch.accelerator`; "" for none that is known."""
        return next((write_release(r) for r, names in self._names.items() if name in names), "")

    def lacks(self, name: str) -> bool:
        """The target has no such name, for certain; without a target: no release that is known."""
        if self._least is None:
            return not self.since(name)
        if self._least > max(self._names):
            return False
        return name not in self._names.get(self._least, frozenset())

    def stand_in(self, name: str) -> StandIn | None:
        """What the target has in `torch.accelerator` for a function of `torch.cuda`.

        Without a target only what the first release had that has `torch.accelerator` at all.
        """
        entry = self._cuda.get(name)
        if entry is None:
            return None
        since = self.since(entry["name"])
        if parse_release(since) > (self._least or min(self._names)):
            return None
        complete = entry["complete"]
        if complete and parse_release(complete) <= (self._least or min(self._names)):
            complete = ""
        return StandIn(entry["name"], since, entry["alike"], complete)

    def meant(self, name: str) -> str:
        """The name in `torch.accelerator` that a name of `torch.cuda` has there; "" for none."""
        entry = self._cuda.get(name)
        return "" if entry is None else str(entry["name"])


def parse_release(text: str) -> Release:
    """`(2, 9)` of `2.9` or `2.9.1`. Raises ValueError for anything else."""
    found = _RELEASE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found.group(1)), int(found.group(2))


def write_release(release: Release) -> str:
    return f"{release[0]}.{release[1]}"


@functools.cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(_FILE.read_bytes())
    return table
