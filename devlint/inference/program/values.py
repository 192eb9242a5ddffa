"""Values that refer to the program: its classes, functions, objects and modules."""

from __future__ import annotations

from collections.abc import Callable

from devlint.contracts import Requirement
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.path_conditions import PathCondition, Sides
from devlint.inference.domain.placement import Placement, Variable, is_accelerated, same_place
from devlint.inference.domain.provenance import Provenance
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import (
    MAX_ALTERNATIVES,
    MAX_MODULES,
    TOP,
    UNKNOWN,
    Value,
    covers,
    merge,
)
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.loops import Environment
from devlint.inference.program.units import Unit
from devlint.records import dataclass


@dataclass(slots=True, eq=False, repr=False)
class ProjectModule(Value):
    """A Python module of the project."""

    unit: Unit

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is ProjectModule
        return self if self.unit is other.unit else None


class Imported(Value):
    """What an import binds, before anything asks for it: most of what a file imports is never used
    by the functions that are walked, and to load it all is to load the project for each file."""

    __slots__ = ("_ask", "_value")

    def __init__(self, ask: Callable[[], Value | None]) -> None:
        self._ask: Callable[[], Value | None] | None = ask
        self._value: Value | None = None

    def resolve(self) -> Value | None:
        """What it stands for; None, as if not bound yet, while that is being found out: a cycle of
        imports, or a package that imports its own part under the part's name."""
        if self._ask is not None:
            ask, self._ask = self._ask, None
            self._value = ask()
        return self._value

    def resolved(self) -> Value:
        value = self.resolve()
        return UNKNOWN if value is None else value.resolved()


def read(env: Environment, name: str) -> Value | None:
    """What a name holds in this environment; what was imported is looked for now."""
    value = env.get(name)
    if type(value) is Imported:
        value = value.resolve()
        if value is not None:
            env[name] = value
    return value


@dataclass(slots=True, eq=False, repr=False)
class FunctionValue(Value):
    """A function of the project, perhaps bound to an object, perhaps with arguments given."""

    function: Function
    bound: Value | None = None
    given: tuple[list[Value], dict[str, Value]] | None = None

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is FunctionValue
        return self if self._content == other._content else None

    @property
    def _content(self) -> tuple[int, ...]:
        return id(self.function), id(self.bound), id(self.given)

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is FunctionValue
        return self.function.node is other.function.node


@dataclass(slots=True, eq=False, repr=False)
class ClassValue(Value):
    """A class of the project."""

    info: ClassInfo

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is ClassValue
        return self if self.info is other.info else None


