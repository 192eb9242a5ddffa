"""What libraries remember of the machine: answers that ``functools.cache`` keeps.

Many ask once whether there is CUDA, and what it can do.  Where the machine changes, as a block
begins and ends, they are to ask again.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from runtime_guard.virtual.stand_ins import APART

_KEPT: Any = type(functools.cache(len))
"""The type of a function with a cache."""
_WORDS = frozenset({"accelerator", "cuda", "device", "gpu", "mps", "xpu"})
"""Of what the names consist in the code of a function that asks about the machine."""

_NONE: dict[str, tuple[int, int]] = {}
"""Modules in which there is none, by name: which one it was, and how many names it had then."""


def ask_again() -> None:
    """Forget what functions of modules and of their classes remember of the machine."""
    for function in {f for name, module in list(sys.modules.items()) for f in _found(name, module)}:
        function.cache_clear()


def _found(name: str, module: Any) -> list[Any]:
    state = id(module), len(getattr(module, "__dict__", ()))
    if _NONE.get(name) == state:
        return []
    looked_at = type(module) is ModuleType and name.partition(".")[0] not in APART
    found = list(_which_ask(module)) if looked_at else []
    if not found:
        _NONE[name] = state
    return found


def _which_ask(module: ModuleType) -> Iterator[Any]:
    for value in list(vars(module).values()):
        if type(value) is _KEPT:
            if _asks(value):
                yield value
        elif type(value) is type and value.__module__ == module.__name__:
            for part in list(vars(value).values()):
                inner = getattr(part, "__func__", part)
                if type(inner) is _KEPT and _asks(inner):
                    yield inner


def _asks(function: Any) -> bool:
    code = getattr(getattr(function, "__wrapped__", None), "__code__", None)
    return isinstance(code, CodeType) and any(
        not _WORDS.isdisjoint(name.lower().split("_")) for name in code.co_names
    )
