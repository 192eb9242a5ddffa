"""Contracts that the code declares of its values: `x: Annotated[Tensor, On("cuda")]`."""

from __future__ import annotations

from dataclasses import field

import libcst as cst

from devlint.contracts import Requirement
from devlint.inference.domain.provenance import Provenance, Source, StepKind
from devlint.records import NamedTuple, dataclass


class Declared(NamedTuple):
    """What a declaration says of a value, or of the parts of a tuple."""

    requirement: Requirement | None
    node: cst.CSTNode
    source: Source
    parts: tuple[Declared | None, ...] = ()

    @property
    def text(self) -> str:
        return f"declared `{self.requirement}` here"

    def origin(self, parent: Provenance | None = None) -> Provenance:
        return Provenance(StepKind.DECLARED, self.node, self.source, parent, self.text)


@dataclass(slots=True)
class Signature:
    """The contracts of a function: of its parameters by name, and of its result."""

    parameters: dict[str, Declared] = field(default_factory=dict)
    result: Declared | None = None

    def __bool__(self) -> bool:
        return bool(self.parameters) or self.result is not None
