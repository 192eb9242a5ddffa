"""Elements: what an iteration takes out of a tensor or a batch."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, same_place
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    COLLATED,
    DEFAULT,
    KEPT,
    LOADED,
    MATRIX,
    MAYBE_SCALAR,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import Union, Value, alternatives, cases, choose
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted

# The kind of a sequence that `zip(*rows)` yields.
COLUMNS = "columns"


class HostRows:
    """The loaders of a run whose rows are in sight, and on the host."""

    def __init__(self) -> None:
        self.loaders: set[cst.CSTNode] = set()


def batch(frame: Frame, node: cst.CSTNode) -> Tensor:
    """What a DataLoader yields: tensors (or what holds them) on the host."""
    origin = Provenance(
        StepKind.LOADED, node, frame.unit.source, None, "batches of a DataLoader are on the CPU"
    )
    return Tensor(CPU, origin, LOADED, Evidence())


def is_open_batch(tensor: Tensor) -> bool:
    """A whole batch, or a part that a `collate_fn` out of sight made: perhaps a dict, a graph or a
    list, whose tensors a module may move itself."""
    evidence = tensor.evidence
    if evidence is None or tensor.origin is None or tensor.origin.root.kind is not StepKind.LOADED:
        return False
    return bool(tensor.traits & COLLATED) or not evidence.hints.part


def is_given_part(tensor: Tensor) -> bool:
    """A part of what a function is handed in as a whole: `data["image"]`, `image, label = data`."""
    evidence, origin = tensor.evidence, tensor.origin
    if evidence is None or origin is None or not evidence.hints.part or tensor.traits & LOADED:
        return False
    return origin.root.kind is StepKind.PARAMETER


def names_loader(frame: Frame, node: cst.CSTNode) -> bool:
    """By its name an iterable is a DataLoader that yields host tensors."""
    if frame.unit.moves_batches:
        return False
    if isinstance(node, cst.Subscript):
        node = node.value
    name = dotted(node).rpartition(".")[2]
    if not name or not holds("loader-name", name):
        return False
    classes = frame.unit.makers.get(name, ())
    return not classes or any(holds("loader-name", each) for each in classes)


def under_key(frame: Frame, node: cst.CSTNode, held: Value, key: Value) -> Value:
    """What a table holds under a key: under a device the tensors that live there, as in
    `tables = {t.device: t}`, `tables.get(x.device)`."""
    if type(key) is not DeviceValue:
        return held
    if type(held) is Union:
        return choose((under_key(frame, node, value, key), when) for value, when in cases(held))
    if type(held) is not Tensor or same_place(held.place, key.place):
        return held
    step = Provenance(StepKind.COMPUTED, node, frame.unit.source, held.origin)
    return held.with_place(key.place, step, drop=DEFAULT | LOADED | KEPT)


def derive(tensor: Tensor) -> Tensor:
    """A part of a tensor: in the same place, but to be judged by its own use."""
    if tensor.evidence is None:
        return tensor
    evidence = Evidence(tensor.evidence.is_tensor)
    evidence.taken_from = tensor.evidence.taken_from
    return Tensor(tensor.place, tensor.origin, tensor.traits & ~(SCALAR | SHAPED), evidence)


def taken(iterable: Tensor) -> Tensor:
    """What a loop takes out of what may be a tensor: whoever hands that in may know better."""
    part = derive(iterable)
    part.traits = without_a_dimension(iterable)
    if part.evidence is not None:
        part.evidence.taken_from = part.evidence.taken_from or iterable.evidence
    return part


def output(tensor: Tensor) -> Tensor:
    """What a model out of sight gives: a tensor, or several values."""
    evidence = tensor.evidence or Evidence(True)
    evidence.hints.output = True
    return Tensor(tensor.place, tensor.origin, tensor.traits, evidence, tensor.sizes)


def unpacked(whole: Tensor, element: Tensor) -> Tensor:
    """One of several values that a tensor, or what was taken for one, is unpacked into.

    Those of a model out of sight may be of any kind: in `scores, lengths = decoder(x)` the lengths
    may be a list.
    """
    part = derive(element)
    if part.evidence is not None:
        if whole.evidence is not None and whole.evidence.hints.output:
            part.evidence = Evidence()
            part.evidence.hints.output = True
        part.evidence.hints.part = True
    return part


def without_a_dimension(tensor: Tensor) -> int:
    """The traits of what is left of a tensor when one of its dimensions is gone."""
    traits = tensor.traits & ~(SCALAR | SHAPED | VECTOR | MATRIX)
    if tensor.traits & VECTOR:
        return traits | SCALAR
    if tensor.traits & MATRIX or (tensor.evidence is not None and tensor.traits & LOADED):
        return traits
    return traits | MAYBE_SCALAR


def is_row(tensor: Tensor) -> bool:
    """`x[i : i + 1]`: one row, or one number where `x` has one dimension."""
    node = tensor.origin.node if tensor.origin is not None else None
    if tensor.traits & MATRIX or not isinstance(node, cst.Subscript) or len(node.slice) > 1:
        return False
    part = node.slice[0].slice
    if not isinstance(part, cst.Slice) or part.lower is None or part.upper is None or part.step:
        return False
    first, end = part.lower, part.upper
    if isinstance(first, cst.Integer) and isinstance(end, cst.Integer):
        return int(end.value, 0) - int(first.value, 0) == 1
    return (
        isinstance(end, cst.BinaryOperation)
        and isinstance(end.operator, cst.Add)
        and isinstance(end.right, cst.Integer)
        and end.right.value == "1"
        and end.left.deep_equals(first)
    )


def told_by_position(base: Sequence) -> bool:
    """The elements of a sequence whose order is not known differ: at each position one of them
    stands always, and which one is open. `((hidden,) + rest)[0]`, and `loss, history, output` of a
    list that was filled under several settings."""
    if base.items is not None:
        return False
    parts = alternatives(base.any())
    tensors = [part for part in parts if type(part) is Tensor]
    if base.kind == "tuple" and any(t.place != tensors[0].place for t in tensors):
        return True
    return bool(tensors) and any(type(part) in (Host, Const, Sequence, Mapping) for part in parts)