class Instance(Value):
    """An object of a project class, or an `nn.Module` of a library or of an unknown class.

    For a module, `place` is where it was put first; later moves are kept in the environment under
    the object itself, so that branches stay apart. A submodule follows its `parent`.
    """

    __slots__ = (
        "_items",
        "fields",
        "given",
        "info",
        "left",
        "library",
        "module",
        "moves",
        "name",
        "origin",
        "others_move_it",
        "parent",
        "place",
        "stateless_given",
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
        self._items = items
        self.name = name
        self.moves = 0  # after the first, within one function
        self.fields = Mapping()  # what its attributes hold, by name
        self.given: dict[Variable, Tensor] | None = None  # by the constructor's call
        # The parameters that the constructor's call gave no tensor and no module.
        self.stateless_given: tuple[str, ...] = ()
        self.tensor: Tensor | None = None  # what stands for those that a library's object holds
        self.others_move_it = False  # a global that functions move where it is
        # Where the constructor of a plain object left it, whose methods or makers move it.
        self.left: Placed | None = None
        # Others of its class for which it stands, too, where one of several is meant.
        self.twins: list[Instance] = []

    def __repr__(self) -> str:
        return f"Instance({self.info.name if self.info else self.library}, {self.place})"

    @property
    def items(self) -> Sequence | None:
        """Its members, if it is a container of modules."""
        items = self._items
        if items is not None and items.addresses and type(items.addresses[0].left) is Sequence:
            return items.addresses[0].left
        return items

    @items.setter
    def items(self, items: Sequence | None) -> None:
        self._items = items

    def take_in(self, member: Value) -> None:
        """A container is given one more member, whoever sees it under whatever name."""
        assert self.items is not None
        self.items.addresses[0].left = self.items.adding(member)

    @property
    def room(self) -> int:
        return MAX_MODULES if self.module else MAX_ALTERNATIVES

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        """Two objects of a class of the project in one place are one, and so are two of a library's
        whose tensors are one. Of two modules it is the first, which stands for both."""
        assert type(other) is Instance
        if self.library != other.library or self.info is not other.info:
            return None
        if self.info is None:
            return self._merge_held(other)
        if self.module is not other.module or self.place != other.place:
            return None
        return self if self.module else _merge_objects(self, other, sides)

    def _merge_held(self, other: Instance) -> Instance | None:
        if self.tensor is None or other.tensor is None:
            return None
        tensor = self.tensor.merge(other.tensor, None)
        if tensor is None or tensor is self.tensor:
            return None if tensor is None else self
        merged = Instance(None, self.library, self.module, tensor.place, tensor.origin)
        merged.tensor = tensor
        return merged

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Instance
        if self.library != other.library or self.info is not other.info:
            return False
        if self.info is None and self.tensor is not None and other.tensor is not None:
            return self.tensor.covers(other.tensor, depth)  # the object is where that is
        return self.place == other.place and self.module is other.module

    def stand_for(self, other: Value) -> None:
        has_room = len(self.twins) < MAX_MODULES
        if isinstance(other, Instance) and other not in self.twins and has_room:
            self.twins.append(other)


class _Selves:
    """What `self` is in the methods of each class of a file."""

    def __init__(self, unit: Unit) -> None:
        self.values: dict[ClassInfo, Instance] = {}


def self_of(info: ClassInfo) -> Instance:
    """`self` in the methods of a class: a module is where its device variable says."""
    known = info.unit.kept(_Selves).values
    found = known.get(info)
    if found is None:
        place = info.variable if info.is_module else None
        found = known[info] = Instance(info, "", info.is_module, place)
    return found


@dataclass(slots=True, eq=False, repr=False)
class Placed(Value):
    """In an environment under a module object: where the module is now."""

    place: Placement
    origin: Provenance | None

    def merge(self, other: Value, sides: Sides | None) -> Value:
        assert type(other) is Placed
        return self if self.place == other.place else Placed(None, None)

    def outweighs(self, other: Value, sides: Sides) -> Value | None:
        """A module that only one branch moved to an accelerator is there: the accelerated world."""
        assert type(other) is Placed
        if not is_accelerated(self.place) or is_accelerated(other.place):
            return None
        return self.of_branch(sides[0])

    def of_branch(self, when: PathCondition) -> Placed:
        if self.origin is None or not when:
            return self
        return Placed(self.place, self.origin.of_branch(when))

    def within(self, when: PathCondition) -> Placed:
        is_there = self.origin is None or not self.origin.is_excluded(when)
        return self if is_there else Placed(None, None)


@dataclass(slots=True, eq=False, repr=False)
class Optimizer(Value):
    """An optimizer over the parameters of `module`, built at `origin`."""

    module: Instance | None
    origin: Provenance

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Optimizer
        same = self.module is other.module and self.origin.node is other.origin.node
        return self if same else None


@dataclass(slots=True, eq=False, repr=False)
class Parameters(Value):
    """`module.parameters()`, or a list made from it."""

    module: Instance | None
    tensor: Tensor

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Parameters
        tensor = self.tensor.merge(other.tensor, sides)
        if self.module is not other.module or tensor is None:
            return None
        return self if tensor is self.tensor else Parameters(self.module, tensor)


@dataclass(slots=True, eq=False, repr=False)
class Method(Value):
    """A method of a value, not called yet: `x.to`, `torch.add` bound by getattr."""

    receiver: Value
    name: str

    def resolved(self) -> Value:
        """Itself; a method of one of too many values is one of too many."""
        return TOP if self.receiver is TOP else self

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Method
        if self.name != other.name:
            return None
        receiver = merge(self.receiver, other.receiver, sides)
        return None if receiver is None else Method(receiver, self.name).resolved()


@dataclass(slots=True, eq=False, repr=False)
class Partial(Value):
    """`functools.partial(f, …)` of anything that is no project function."""

    callee: Value
    args: list[Value]
    keywords: dict[str, Value]

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Partial
        return covers(self.callee, other.callee, depth - 1)


@dataclass(slots=True, eq=False, repr=False)
class Generator(Value):
    """A `torch.Generator`."""

    place: Placement
    origin: Provenance | None

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Generator
        return self if self.place == other.place else None


@dataclass(slots=True, eq=False, repr=False)
class Super(Value):
    """`super()` inside a class."""

    info: ClassInfo
    instance: Value

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Super
        same = self.info is other.info and self.instance is other.instance
        return self if same else None


@dataclass(slots=True, eq=False, repr=False)
class Contract(Value):
    """`On("cuda")` or `SameDevice("x")` of devlint.contracts."""

    requirement: Requirement

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Contract
        return self if self.requirement == other.requirement else None


def _merge_objects(a: Instance, b: Instance, sides: Sides | None) -> Instance:
    """One object for two of a class: what they were made with, and hold, may differ."""
    if a.given is b.given and a.fields is b.fields:
        return a
    fields = a.fields if a.fields is b.fields else a.fields.merge(b.fields, sides)
    given = _merge_given(a.given or {}, b.given or {})
    if given == a.given and _is_same(fields, a.fields):
        return a
    merged = Instance(a.info, a.library, False, a.place, a.origin, a.parent, a.items, a.name)
    merged.fields, merged.given, merged.tensor = fields, given, a.tensor
    return merged


def _is_same(a: Mapping, b: Mapping) -> bool:
    """The same entries at the same addresses."""
    return (
        a.addresses == b.addresses
        and a.entries.keys() == b.entries.keys()
        and all(b.entries[name] is held for name, held in a.entries.items())
    )


def _merge_given(
    a: dict[Variable, Tensor], b: dict[Variable, Tensor]
) -> dict[Variable, Tensor] | None:
    """Where two objects' constructors were given the same, and otherwise unknown."""
    merged = {}
    for variable in a | b:
        mine, other = a.get(variable), b.get(variable)
        agree = mine is not None and other is not None and same_place(mine.place, other.place)
        merged[variable] = mine if mine is not None and agree else Tensor(None)
    return merged or None
