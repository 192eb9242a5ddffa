"""LibCST's nodes as devlint uses them: imported in a third of the time, compared and told apart in
C.

What is lowest of ours imports LibCST from here, before anyone else does. Where it was imported
already, its classes are as LibCST makes them, and all works as well.
"""

from __future__ import annotations

import dataclasses
from abc import ABCMeta
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from devlint.records import dataclass, made_when_needed


@contextmanager
def _light_dataclasses() -> Iterator[None]:
    """For the import of LibCST: `dataclass` writes and compiles up to ten methods for each class.
    Here it writes none but an `__init__`, when the first object is made: most kinds of nodes are in
    no small file. Nothing is frozen, and so an `__init__` takes less time, too. What else nodes
    have, LibCST has given their classes by then."""
    before: Any = dataclasses.dataclass

    def light(kind: type | None = None, /, **options: Any) -> Any:
        def of(kind: type) -> Any:
            if kind.__module__.startswith("libcst._nodes."):
                return made_when_needed(kind)
            made: Any = dataclass if kind.__module__.startswith("libcst.") else before
            return made(kind, **options)

        return of if kind is None else of(kind)

    dataclasses.dataclass = light
    try:
        yield
    finally:
        dataclasses.dataclass = before


with _light_dataclasses():
    import libcst as cst


__all__ = ["cst"]


def _each_below(kind: type, change: Callable[[type], None]) -> None:
    each: type
    for each in kind.__subclasses__():
        change(each)
        _each_below(each, change)


def _compare_in_c(kind: Any) -> None:
    """A node is equal to itself alone. LibCST says so of each of its classes in Python, as a table
    of nodes finds out at each look; as any object has it, it is the same and takes no call."""
    if kind.__hash__ is _HASH and kind.__eq__ is _EQUAL:
        kind.__hash__, kind.__eq__ = object.__hash__, object.__eq__


class _Kind(ABCMeta):
    """The metaclass of LibCST's nodes, but that `isinstance` is answered in C. An abstract class
    looks in Python for classes that were registered with it, which is done with none of these."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def _ask_in_c(kind: Any) -> None:
    """Instances of a class are told in C."""
    kind.__class__ = _Kind


_HASH: Any = cst.CSTNode.__hash__
_EQUAL: Any = cst.CSTNode.__eq__
_each_below(cst.CSTNode, _compare_in_c)
_ask_in_c(cst.CSTNode)
_each_below(cst.CSTNode, _ask_in_c)
