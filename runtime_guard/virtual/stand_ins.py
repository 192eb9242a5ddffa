"""Stand-ins for what modules took by ``from torch import …``, before the block or in it.

While it runs modules that took originals before have the stand-ins, as if they had been imported
inside; when it ends all have the originals, as if they had been imported outside.  Stand-ins that
went elsewhere (into a class, into a default) go on to work; originals there stay originals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Set
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from runtime_guard.core.patches import Patches, Replacement

APART = frozenset(
    {"torch", "functorch", "torchgen", "runtime_guard", "devlint", *sys.stdlib_module_names}
    - {"__main__"}
)
"""Top packages of PyTorch, which is patched where it asks, of the guard, which asks for what is
really there, and of Python, which takes nothing of torch."""

_FREE: dict[str, tuple[int, int]] = {}
"""Modules that held nothing of PyTorch, by name: which one it was, and how many names it had then.
Nearly all are, and a block would look through each of them again."""


def hand_out(patches: Patches) -> None:
    """Give modules outside of torch the stand-ins for its public functions and classes that they
    hold the originals of."""
    stand_ins: dict[int, list[Replacement]] = {}
    for replaced in list(patches.shown):
        if callable(replaced.original) and _is_public(replaced):
            stand_ins.setdefault(id(replaced.original), []).append(replaced)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in APART or not isinstance(module, ModuleType):
            continue
        names = vars(module)
        state = id(module), len(names)
        if _FREE.get(name) == state:
            continue
        if stand_ins.keys().isdisjoint(map(id, names.values())):
            if not any(map(_is_of_torch, list(names.values()))):
                _FREE[name] = state
            continue
        for attribute, value in list(names.items()):
            if id(value) in stand_ins:
                stand_in = _of_one(stand_ins[id(value)], attribute, "value")
                if stand_in is not None:
                    patches.set(module, attribute, stand_in)


def _is_of_torch(value: Any) -> bool:
    """A module of PyTorch, or what comes from one: whose module may take more of it."""
    if isinstance(value, ModuleType):
        owner = vars(value).get("__name__")
    elif isinstance(value, (FunctionType, BuiltinFunctionType, type)):
        owner = value.__module__
    else:
        owner = type(value).__module__
    return isinstance(owner, str) and owner.partition(".")[0] == "torch"


def _is_public(replaced: Replacement) -> bool:
    owner = replaced.owner
    named = isinstance(owner, ModuleType) and not replaced.name.startswith("_")
    return named and owner.__name__.partition(".")[0] == "torch"


def give_originals_back(replaced: Iterable[Replacement], before: Set[str]) -> None:
    """Put back what modules hold that are not among ``before``, and the program's main one."""
    originals: dict[int, list[Replacement]] = {}
    for replacement in replaced:
        if callable(replacement.value):
            originals.setdefault(id(replacement.value), []).append(replacement)
    for name in {*sys.modules} - before | {"__main__"}:
        names = getattr(sys.modules.get(name), "__dict__", {})
        for attribute, value in list(names.items()):
            if id(value) in originals:
                original = _of_one(originals[id(value)], attribute, "original")
                if original is not None:
                    names[attribute] = original


def _of_one(replacements: list[Replacement], attribute: str, side: str) -> Any:
    """One side of what was replaced; where there are several, that of the attribute's name."""
    if len({id(getattr(r, side)) for r in replacements}) > 1:
        replacements = [r for r in replacements if r.name == attribute]
    return getattr(replacements[0], side) if replacements else None


def nothing() -> Callable[..., None]:
    """A function that does nothing: one of its own for each name that it stands in for, since
    ``torch._dynamo`` has its rules by function."""

    def stand_in(*_: Any, **__: Any) -> None:
        return None

    return stand_in


def zero() -> Callable[..., int]:
    """The same, of a function that returns 0."""

    def stand_in(*_: Any, **__: Any) -> int:
        return 0

    return stand_in
