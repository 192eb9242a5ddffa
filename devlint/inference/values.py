"""Abstract values that refer to the program's own records: its functions, classes and files.

The others are in `devlint.inference.domain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.path_conditions import Sides
from devlint.inference.domain.placement import Device, Placement, Variable, same_place
from devlint.inference.domain.provenance import Provenance
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import (
    MAX_ALTERNATIVES,
    MAX_MODULES,
    UNKNOWN,
    Value,
    join,
    merge,
)

if TYPE_CHECKING:
    from devlint.contracts import Requirement
    from devlint.inference.classes import ClassInfo
    from devlint.inference.frame import Frame
    from devlint.inference.functions import Function
    from devlint.inference.unit import Unit


class ProjectModule(Value):
    """A Python module of the project."""

    __slots__ = ("unit",)

    def __init__(self, unit: Unit) -> None:
        self.unit = unit


class Imported(Value):
    """What an import binds, before anything asks for it: most of what a file imports is never used
    by the functions that are walked, and to load it all is to load the project for each file."""

    __slots__ = ("_asked", "_value", "module", "name", "unit")

    def __init__(self, unit: Unit, module: str, name: str | None) -> None:
        self.unit = unit
        self.module = module
        self.name = name  # of what `from module import name` takes; None for `import module`
        self._asked = False
        self._value: Value | None = None

    def resolve(self) -> Value | None:
        """What it stands for; None, as if not bound yet, while that is being found out: a cycle of
        imports, or a package that imports its own part under the part's name."""
        if not self._asked:
            self._asked = True
            if self.name is None:
                self._value = self.unit.module(self.module)
            else:
                self._value = self.unit.member(self.module, self.name)
        return self._value

    def resolved(self) -> Value:
        return self.resolve() or UNKNOWN


class FunctionValue(Value):
    """A function of the project, perhaps bound to an object, perhaps with arguments given."""

    __slots__ = ("bound", "function", "given")

    def __init__(
        self,
        function: Function,
        bound: Value | None = None,
        given: tuple[list[Value], dict[str, Value]] | None = None,
    ) -> None:
        self.function = function
        self.bound = bound
        self.given = given

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is FunctionValue
        return self if self.function is other.function and self.bound is other.bound else None


class ClassValue(Value):
    """A class of the project."""

    __slots__ = ("info",)

    def __init__(self, info: ClassInfo) -> None:
        self.info = info


class Instance(Value):
    """An object of a project class, or an `nn.Module` of a library or of an unknown class.

    For a module, `place` is where it was put first; later moves are kept in the environment under
    the object itself, so that branches stay apart. A submodule follows its `parent`.
    """

    __slots__ = (
        "fields",
        "given",
        "info",
        "items",
        "library",
        "module",
        "moves",
        "name",
        "origin",
        "parent",
        "place",
        "tensor",
        "twins",
    )

    def __init__(
        self,
        info: ClassInfo | None = None,
        library: str = "",
        module: bool = False,
        place: Placement = None,
        origin: Provenance | None = None,
        parent: Instance | None = None,
        items: Sequence | None = None,
        name: str = "",
    ) -> None:
        self.info = info
        self.library = library
        self.module = module
        self.place = place
        self.origin = origin
        self.parent = parent
        self.items = items
        self.name = name
        self.moves = 0  # after the first, within one function
        self.fields: dict[str, Value] = {}
        self.given: dict[Variable, Tensor] | None = None  # by the constructor's call
        self.tensor: Tensor | None = None  # what stands for those that a library's object holds
        # Others of its class for which it stands, too, where one of several is meant.
        self.twins: list[Instance] = []

    def __repr__(self) -> str:
        return f"Instance({self.info.name if self.info else self.library}, {self.place})"

    @property
    def room(self) -> int:
        return MAX_MODULES if self.module else MAX_ALTERNATIVES

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Instance
        if self.tensor is not None and other.tensor is not None and self.library == other.library:
            merged = merge(self.tensor, other.tensor)
            if merged is self.tensor or merged is other.tensor:
                return self if merged is self.tensor else other
        if self.info is None or self.info is not other.info:
            return None
        alike = self.library == other.library and self.place == other.place
        return _merge_objects(self, other, sides) if alike else None

    def stand_for(self, other: Value) -> None:
        has_room = len(self.twins) < MAX_MODULES
        if isinstance(other, Instance) and other not in self.twins and has_room:
            self.twins.append(other)


