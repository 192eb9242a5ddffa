"""Notes on attributes: what an assignment left in one, and plain tensors that a module keeps."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.path_conditions import NamedLiteral
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.records import dataclass


@dataclass(slots=True, eq=False)
class AttributeNote:
    """A plain tensor or a container of modules that a method of a module keeps."""

    node: cst.CSTNode
    source_node: cst.CSTNode
    name: str
    tensor: Tensor
    of_modules: bool
    method: str
    overwrites: str
    was_given: bool = False  # the constructor was handed it
    in_container: bool = False
    one_of_several: bool = False  # that another attribute may hold, from which it was taken


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What an assignment to an attribute left, and the conditions around it."""

    value: Value
    facts: frozenset[NamedLiteral]
    source: cst.CSTNode
    method: str = ""  # the name of the method that made it
