"""Abstract values: what the inference knows of a Python value.

A tensor is its placement, its history and a few traits. Everything that is no tensor is kept only
as far as it leads to one: containers, modules, devices, functions, constants.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from devlint.inference.choices import ALWAYS, Sides, When, both, either, exclude
from devlint.inference.facts import Source, StepKind
from devlint.inference.placement import Device, Placement, Variable

if TYPE_CHECKING:
    from devlint.contracts import Requirement
    from devlint.inference.classes import ClassInfo
    from devlint.inference.frame import Frame
    from devlint.inference.functions import Function
    from devlint.inference.unit import Unit

MAX_ALTERNATIVES = 4
MAX_MODULES = 16  # that the elements of a container may be
# Functions that make a tensor of what is none.
CONVERTERS = frozenset({"tensor", "as_tensor", "asarray", "from_numpy"})

# Traits of a tensor, as bits.
SCALAR = 1  # 0-dim
DEFAULT = 2  # made by a factory without `device=`
LOADED = 4  # came from a DataLoader or the disk and was never moved
GRAD = 8  # requires grad
PARAMETER = 16  # an nn.Parameter or a buffer of a module
PINNED = 32
INDIRECT = 64  # its place was inferred through an unknown callee
NON_LEAF = 128  # required grad, then moved
COPYING = 256  # a non-blocking copy to the host that may not have landed
MASK = 512  # boolean, by how it was made
LITERAL = 1024  # made from a Python literal
KEPT = 2048  # an object kept it as a plain attribute
EMPTY = 4096  # has no elements, by its shape
VECTOR = 8192  # 1-dim
PAGEABLE = 1 << 15  # a batch of a DataLoader in sight that does not pin
SHAPED = 1 << 16  # computed element by element from a parameter: 0-dim if that is
MAYBE_SCALAR = 16384  # may be 0-dim: made or picked from a value of unknown shape
RECORDED = 1 << 17  # autograd records it, see gradients.py
EXPECTED = 1 << 18  # so it seems: a callee out of sight made it
MATRIX = 1 << 19  # has two dimensions or more

_ZERO_DIM = SCALAR | MAYBE_SCALAR

# What a result inherits from the operand that gave it its place.
INHERITED = DEFAULT | LOADED | INDIRECT | KEPT | MATRIX


class Origin:
    """One step of a value's history, linked to the step before.

    `when`: the way that tests came out under which it came about, and all that follows from it.
    `assumed`: those of a move that is taken to have been made, since it is in one branch.
    """

    __slots__ = ("assumed", "before", "kind", "node", "note", "parent", "rival", "source", "when")

    def __init__(
        self,
        kind: StepKind,
        node: cst.CSTNode,
        source: Source,
        parent: Origin | None = None,
        note: str = "",
        before: Placement = None,
    ) -> None:
        # Of a move: where the value was. Of a conversion to a tensor: where it is if it was one.
        self.before = before
        self.kind = kind
        self.node = node
        self.source = source
        self.parent = parent
        self.note = note
        # Of a computation: an operand that decides where its result is, should it be a tensor.
        self.rival: Tensor | None = None
        self.when: When = ALWAYS if parent is None else parent.when
        self.assumed: When = ALWAYS if parent is None else parent.assumed

    def known(self, when: When) -> Origin:
        """The same step, of a value of which just these facts hold."""
        step = Origin(self.kind, self.node, self.source, self.parent, self.note, self.before)
        step.rival = self.rival
        step.when, step.assumed = when, self.assumed
        return step

    def is_same(self, other: Origin | None) -> bool:
        """One step, whatever is known of the values that took it."""
        return self is other or (
            other is not None
            and self.node is other.node
            and self.kind is other.kind
            and self.parent is other.parent
        )

    def chain(self) -> Iterator[Origin]:
        """This step and those before it, newest first."""
        step: Origin | None = self
        while step is not None:
            yield step
            step = step.parent

    @property
    def root(self) -> Origin:
        """The creation, or the parameter, with which the history begins."""
        step = self
        while step.parent is not None:
            step = step.parent
        return step


MAX_ANCESTORS = 64  # that one question after a value's evidence goes back to


class Evidence:
    """Whether a value of unknown type is a tensor: shown by how it is used, here or later on."""

    __slots__ = (
        "_host",
        "_tensor",
        "either",
        "foreign",
        "handed",
        "in_place",
        "index",
        "moved",
        "number",
        "own",
        "parents",
        "part",
    )

    def __init__(self, tensor: bool = False, parents: tuple[Evidence, ...] = ()) -> None:
        self._tensor = tensor
        self._host = False
        self.moved = False  # the function itself moves it somewhere
        self.in_place = False  # the function moves it as modules are moved: `x.to(device)` alone
        self.handed = False  # a callee out of sight gets it, which may move it if it is a module
        self.number = False  # by its name it is rather a number
        self.index = False  # it is used as the index of a device
        self.part = False  # one of several that a batch was unpacked into
        self.own = False  # an entry of a caller's dict that the class itself makes on the host
        # It has a method or an attribute that tensors lack, or is asked whether it is of another
        # class: an object of a class out of sight.
        self.foreign = False
        self.either = False  # its annotation admits tensors beside numbers or arrays
        self.parents = parents

    def mark_tensor(self) -> None:
        self._tensor = True

    def mark_host(self) -> None:
        self._host = True

    @property
    def is_host(self) -> bool:
        """Shown to be no tensor, by its own use or by that of all it was computed from."""
        if self._host or not self.parents:
            return self._host
        return all(parent._host for parent in self.parents)

    @property
    def is_tensor(self) -> bool:
        """Shown of the value itself, or of one that it was computed from."""
        if self._host or self._tensor or not self.parents:
            return self._tensor and not self._host
        asked: list[Evidence] = [self]
        for evidence in asked:  # grows on the way
            if evidence._host:
                continue
            if evidence._tensor:
                return True
            if len(asked) < MAX_ANCESTORS:
                asked += [parent for parent in evidence.parents if parent not in asked]
        return False


class Value:
    """The base of all values."""

    __slots__ = ()


class Unknown(Value):
    """Anything. It meets anything in silence."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Unknown"


