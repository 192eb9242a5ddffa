"""Reads and writes by the host: of whole tensors, and of their elements."""

from __future__ import annotations

from devlint.findings import Confidence
from devlint.inference.call_contexts import Given
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.provenance import Site
from devlint.inference.facts.operands import Loop, Operand
from devlint.records import NamedTuple


class HostRead(NamedTuple):
    """Something that reads host memory gets a tensor: `.numpy()`, `np.*`, PIL, matplotlib."""

    site: Site
    sink: str  # ".numpy()", "np.mean", …
    operand: Operand
    assumptions: Assumptions
    caught: bool = False
    given: Given | None = None  # the parameter of a plain function that is read
    of_list: bool = False  # the operand is a list of such tensors

    @property
    def confidence(self) -> Confidence:
        return confidence_of(self.assumptions)


class UndetachedRead(NamedTuple):
    """NumPy gets a tensor that autograd records: it refuses, on the host as well."""

    site: Site
    sink: str  # ".numpy()", "np.asarray", …
    operand: Operand
    assumptions: Assumptions
    caught: bool = False

    @property
    def confidence(self) -> Confidence:
        return confidence_of(self.assumptions)


class ElementAccess(NamedTuple):
    """Python reads or writes a device tensor element by element in a loop."""

    site: Site
    operand: Operand
    writes: bool
    loop: Loop
    single: bool = False  # certainly one element, and not a row
