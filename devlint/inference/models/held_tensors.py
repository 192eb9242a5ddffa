"""Held tensors: those that a value is, holds, or may be."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import every


def tensors_in(value: Value, depth: int = 3) -> list[Tensor]:
    """The tensors that a value is or holds."""
    if type(value) is Tensor:
        return [value]
    if isinstance(value, (Sequence, Mapping)) and depth:
        return [tensor for child in value.children() for tensor in tensors_in(child, depth - 1)]
    if type(value) is Instance:
        return [] if value.tensor is None else [value.tensor]
    found = []
    for alternative in alternatives(value):
        if alternative is not value:
            found += tensors_in(alternative, depth)
    return found


_MOST_COMPANIONS = 50  # each is held against each


def with_companions(value: Value) -> Iterator[tuple[Tensor, frozenset[Placement]]]:
    """The tensors that a value is or holds, each with the places of what a container holds beside
    it: `return {"scores": scores, "mask": mask}`. Of very many nothing is said to go together."""
    parts = list(value.children()) if isinstance(value, (Sequence, Mapping)) else []
    if not 1 < len(parts) <= _MOST_COMPANIONS:
        yield from ((tensor, frozenset()) for tensor in tensors_in(value))
        return
    held = [tensors_in(part) for part in parts]
    for entry in held:
        others = frozenset(t.place for other in held if other is not entry for t in other)
        yield from ((tensor, others) for tensor in entry)


def is_chosen_here(frame: Frame, value: Value) -> bool:
    """Which of several values it is may change with each turn of a loop: the function itself
    decides, or one that it calls. A callee that hands its work on to one of several functions
    decides by a setting, or by the kind of data that there is, and alike each time."""
    held = tensors_in(value)
    if frame.function is None or len({each.place for each in held}) < 2:
        return True
    placing = [_placing(each.origin) for each in held if each.origin is not None]
    functions = [_function_of(frame, step) for step in placing]
    several = {function for function in functions if function is not None}
    return len(placing) < len(held) or frame.function in several or len(several) < 2


def _function_of(frame: Frame, step: Provenance) -> Function | None:
    """The function that a step of a history was made in."""
    context = frame.unit.context
    known = context.kept(_Makers).of
    unit = context.units.get(step.source.path)
    if step.node not in known and unit is not None:
        for function in functions_of(unit):
            if any(node is step.node for node in every(function.node, type(step.node))):
                known[step.node] = function
                break
    return known.get(step.node)


class _Makers:
    """The functions that nodes stand in, of those that were asked for."""

    def __init__(self) -> None:
        self.of: dict[cst.CSTNode, Function] = {}


def _placing(step: Provenance) -> Provenance:
    """The step that put a value where it is."""
    while step.kind in _KEEPING and step.parent is not None:
        step = step.parent
    return step


_KEEPING = (StepKind.COMPUTED, StepKind.ATTRIBUTE, StepKind.BRANCH)