class Placed(Value):
    """In an environment under a module object: where the module is now."""

    __slots__ = ("origin", "place")

    def __init__(self, place: Placement, origin: Provenance | None) -> None:
        self.place = place
        self.origin = origin

    def merge(self, other: Value, sides: Sides | None) -> Value:
        """A module that only one branch moved is moved: the accelerated world."""
        assert type(other) is Placed
        if self.place == other.place:
            return self
        for side in (self, other):
            if type(side.place) is Variable or (
                type(side.place) is Device and side.place.is_accelerator
            ):
                return side
        return Placed(None, None)


class Optimizer(Value):
    """An optimizer over the parameters of `module`, built at `origin`."""

    __slots__ = ("module", "origin")

    def __init__(self, module: Instance | None, origin: Provenance) -> None:
        self.module = module
        self.origin = origin


class Parameters(Value):
    """`module.parameters()`, or a list made from it."""

    __slots__ = ("module", "tensor")

    def __init__(self, module: Instance | None, tensor: Tensor) -> None:
        self.module = module
        self.tensor = tensor


class Method(Value):
    """A method of a value, not called yet: `x.to`, `torch.add` bound by getattr."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Partial(Value):
    """`functools.partial(f, …)` of anything that is no project function."""

    __slots__ = ("args", "callee", "keywords")

    def __init__(self, callee: Value, args: list[Value], keywords: dict[str, Value]) -> None:
        self.callee = callee
        self.args = args
        self.keywords = keywords


class Generator(Value):
    """A `torch.Generator`."""

    __slots__ = ("origin", "place")

    def __init__(self, place: Placement, origin: Provenance | None) -> None:
        self.place = place
        self.origin = origin


class Super(Value):
    """`super()` inside a class."""

    __slots__ = ("info", "instance")

    def __init__(self, info: ClassInfo, instance: Value) -> None:
        self.info = info
        self.instance = instance


class TypeExpression(Value):
    """A type that a name stands for, to be read as an annotation: `Cuda = Annotated[Tensor, …]`."""

    __slots__ = ("frame", "node")

    def __init__(self, node: cst.BaseExpression, frame: Frame) -> None:
        self.node = node
        self.frame = frame


class Contract(Value):
    """`On("cuda")` or `SameDevice("x")` of devlint.contracts."""

    __slots__ = ("requirement",)

    def __init__(self, requirement: Requirement) -> None:
        self.requirement = requirement


def _merge_objects(a: Instance, b: Instance, sides: Sides | None) -> Instance:
    """One object for two of a class: what they were made with, and hold, may differ."""
    if a.module or (a.given is b.given and a.fields is b.fields):
        return a
    fields = {
        name: join(held, b.fields[name], sides) if name in b.fields else held
        for name, held in (b.fields | a.fields).items()
    }
    given = _merge_given(a.given or {}, b.given or {})
    if given == a.given and all(a.fields.get(name) is held for name, held in fields.items()):
        return a
    merged = Instance(a.info, a.library, False, a.place, a.origin, a.parent, a.items, a.name)
    merged.fields, merged.given, merged.tensor = fields, given, a.tensor
    return merged


def _merge_given(
    a: dict[Variable, Tensor], b: dict[Variable, Tensor]
) -> dict[Variable, Tensor] | None:
    """Where two objects' constructors were given the same, and otherwise unknown."""
    merged = dict(a)
    for variable, tensor in b.items():
        mine = a.get(variable)
        if mine is None or not same_place(mine.place, tensor.place):
            merged[variable] = Tensor(None)
    return merged or None
