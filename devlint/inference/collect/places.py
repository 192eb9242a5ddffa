"""Where values are, for those who ask: `reveal_device`, `devlint infer`, an editor.

A value is looked at where it is; only when the file is done is it known whether it is a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import libcst as cst

from devlint.inference.collect.explanation import steps
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.host import DeviceValue
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Provenance, Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Placed, ValueKind, Whereabouts
from devlint.inference.models.module_places import placed
from devlint.inference.program import assumption_sites
from devlint.inference.program.events import DeviceRevealed
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import shorten
from devlint.records import NamedTuple, dataclass

MAX_HELD = 8  # values in a container, and of one name


class Look(NamedTuple):
    """One of the things that a value is, as seen where it is."""

    kind: ValueKind
    place: Placement
    origin: Provenance | None
    assumptions: Assumptions = ()
    tensor: Tensor | None = None
    held: bool = False


@dataclass(slots=True)
class Reveals:
    """The calls of `reveal_device` in a file."""

    looks: dict[cst.Call, tuple[cst.CSTNode, list[Look]]] = field(default_factory=dict)


def reveal(frame: Frame, event: DeviceRevealed) -> None:
    """A call asks where a value is; in a loop the last turn tells."""
    node, value, value_node = event
    reveals = frame.unit.kept(_reveals)
    reveals.looks[node] = value_node, list(looks(frame, value))


def _reveals(unit: Unit) -> Reveals:
    return Reveals()


def settle(unit: Unit) -> None:
    """The file is done: say what was asked."""
    for node, (value_node, found) in unit.kept(_reveals).looks.items():
        site = Site(unit.source, node)
        unit.facts.revealed.append(Placed(site, shorten(value_node), told(found)))


def looks(frame: Frame, value: Value, held: bool = False) -> Iterator[Look]:
    """Each thing that a value is or holds and that has a place."""
    for each in alternatives(frame.snapshot(value)):
        if type(each) is Tensor:
            guess = assumption_sites.guess(frame, each)
            assumed = () if guess is None else (guess,)
            yield Look(ValueKind.TENSOR, each.place, each.origin, assumed, each, held)
        elif type(each) is Instance and each.module:
            place, origin = placed(frame, each)
            yield Look(ValueKind.MODULE, place, origin, held=held)
        elif type(each) is DeviceValue:
            yield Look(ValueKind.DEVICE, each.place, None, held=held)
        elif not held and type(each) is not Instance:
            for _, child in zip(range(MAX_HELD), each.children(), strict=False):
                yield from looks(frame, child, True)


def told(found: list[Look]) -> tuple[Whereabouts, ...]:
    """What was seen, each place of a kind once; without what turned out to be no tensor."""
    said: dict[tuple[object, ...], Whereabouts] = {}
    for look in found:
        evidence = look.tensor.evidence if look.tensor is not None else None
        if evidence is not None and evidence.is_host:
            continue
        assumptions = look.assumptions
        if evidence is not None and not evidence.is_tensor:
            assumptions = (*assumptions, *_is_tensor(look))
        where = Whereabouts(look.kind, look.place, steps(look.origin), assumptions, look.held)
        said.setdefault((look.kind, look.place, look.held), where)
    return tuple(said.values())[:MAX_HELD]


def _is_tensor(look: Look) -> Iterator[Assumption]:
    tensor = look.tensor
    if tensor is not None and tensor.origin is not None:
        root = tensor.origin.root
        site = Site(root.source, root.node)
        message = f"`{assumption_sites.name(tensor)}` is a tensor"
        yield Assumption(AssumptionKind.VALUE_IS_TENSOR, site, message)
