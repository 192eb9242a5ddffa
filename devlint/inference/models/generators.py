"""Generators of random numbers: each draws on its own device only."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.placement import CPU, Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models.unification.contradictions import contradiction
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.pending_meetings import add_pending
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Generator
from devlint.inference.syntax.text import shorten

# They draw the order of rows, and a seed for their workers, on the host.
_DATA = "torch.utils.data."
_DRAW_ON_HOST = frozenset(
    {f"{_DATA}DataLoader", f"{_DATA}dataloader.DataLoader", f"{_DATA}random_split"}
    | {f"{_DATA}dataset.random_split", f"{_DATA}RandomSampler", f"{_DATA}sampler.RandomSampler"}
    | {f"{_DATA}SubsetRandomSampler", f"{_DATA}WeightedRandomSampler"}
)


def check(frame: Frame, node: cst.Call, result: Value, arguments: Arguments) -> None:
    """What a call makes, or fills, and the generator that it is given."""
    generator = arguments.keywords.get("generator")
    if generator is not None and type(result) is Tensor:
        compare(frame, node, result, generator[0], generator[1])


def check_data(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """`DataLoader(rows, generator=g)`: a loader, a sampler or a split draws on the host, unless
    somebody has set another default device."""
    generator = arguments.keywords.get("generator")
    if name in _DRAW_ON_HOST and generator is not None and not frame.has_default_device:
        drawn = Tensor(CPU, frame.origin(StepKind.CREATED, node), DEFAULT)
        compare(frame, node, drawn, generator[0], generator[1])


def compare(
    frame: Frame, node: cst.Call, result: Tensor, value: Value, argument: cst.CSTNode
) -> None:
    """A generator fills only tensors of its own device type (ATen, check_generator)."""
    for generator in alternatives(value):
        if not isinstance(generator, (Generator, Tensor)):
            continue
        place = generator.place
        if place is None or result.place is None:
            continue
        kind, said = MeetingKind.GENERATOR, shorten(node.func)
        if type(generator) is Tensor:  # a parameter, of which its callers know more
            if type(place) is Variable and place.parameter:
                given = Tensor(place, generator.origin)
                add_pending(frame, node, kind, said, given, result, pointwise=False)
            continue
        own = Tensor(place, generator.origin, DEFAULT if place == CPU else 0)
        found = contradiction(frame, own, result, pointwise=False)
        if found is not None:
            note(frame, node, kind, said, (own, argument), (result, node), found)
        elif Variable in (type(place), type(result.place)):
            add_pending(frame, node, kind, said, own, result, pointwise=False)
