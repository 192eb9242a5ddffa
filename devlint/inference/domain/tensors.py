"""Tensors: a placement, a history and a few traits."""

from __future__ import annotations

from collections.abc import Callable

from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, Sides, both, either
from devlint.inference.domain.placement import (
    CPU,
    Placement,
    Variable,
    is_accelerated,
    same_place,
)
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, without
from devlint.records import dataclass

# Traits of a tensor, as bits.
SCALAR = 1  # 0-dim


DEFAULT = 2  # made by a factory without `device=`


LOADED = 4  # came from a DataLoader or the disk and was never moved


GRAD = 8  # requires grad


PARAMETER = 16  # an nn.Parameter or a buffer of a module


PINNED = 32


INDIRECT = 64  # its place was inferred through an unknown callee


NON_LEAF = 128  # required grad, then moved


COPYING = 256  # a non-blocking copy to the host that may not have landed


MASK = 512  # boolean, by how it was made


LITERAL = 1024  # made from a Python literal


KEPT = 2048  # an object kept it as a plain attribute


EMPTY = 4096  # has no elements, by its shape


VECTOR = 8192  # 1-dim


PAGEABLE = 1 << 15  # a batch of a DataLoader in sight that does not pin


COLLATED = 1 << 20  # a batch, or a part of one, that the loader's own `collate_fn` made of rows


SHAPED = 1 << 16  # computed element by element from a parameter: 0-dim if that is


MAYBE_SCALAR = 16384  # may be 0-dim: made or picked from a value of unknown shape


RECORDED = 1 << 17  # autograd records it, see gradients.py


EXPECTED = 1 << 18  # so it seems: a callee out of sight made it


MATRIX = 1 << 19  # has two dimensions or more


_ZERO_DIM = SCALAR | MAYBE_SCALAR


# What a result inherits from the operand that gave it its place.
INHERITED = DEFAULT | LOADED | INDIRECT | KEPT | MATRIX


