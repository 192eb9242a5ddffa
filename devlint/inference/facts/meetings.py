"""Meetings: operands that an operation, or a kernel, brings together."""

from __future__ import annotations

import enum

from devlint.findings import Confidence
from devlint.inference.call_contexts import Given
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.provenance import Site
from devlint.inference.facts.operands import Operand
from devlint.records import NamedTuple


class MeetingKind(str, enum.Enum):
    """What kind of operation brings the operands together."""

    OPERATION = "operation"  # arithmetic, cat, matmul, a loss: all on one device
    INPUT = "input"  # a module called with an input
    CARDS = "cards"  # a module wrapped for cards that it is not on
    INDEX = "index"  # an index, mask or out=
    GENERATOR = "generator"
    CALLEE = "callee"  # an unknown callee gets both: they must live together
    RETURN = "return"  # one return here, another there
    SHAPE = "shape"  # made here with the shape of one that lives there
    CONTRACT = "contract"  # `left` is elsewhere than a contract says, `right` where it says


class Meeting(NamedTuple):
    """Operands that one operation brings together although their devices contradict.

    `left` is the operand that is out of place (the one to mend), `right` the one that sets the
    device. `inside` is the operation in a callee, when the contradiction shows only at the call.
    """

    site: Site
    kind: MeetingKind
    operation: str  # "+", "torch.cat", "self.proj", …
    left: Operand
    right: Operand
    assumptions: Assumptions
    in_module: bool  # inside a method of an nn.Module
    inside: Site | None = None
    caught: bool = False  # inside `try … except RuntimeError`
    given: Given | None = None  # the parameter of a plain function that sets the device

    @property
    def confidence(self) -> Confidence:
        return confidence_of(self.assumptions)


class KernelLaunch(NamedTuple):
    """The Triton kernel `kernel` is launched with `tensor`, on the current card.

    `strays`: the tensor is on the host or on another card, and `beside` one that is not; else it is
    on a card of somebody's choice, and nothing makes that the current one.
    """

    site: Site
    kernel: str
    tensor: Operand
    beside: Operand | None
    strays: bool
