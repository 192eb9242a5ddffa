"""Values of the host: constants, numbers, arrays, devices, names of libraries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from devlint.inference.domain.path_conditions import PathCondition, Sides
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, without
from devlint.records import dataclass


@dataclass(slots=True, eq=False, repr=False)
class Const(Value):
    """A Python constant."""

    value: Any

    def __repr__(self) -> str:
        return f"Const({self.value!r})"

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Const
        same = type(self.value) is type(other.value) and self.value == other.value
        if not same:
            return None
        return other if other is ASSUMED else self


def text_of(value: Value) -> str:
    """A constant text; "" of what is none."""
    return value.value if type(value) is Const and isinstance(value.value, str) else ""


NONE = Const(None)


TRUE = Const(True)


FALSE = Const(False)


ASSUMED = Const(True)  # a flag by its name alone: true in the accelerated world, or an index


@dataclass(slots=True, eq=False, repr=False)
class Host(Value):
    """A host value that is no tensor: a number, a shape, a NumPy array.

    `sizes` is the tensor whose shape or size it came from; `array` that it is a NumPy array;
    `whole` that it is a shape, not one of its numbers.
    """

    sizes: Tensor | None = None
    array: bool = False
    whole: bool = False

    def __repr__(self) -> str:
        return "Host(array)" if self.array else "Host"

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Host
        if self.array != other.array:
            return None
        if self._content == other._content:
            return self
        if GLOBAL_RANK in (self, other):
            return None  # one branch may have what no card has
        return ARRAY if self.array else HOST

    @property
    def _content(self) -> tuple[Hashable, ...]:
        special = id(self) if self in (GLOBAL_RANK, DTYPE) else None
        return self.array, id(self.sizes), self.whole, special


HOST = Host()


# The number of this process among those of all nodes: no number of a card of this node.
GLOBAL_RANK = Host()


RANK_VARIABLES = ("RANK", "SLURM_PROCID")  # of the environment, with that number


ARRAY = Host(array=True)


def number_of(values: Iterable[Value]) -> Host:
    """A number that is computed of others: of a shape's numbers it is one of that shape.
    `math.ceil(x.shape[0] / 2)`, `max(x.shape)`"""
    sizes = (v.sizes for v in values if type(v) is Host and not v.array)
    return next((Host(of) for of in sizes if of is not None), HOST)


def are_numbers(values: Iterable[Value]) -> bool:
    """Numbers, and shapes."""
    return all(type(v) is Const or (type(v) is Host and not v.array) for v in values)


DTYPE = Host()


@dataclass(slots=True, eq=False, repr=False)
class DeviceValue(Value):
    """A `torch.device`, or what stands for one."""

    place: Placement
    of: Tensor | None = None  # the tensor whose `.device` it is
    sure: bool = False  # a `torch.device`, and no string that names one
    # Of a tensor that is one of several: where each is, and when.
    one_of: tuple[tuple[Placement, PathCondition], ...] = ()
    number: bool = False  # the index of a card, which stands for it

    def __repr__(self) -> str:
        return f"DeviceValue({self.place})"

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is DeviceValue
        if self.place != other.place:
            return None
        if self._content == other._content:
            return self
        return DeviceValue(
            self.place,
            self.of if self.of is other.of else None,
            self.sure and other.sure,
            number=self.number and other.number,
        )

    @property
    def _content(self) -> tuple[Hashable, ...]:
        return id(self.of), self.sure, self.one_of, self.number


@dataclass(slots=True, eq=False, repr=False)
class External(Value):
    """A name of a library outside the project, dotted: `torch.nn.functional.relu`."""

    name: str

    def __repr__(self) -> str:
        return f"External({self.name})"

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is External
        return self if self.name == other.name else None


def without_none(value: Value) -> Value:
    """The value in a branch where it is not None."""
    return without(value, lambda v: type(v) is Const and v.value is None)