UNKNOWN = Unknown()
# Anything, and what made it was told a device: where its tensors are is open, too.
PLACED = Unknown()


class Const(Value):
    """A Python constant."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)
ASSUMED = Const(True)  # a flag by its name alone: true in the accelerated world, or an index


class Host(Value):
    """A host value that is no tensor: a number, a shape, a NumPy array.

    `sizes` is the tensor whose shape or size it came from; `array` that it is a NumPy array;
    `whole` that it is a shape, not one of its numbers.
    """

    __slots__ = ("array", "sizes", "whole")

    def __init__(
        self, sizes: Tensor | None = None, array: bool = False, whole: bool = False
    ) -> None:
        self.sizes = sizes
        self.array = array
        self.whole = whole

    def __repr__(self) -> str:
        return "Host(array)" if self.array else "Host"


HOST = Host()
# The number of this process among those of all nodes: no number of a card of this node.
GLOBAL_RANK = Host()
RANK_VARIABLES = ("RANK", "SLURM_PROCID")  # of the environment, with that number
ARRAY = Host(array=True)
DTYPE = Host()


class Tensor(Value):
    """A tensor, or with `evidence` a value that may be one."""

    __slots__ = ("evidence", "origin", "place", "sizes", "traits")

    def __init__(
        self,
        place: Placement,
        origin: Origin | None = None,
        traits: int = 0,
        evidence: Evidence | None = None,
        sizes: Tensor | None = None,
    ) -> None:
        self.place = place
        self.origin = origin
        self.traits = traits
        self.evidence = evidence
        self.sizes = sizes

    def __repr__(self) -> str:
        maybe = "?" if self.evidence is not None else ""
        return f"Tensor{maybe}({self.place}, {self.traits:b})"

    @property
    def when(self) -> When:
        """The facts under which it came about."""
        return ALWAYS if self.origin is None else self.origin.when

    @property
    def assumed(self) -> When:
        """The facts under which it came about, or was moved."""
        return ALWAYS if self.origin is None else both(self.origin.when, self.origin.assumed)

    @property
    def is_sure(self) -> bool:
        """It is a tensor and nothing else."""
        return self.evidence is None or self.evidence.is_tensor

    def show(self) -> None:
        """It was used as only a tensor is."""
        if self.evidence is not None:
            self.evidence.mark_tensor()

    def with_place(
        self, place: Placement, origin: Origin | None, drop: int = 0, add: int = 0
    ) -> Tensor:
        """The same value elsewhere."""
        return Tensor(place, origin, (self.traits & ~drop) | add, self.evidence, self.sizes)


class DeviceValue(Value):
    """A `torch.device`, or what stands for one."""

    __slots__ = ("of", "place", "sure")

    def __init__(self, place: Placement, of: Tensor | None = None, sure: bool = False) -> None:
        self.place = place
        self.of = of  # the tensor whose `.device` it is
        self.sure = sure  # a `torch.device`, and no string that names one

    def __repr__(self) -> str:
        return f"DeviceValue({self.place})"


class Sequence(Value):
    """A list, tuple, set or iterator. `items` when each is known, `element` for any of them."""

    __slots__ = ("element", "items", "kind", "mixed", "names", "node")

    def __init__(
        self,
        items: list[Value] | None = None,
        element: Value | None = None,
        kind: str = "list",
        node: cst.CSTNode | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        self.items = items
        self.element = element
        self.kind = kind
        self.node = node
        self.names = names  # of a named tuple
        self.mixed = False  # filled from several places, so that its elements differ

    def any(self) -> Value:
        """A value that stands for every element."""
        if self.items is not None:
            return join_all(self.items) if self.items else (self.element or UNKNOWN)
        return self.element if self.element is not None else UNKNOWN

    def add(self, value: Value) -> None:
        """Append: weak, since another branch may not have."""
        value = no_circle(self, value)
        self.mixed = True
        if self.items is not None:
            self.element = join_all([*self.items, value]) if self.items else value
            self.items = None
        else:
            self.element = value if self.element is None else join(self.element, value)

    def __repr__(self) -> str:
        return f"{self.kind}({self.items if self.items is not None else self.element})"


def no_circle(holder: Value, value: Value) -> Value:
    """What a container may be given to hold: nothing is said of one that it is itself a part of,
    as in `root = []; root[:] = [root, root]`."""
    reached: list[Value] = [value]
    known = {id(value)}
    for each in reached:  # grows on the way
        if each is holder:
            return UNKNOWN
        inner: list[Value | None] = []
        if type(each) is Sequence:
            inner = [*(each.items or ()), each.element]
        elif type(each) is Mapping:
            inner = [*each.entries.values(), each.element]
        elif type(each) is Union:
            inner = [*each.alternatives]
        for part in inner:
            if isinstance(part, (Sequence, Mapping, Union)) and id(part) not in known:
                known.add(id(part))
                reached.append(part)
    return value


class NamedTuple(Value):
    """A class made by `namedtuple`: the names of its fields."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names


