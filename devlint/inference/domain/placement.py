"""Placements: where a value lives, as inferred.

A placement is a known `Device`, a device `Variable`, or `None` for unknown. An unknown placement
meets anything in silence.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from devlint.records import dataclass

ACCELERATORS = frozenset({"cuda", "mps", "xpu", "hpu", "npu", "mlu", "tpu", "xla", "ipu", "musa"})

# Of Gaudi, https://docs.habana.ai: its lazy mode brings the host tensors that an operation is given
# to the card, and only its eager mode refuses them.
LAZY = frozenset({"hpu"})


@dataclass(frozen=True, slots=True)
class Device:
    """A device as PyTorch names it: a type and, where the code fixes one, an index."""

    type: str
    index: int | None = None

    @property
    def is_accelerator(self) -> bool:
        return self.type in ACCELERATORS

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"


CPU = Device("cpu")


CUDA = Device("cuda")


META = Device("meta")


class VariableKind(str, enum.Enum):
    """Who chooses the device that a variable stands for."""

    MODULE = "module"  # whoever calls Module.to: δ(self)
    INPUT = "input"  # the caller, by the tensor handed in
    DEVICE = "device"  # the caller or the configuration, by a device handed in
    FLEXIBLE = "flexible"  # nobody yet: unification may bind it


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A device that the code's reader does not know. Two variables are equal only if identical."""

    name: str
    kind: VariableKind
    parameter: bool = False  # of one function: it means nothing outside of its calls

    @property
    def rigid(self) -> bool:
        return self.kind is not VariableKind.FLEXIBLE

    def __str__(self) -> str:
        return f"δ({self.name})"


Placement: TypeAlias = Device | Variable | None


def describe(placement: Placement) -> str:
    """The placement as messages name it: `cuda:1`, "the module's device", "the device of `x`"."""
    if placement is None:
        return "an unknown device"
    if type(placement) is not Variable:
        return str(placement)
    if placement.kind is VariableKind.DEVICE:
        return f"`{placement.name}`"
    if placement.kind is VariableKind.MODULE and placement.name == "self":
        return "the module's device"
    return f"the device of `{placement.name}`"


def same_place(a: Placement, b: Placement) -> bool:
    """Equal as far as is known."""
    if a is b:
        return True
    return type(a) is Device and type(b) is Device and a == b


def may_be_accelerator(place: Placement) -> bool:
    """On an accelerator, or where others chose: nothing that unification may still bind."""
    return place.rigid if type(place) is Variable else is_accelerated(place)


def is_accelerated(place: Placement) -> bool:
    """On an accelerator in the accelerated world: where others chose, they chose one."""
    return type(place) is Variable or (type(place) is Device and place.is_accelerator)