@dataclass(slots=True, eq=False, repr=False)
class Tensor(Value):
    """A tensor, or with `evidence` a value that may be one."""

    place: Placement
    origin: Provenance | None = None
    traits: int = 0
    evidence: Evidence | None = None
    sizes: Tensor | None = None

    def __repr__(self) -> str:
        maybe = "?" if self.evidence is not None else ""
        return f"Tensor{maybe}({self.place}, {self.traits:b})"

    @property
    def when(self) -> PathCondition:
        """The facts under which it came about."""
        return ALWAYS if self.origin is None else self.origin.when

    @property
    def assumed(self) -> PathCondition:
        """The facts under which it came about, or was moved."""
        return ALWAYS if self.origin is None else both(self.origin.when, self.origin.assumed)

    @property
    def is_sure(self) -> bool:
        """The value is a tensor and nothing else."""
        return self.evidence is None or self.evidence.is_tensor

    @property
    def is_declared(self) -> bool:
        """A tensor by an annotation, or computed from one: no use of it had to show that."""
        return self.is_sure and self.evidence is not None and self.evidence.is_declared

    @property
    def was_given(self) -> bool:
        """An object was given it, or what it was computed from, and kept it as it was."""
        origin = self.origin
        given = origin is not None and origin.root.kind is StepKind.PARAMETER
        return bool(self.traits & KEPT) and given

    @property
    def was_converted(self) -> bool:
        """Made of what a caller may hand in as a tensor, and here did not: `torch.tensor(x)` where
        `x` is a list."""
        root = self.origin.root if self.origin is not None else None
        made = root is not None and root.kind is StepKind.CREATED
        return made and root is not None and type(root.before) is Variable

    def show(self) -> None:
        """Note that the value was used as only a tensor is."""
        if self.evidence is not None:
            self.evidence.mark_tensor()

    def with_place(
        self, place: Placement, origin: Provenance | None, drop: int = 0, add: int = 0
    ) -> Tensor:
        """The same value elsewhere."""
        return Tensor(place, origin, (self.traits & ~drop) | add, self.evidence, self.sizes)

    def with_facts(self, change: Callable[[PathCondition], PathCondition]) -> Tensor:
        origin = self.origin
        if origin is None or self.place is None:
            return self
        when = change(origin.when)
        if when == origin.when:
            return self
        return Tensor(self.place, origin.known(when), self.traits, self.evidence, self.sizes)

    def within(self, when: PathCondition) -> Tensor:
        origin = self.origin
        if origin is None or not origin.is_excluded(when):
            return self
        return self.with_place(None, origin)

    @property
    def _certainty(self) -> int:
        """How sure it is that it is a tensor, the surer the less."""
        evidence = self.evidence
        if evidence is None:
            return 0
        return 1 if evidence.is_tensor else 3 if evidence.is_host else 2

    def merge(self, other: Value, sides: Sides | None) -> Tensor | None:
        """Two tensors with one placement are one."""
        assert type(other) is Tensor
        if (self.traits ^ other.traits) & PARAMETER or not same_place(self.place, other.place):
            return None
        kept = self if self._certainty < other._certainty else other
        return _of_either(kept, self.when, other.when, _joined(self.traits, other.traits))

    def outweighs(self, other: Value, sides: Sides) -> Tensor | None:
        """A tensor that was moved to an accelerator outweighs itself unmoved: `if gpu is not None:
        x = x.cuda(gpu)` is taken in the accelerated world."""
        assert type(other) is Tensor
        step = self.origin
        if self.traits & PINNED and step is not None and step.is_same(other.origin):
            # Only what is on the host can be pinned, so it is there where it is not pinned, too.
            return _of_either(self, self.when, other.when, _joined(self.traits, other.traits))
        if step is None or step.kind is not StepKind.MOVED or step.parent is None:
            return None
        if (self.traits ^ other.traits) & PARAMETER or same_place(self.place, other.place):
            return None
        if not step.parent.is_same(other.origin) or not is_accelerated(self.place):
            return None
        merged = _of_either(self, self.when, other.when, self.traits)
        if sides[0]:
            merged = merged.with_place(merged.place, step.known(merged.when).of_branch(sides[0]))
        return merged

    def is_like(self, other: Value) -> bool:
        assert type(other) is Tensor
        return same_place(self.place, other.place) and self.traits == other.traits

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Tensor
        same = same_place(self.place, other.place)
        return same and _joined(self.traits, other.traits) == self.traits


def _joined(a: int, b: int) -> int:
    """The traits of a tensor that is the one or the other: those of both, and those that matter if
    one has them. By default only if both are: a tensor put on the CPU on purpose in one branch is
    meant."""
    traits = a & b | (a | b) & (INDIRECT | GRAD | NON_LEAF | COPYING | KEPT)
    if a & _ZERO_DIM and b & _ZERO_DIM and not traits & SCALAR:
        traits |= MAYBE_SCALAR
    return traits


def _of_either(tensor: Tensor, a: PathCondition, b: PathCondition, traits: int) -> Tensor:
    """One tensor for two: what holds of it is what holds of both."""
    origin, when = tensor.origin, either(a, b)
    if origin is not None and origin.when != when:
        origin = origin.known(when)
    elif tensor.traits == traits:
        return tensor
    return Tensor(tensor.place, origin, traits, tensor.evidence, tensor.sizes)


def tensor_like(value: Value) -> Value:
    """A part of a value whose structure is unknown: a tensor in the same place, if any."""
    if type(value) is Tensor:
        traits = value.traits & ~(SCALAR | SHAPED)
        return Tensor(value.place, value.origin, traits, Evidence())
    return UNKNOWN


def on_side(value: Value, host: bool) -> Value:
    """What a value is where it is known to be on the host, or not to be: the alternatives that are
    there. All of them, if no tensor among them is: the code knows more than the inference does."""
    left = without(value, lambda each: type(each) is Tensor and (each.place == CPU) is not host)
    return left if any(type(each) is Tensor for each in alternatives(left)) else value
