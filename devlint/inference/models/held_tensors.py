"""Held tensors: those that a value is, holds, or may be."""

from __future__ import annotations

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.program.values import Instance


def tensors_in(value: Value, depth: int = 3) -> list[Tensor]:
    """The tensors that a value is or holds."""
    if type(value) is Tensor:
        return [value]
    if type(value) is Sequence and depth:
        found = []
        if value.items is not None:
            for item in value.items:
                found += tensors_in(item, depth - 1)
        elif value.element is not None:
            found = tensors_in(value.element, depth - 1)
        return found
    if type(value) is Mapping and depth:
        return tensors_in(value.any(), depth - 1)
    if type(value) is Instance:
        return [] if value.tensor is None else [value.tensor]
    found = []
    for alternative in alternatives(value):
        if alternative is not value:
            found += tensors_in(alternative, depth)
    return found
