"""Placements of values, for those who ask to see them."""

from __future__ import annotations

import enum

from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Site, Step
from devlint.records import NamedTuple


class ValueKind(str, enum.Enum):
    """What a value is that has a place."""

    TENSOR = "tensor"
    MODULE = "module"
    DEVICE = "device"  # a `torch.device`, or what stands for one


class Whereabouts(NamedTuple):
    """One of the things that a value may be, or hold, and where that is."""

    kind: ValueKind
    placement: Placement
    steps: tuple[Step, ...]
    assumptions: Assumptions = ()
    held: bool = False  # in a list, a tuple or a dict


class Placed(NamedTuple):
    """A value with its places. `site` is its name's or its expression's; `binds`: it is given
    that name there."""

    site: Site
    name: str
    whereabouts: tuple[Whereabouts, ...]
    binds: bool = False
