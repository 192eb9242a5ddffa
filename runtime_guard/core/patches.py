"""Attributes replaced for a while, and put back to the very object that was there.

Blocks need not end in the order in which they began (generators, fixtures): every attribute has a
stack of replacements, and the one that ends takes out its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_ABSENT = object()
_lock = threading.RLock()


class _Attribute:
    """One replaced attribute: what the owner had, and the replacements in force, latest last."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name
        self.original = vars(owner).get(name, _ABSENT)
        self.replacements: list[tuple[Patches, Any]] = []

    def show(self, value: Any) -> None:
        if value is not _ABSENT:
            setattr(self.owner, self.name, value)
        elif self.name in vars(self.owner):
            delattr(self.owner, self.name)

    def show_latest(self) -> None:
        self.show(self.replacements[-1][1] if self.replacements else self.original)


@dataclass(frozen=True)
class Replacement:
    """What an attribute was while a block was in force, and what it is now."""

    name: str
    value: Any
    original: Any
    owner: Any


_replaced: dict[tuple[int, str], _Attribute] = {}


class Patches:
    """The attributes that one block replaced."""

    def __init__(self) -> None:
        self._keys: list[tuple[int, str]] = []
        self.shown: list[Replacement] = []
        """What was shown where this block's replacements are, in their order."""

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace ``owner.name`` (of a module or class)."""
        key = (id(owner), name)
        with _lock:
            attribute = _replaced.get(key)
            if attribute is None:
                attribute = _replaced[key] = _Attribute(owner, name)
            self.shown.append(Replacement(name, value, vars(owner).get(name), owner))
            attribute.replacements.append((self, value))
            attribute.show_latest()
            self._keys.append(key)

    def update(self, owner: Any, values: dict[str, Any]) -> None:
        """Replace several attributes of ``owner``."""
        for name, value in values.items():
            self.set(owner, name, value)

    def undo(self) -> list[Replacement]:
        """Take this block's replacements out, the latest first; return what they were."""
        undone = []
        self.shown.clear()
        with _lock:
            while self._keys:
                key = self._keys.pop()
                attribute = _replaced[key]
                for position in range(len(attribute.replacements) - 1, -1, -1):
                    if attribute.replacements[position][0] is self:
                        value = attribute.replacements.pop(position)[1]
                        break
                attribute.show_latest()
                shown = vars(attribute.owner).get(attribute.name)
                undone.append(Replacement(attribute.name, value, shown, attribute.owner))
                if not attribute.replacements:
                    del _replaced[key]
        return undone


def original_of(owner: Any, name: str) -> Any:
    """What ``owner.name`` (of a module or class) is where nothing replaces it."""
    with _lock:
        attribute = _replaced.get((id(owner), name))
        return vars(owner)[name] if attribute is None else attribute.original


def show_originals() -> Callable[[], None]:
    """Put back every replaced attribute for a moment; the returned function undoes that."""
    with _lock:
        attributes = list(_replaced.values())
        for attribute in attributes:
            attribute.show(attribute.original)

    def show_replacements() -> None:
        with _lock:
            for attribute in attributes:
                attribute.show_latest()

    return show_replacements
