"""Types that names stand for: `Cuda = Annotated[Tensor, On("cuda")]`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.path_conditions import Sides
from devlint.inference.domain.value import Value
from devlint.inference.program.frames import Frame
from devlint.records import dataclass


@dataclass(slots=True, eq=False, repr=False)
class TypeExpression(Value):
    """A type that a name stands for, to be read as an annotation: `Cuda = Annotated[Tensor, …]`."""

    node: cst.BaseExpression
    frame: Frame

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is TypeExpression
        return self if self.node is other.node and self.frame is other.frame else None
