"""Stand-ins that a module took by ``from torch import …`` while the block ran.

When it ends the module gets the originals, as if it had been imported outside.  Those that went
elsewhere (into a class, into a default) go on to work.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import Any

from runtime_guard.core.patches import Replacement


def give_originals_back(replaced: Iterable[Replacement], before: Collection[str]) -> None:
    """Put back what modules hold that are not among ``before``, and the program's main one."""
    originals: dict[int, list[Replacement]] = {}
    for replacement in replaced:
        if callable(replacement.value):
            originals.setdefault(id(replacement.value), []).append(replacement)
    for name, module in list(sys.modules.items()):
        if name in before and name != "__main__":
            continue
        names = getattr(module, "__dict__", {})
        for attribute, value in list(names.items()):
            original = _original(originals.get(id(value), []), attribute)
            if original is not None:
                names[attribute] = original


def _original(replacements: list[Replacement], attribute: str) -> Any:
    """What was replaced; where one thing stands for several, that of the attribute's name."""
    if len({id(r.original) for r in replacements}) > 1:
        replacements = [r for r in replacements if r.name == attribute]
    return replacements[0].original if replacements else None
