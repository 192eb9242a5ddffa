"""Dataclasses and named tuples that are made in a third of the time: a start of devlint makes 270.

`dataclasses.dataclass` writes and compiles up to ten methods for each class. Here it writes none
but an `__init__`, when the first object is made; what compares, hashes and shows is the same for
all classes. Nor is a frozen one frozen but for the type checker: so its `__init__` takes less time.
`typing.NamedTuple` compiles the type of each field.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import namedtuple
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple", "dataclass", "made_when_needed"]

_dataclass: Any = dataclasses.dataclass  # `devlint.nodes` puts another in its place for a time

if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import NamedTuple
else:

    def dataclass(kind=None, /, *, eq=True, order=False, frozen=False, repr=True, **options):
        """`dataclasses.dataclass`."""

        def of(kind):
            own = vars(kind)
            made = made_when_needed(kind, **options)
            if repr and "__repr__" not in own:
                made.__repr__ = _shown
            if eq and "__eq__" not in own:
                _compare(made, frozen, order)
            return made

        return of if kind is None else of(kind)

    class _OfTuples(type):
        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            types = namespace["__annotations__"]
            defaults = [namespace.pop(each) for each in types if each in namespace]
            made = namedtuple(name, types, defaults=defaults, module=namespace["__module__"])
            for key, value in namespace.items():
                if key != "__qualname__":
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_OfTuples):
        """`typing.NamedTuple`."""


def made_when_needed(kind: Any, **options: Any) -> Any:
    """A dataclass whose `__init__` is written when it is first called, and no other method."""
    kind.__doc__ = kind.__doc__ or kind.__name__  # else a signature is worked out for it
    made: Any = _dataclass(kind, init=False, eq=False, repr=False, **options)
    if "__init__" in vars(kind):
        return made

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        init = _written(made)
        each: Any
        for each in type(self).__mro__:  # LibCST makes another class of this one, with slots
            if each.__dict__.get("__init__") is __init__:
                each.__init__ = init
        init(self, *args, **options)

    made.__init__ = __init__
    return made


def _written(kind: Any) -> Any:
    """The `__init__` of a dataclass, as a plain class with the same fields has it."""
    fields = {each.name: each for each in dataclasses.fields(kind)}
    types = {name: field.type for name, field in fields.items()}
    checked = {"__post_init__": None} if hasattr(kind, "__post_init__") else {}
    told = {"__doc__": kind.__doc__, "__annotations__": types}
    plain: Any = type(kind.__name__, (), {**told, **checked, **fields})
    _dataclass(plain, eq=False, repr=False)
    return plain.__init__


def _compare(kind: Any, hashed: bool, ordered: bool) -> None:
    """Objects of a class are equal where their fields are, and have the order of these."""
    names = [each.name for each in dataclasses.fields(kind) if each.compare]
    get = attrgetter(*names) if names else type

    def by(compare: Any) -> Any:
        def compared(self: Any, other: object) -> Any:
            return compare(get(self), get(other)) if type(self) is type(other) else NotImplemented

        return compared

    def __hash__(self: Any) -> int:
        return hash(get(self))

    kind.__eq__, kind.__hash__ = by(operator.eq), __hash__ if hashed else None
    if ordered:
        kind.__lt__, kind.__le__ = by(operator.lt), by(operator.le)
        kind.__gt__, kind.__ge__ = by(operator.gt), by(operator.ge)


def _shown(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__name__}({', '.join(shown)})"