class Mapping(Value):
    """A dict: known string keys, and a value for any other."""

    __slots__ = ("element", "entries")

    def __init__(
        self, entries: dict[Any, Value] | None = None, element: Value | None = None
    ) -> None:
        self.entries = entries if entries is not None else {}
        self.element = element

    def any(self) -> Value:
        values = list(self.entries.values())
        if self.element is not None:
            values.append(self.element)
        return join_all(values) if values else UNKNOWN

    def get(self, key: object) -> Value:
        if isinstance(key, Const) and key.value in self.entries:
            return self.entries[key.value]
        if isinstance(key, Const):
            return self.element if self.element is not None else UNKNOWN
        return self.any()


class External(Value):
    """A name of a library outside the project, dotted: `torch.nn.functional.relu`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"External({self.name})"


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
        origin: Origin | None = None,
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


class Placed(Value):
    """In an environment under a module object: where the module is now."""

    __slots__ = ("origin", "place")

    def __init__(self, place: Placement, origin: Origin | None) -> None:
        self.place = place
        self.origin = origin


class Loader(Value):
    """A DataLoader or what stands for one: each iteration yields a fresh `batch` on the host."""

    __slots__ = ("batch",)

    def __init__(self, batch: Value) -> None:
        self.batch = batch


class Optimizer(Value):
    """An optimizer over the parameters of `module`, built at `origin`."""

    __slots__ = ("module", "origin")

    def __init__(self, module: Instance | None, origin: Origin) -> None:
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

    def __init__(self, place: Placement, origin: Origin | None) -> None:
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


class Union(Value):
    """One of several values: what different branches left. `whens`: what holds where it is each."""

    __slots__ = ("alternatives", "whens")

    def __init__(self, alternatives: tuple[Value, ...], whens: tuple[When, ...] = ()) -> None:
        self.alternatives = alternatives
        self.whens = whens or (ALWAYS,) * len(alternatives)

    def __repr__(self) -> str:
        return f"Union{self.alternatives}"


def alternatives(value: Value) -> tuple[Value, ...]:
    """The values that `value` may be."""
    if type(value) is Imported:
        value = value.resolve() or UNKNOWN
    return value.alternatives if type(value) is Union else (value,)


def cases(value: Value) -> tuple[tuple[Value, When], ...]:
    """The values that `value` may be, each with what holds where it is."""
    if type(value) is Imported:
        value = value.resolve() or UNKNOWN
    if type(value) is Union:
        return tuple(zip(value.alternatives, value.whens, strict=True))
    return ((value, ALWAYS),)


def possible(value: Value, when: When) -> Value:
    """The value where these facts hold: without the alternatives that are contrary to them."""
    if type(value) is not Union:
        return value
    fits = [
        not exclude(known, when) and not (type(v) is Tensor and exclude(v.when, when))
        for v, known in zip(value.alternatives, value.whens, strict=True)
    ]
    return _some_of(value, fits) if any(fits) else value


def without_none(value: Value) -> Value:
    """The value in a branch where it is not None."""
    if type(value) is Union:
        return _some_of(
            value, [not (type(v) is Const and v.value is None) for v in value.alternatives]
        )
    return value


def _some_of(value: Union, chosen: list[bool]) -> Value:
    left = list(itertools.compress(zip(value.alternatives, value.whens, strict=True), chosen))
    if len(left) == len(value.alternatives):
        return value
    if len(left) > 1:
        return Union(tuple(v for v, _ in left), tuple(when for _, when in left))
    return left[0][0] if left else UNKNOWN


def union(values: Iterable[Value], limit: int = MAX_ALTERNATIVES) -> Value:
    """One value for several, without doubles."""
    kept: list[Value] = []
    for value in values:
        for alternative in alternatives(value):
            for index, other in enumerate(kept):
                merged = _merge(other, alternative)
                if merged is not None:
                    if merged is not alternative and type(merged) is Instance:
                        _stand_for(merged, alternative)
                    kept[index] = merged
                    break
            else:
                if len(kept) == limit:
                    return UNKNOWN
                kept.append(alternative)
    if not kept:
        return UNKNOWN
    return Union(tuple(kept)) if len(kept) > 1 else kept[0]


def _stand_for(kept: Instance, other: Value) -> None:
    if type(other) is Instance and other not in kept.twins and len(kept.twins) < MAX_MODULES:
        kept.twins.append(other)


def join(a: Value, b: Value, sides: Sides | None = None) -> Value:
    """What a name holds after two branches; `sides`: what holds in the one and in the other."""
    if a is b:
        return a
    return union((a, b)) if sides is None else choose(((a, sides[0]), (b, sides[1])))


def choose(values: Iterable[tuple[Value, When]]) -> Value:
    """One value for several, each with what holds where it is taken: alternatives that only one
    of them has keep that."""
    kept: list[tuple[Value, When]] = []
    for value, when in values:
        for alternative, own in cases(value):
            whole = both(own, when)
            for index, (other, meanwhile) in enumerate(kept):
                merged = _merge(other, alternative, (meanwhile, whole))
                if merged is not None:
                    kept[index] = merged, either(meanwhile, whole)
                    break
            else:
                if len(kept) == MAX_ALTERNATIVES:
                    return UNKNOWN
                kept.append((alternative, whole))
    if not kept:
        return UNKNOWN
    if len(kept) == 1:
        return kept[0][0]
    return Union(tuple(under(v, when) for v, when in kept), tuple(when for _, when in kept))


def under(value: Value, when: When) -> Value:
    """The value where these facts hold."""
    return with_facts(value, lambda known: both(known, when)) if when else value


def with_facts(value: Value, change: Callable[[When], When]) -> Value:
    """The value with other facts known of each tensor that it is or holds; itself if they are the
    same."""
    if type(value) is Tensor:
        origin = value.origin
        if origin is None or value.place is None:
            return value
        when = change(origin.when)
        if when == origin.when:
            return value
        return Tensor(value.place, origin.known(when), value.traits, value.evidence, value.sizes)
    if type(value) is Union:
        changed = tuple(with_facts(v, change) for v in value.alternatives)
        whens = tuple(change(when) for when in value.whens)
        if whens == value.whens and _are_same(changed, value.alternatives):
            return value
        return Union(changed, whens)
    if type(value) is Sequence:
        items = None if value.items is None else [with_facts(v, change) for v in value.items]
        element = None if value.element is None else with_facts(value.element, change)
        if element is value.element and _are_same(items or (), value.items or ()):
            return value
        sequence = Sequence(items, element, value.kind, value.node, value.names)
        sequence.mixed = value.mixed
        return sequence
    if type(value) is Mapping:
        entries = {key: with_facts(entry, change) for key, entry in value.entries.items()}
        element = None if value.element is None else with_facts(value.element, change)
        if element is value.element and _are_same(entries.values(), value.entries.values()):
            return value
        return Mapping(entries, element)
    return value


def _are_same(a: Iterable[Value], b: Iterable[Value]) -> bool:
    return all(x is y for x, y in zip(a, b, strict=True))


def join_all(values: list[Value]) -> Value:
    """One value for the elements of a container."""
    only_modules = all(type(v) is Instance and v.module for v in values)
    return union(values, MAX_MODULES if only_modules else MAX_ALTERNATIVES)


def _merge(a: Value, b: Value, sides: Sides | None = None) -> Value | None:
    """One alternative for two that say the same, or None; of containers that, part by part."""
    if a is b:
        return a
    if type(a) is Unknown and type(b) is Unknown:
        # An unknown alternative must not hide what the other branch is known to hold, but the
        # whole is no longer certain: rules of meeting treat it through the other alternatives.
        return a
    if type(a) is Tensor and type(b) is Tensor:
        return _merge_tensors(a, b, sides)
    if type(a) is Const and type(b) is Const:
        return a if type(a.value) is type(b.value) and a.value == b.value else None
    if type(a) is Host and type(b) is Host:
        if a in (GLOBAL_RANK, DTYPE) or b in (GLOBAL_RANK, DTYPE):
            return HOST
        return a if a.array == b.array else None
    if type(a) is DeviceValue and type(b) is DeviceValue:
        return a if a.place == b.place else None
    if type(a) is Sequence and type(b) is Sequence:
        return _merge_sequences(a, b, sides)
    if type(a) is Mapping and type(b) is Mapping:
        merged = Mapping(dict(a.entries), a.element)
        for key, value in b.entries.items():
            merged.entries[key] = (
                join(merged.entries[key], value, sides) if key in merged.entries else value
            )
        if b.element is not None:
            merged.element = (
                b.element if merged.element is None else join(merged.element, b.element, sides)
            )
        return merged
    if type(a) is Placed and type(b) is Placed:
        return _merge_placed(a, b)
    if type(a) is External and type(b) is External:
        return a if a.name == b.name else None
    if type(a) is FunctionValue and type(b) is FunctionValue:
        same = a.function is b.function and a.bound is b.bound
        return a if same else None
    if type(a) is Instance and type(b) is Instance:
        if a.tensor is not None and b.tensor is not None and a.library == b.library:
            merged_tensor = _merge_tensors(a.tensor, b.tensor)
            if merged_tensor is a.tensor or merged_tensor is b.tensor:
                return a if merged_tensor is a.tensor else b
        alike = a.info is b.info and a.library == b.library and a.place == b.place
        return _merge_objects(a, b, sides) if alike and a.info is not None else None
    if type(a) is Loader and type(b) is Loader:
        return a
    return None


def _merge_tensors(a: Tensor, b: Tensor, sides: Sides | None = None) -> Tensor | None:
    """Two tensors with one placement are one; a moved tensor outweighs itself unmoved.

    `if gpu is not None: x = x.cuda(gpu)` is taken in the accelerated world.
    """
    if (a.traits ^ b.traits) & PARAMETER:
        return None
    if same_place(a.place, b.place):
        sure = a if a.evidence is None else b
        common = a.traits & b.traits
        if a.traits & _ZERO_DIM and b.traits & _ZERO_DIM and not common & SCALAR:
            common |= MAYBE_SCALAR
        some = (a.traits | b.traits) & (INDIRECT | GRAD | NON_LEAF | COPYING | KEPT)
        if not common & SCALAR and all(t.traits & (SCALAR | MAYBE_SCALAR) for t in (a, b)):
            some |= MAYBE_SCALAR
        # By default only if both are: a tensor put on the CPU on purpose in one branch is meant.
        return _of_either(sure, a.when, b.when, common | some)
    for moved, unmoved in ((a, b), (b, a)):
        if (
            moved.origin is not None
            and moved.origin.kind is StepKind.MOVED
            and moved.origin.parent is not None
            and moved.origin.parent.is_same(unmoved.origin)
            and (
                type(moved.place) is Variable
                or (type(moved.place) is Device and moved.place.is_accelerator)
            )
        ):
            merged = _of_either(moved, a.when, b.when, moved.traits)
            if sides is not None:
                step = moved.origin.known(merged.when)
                step.assumed = both(moved.origin.assumed, sides[moved is b])
                merged = merged.with_place(merged.place, step)
            return merged
    return None


def _of_either(tensor: Tensor, a: When, b: When, traits: int) -> Tensor:
    """One tensor for two: what holds of it is what holds of both."""
    origin, when = tensor.origin, either(a, b)
    if origin is not None and origin.when != when:
        origin = origin.known(when)
    elif tensor.traits == traits:
        return tensor
    return Tensor(tensor.place, origin, traits, tensor.evidence, tensor.sizes)


def _merge_sequences(a: Sequence, b: Sequence, sides: Sides | None = None) -> Sequence:
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        if all(x is y for x, y in zip(a.items, b.items, strict=True)):
            return a
        joined = [join(x, y, sides) for x, y in zip(a.items, b.items, strict=True)]
        return Sequence(joined, None, a.kind, a.node, a.names)
    elements = [side.any() for side in (a, b) if side.items or side.element is not None]
    if len(elements) == 2:
        elements = [join(elements[0], elements[1], sides)]
    merged = Sequence(None, elements[0] if elements else None, a.kind, a.node)
    merged.mixed = a.mixed or b.mixed
    return merged


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


def _merge_placed(a: Placed, b: Placed) -> Placed:
    """A module that only one branch moved is moved: the accelerated world."""
    if a.place == b.place:
        return a
    for side in (a, b):
        if type(side.place) is Variable or (
            type(side.place) is Device and side.place.is_accelerator
        ):
            return side
    return Placed(None, None)


def same_place(a: Placement, b: Placement) -> bool:
    """Equal as far as is known."""
    if a is b:
        return True
    return type(a) is Device and type(b) is Device and a == b


def same(a: Value, b: Value) -> bool:
    """Whether a second pass over a loop with `b` in place of `a` could show anything new."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is Tensor:
        assert type(b) is Tensor
        return same_place(a.place, b.place) and a.traits == b.traits
    merged = _merge(a, b)
    return merged is a or merged is b


def tensor_like(value: Value) -> Value:
    """A part of a value whose structure is unknown: a tensor in the same place, if any."""
    if type(value) is Tensor:
        traits = value.traits & ~(SCALAR | SHAPED)
        return Tensor(value.place, value.origin, traits, Evidence())
    return UNKNOWN
