"""Results of known calls: one tensor or several, with dimensions or without."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import HOST, Const
from devlint.inference.domain.path_conditions import ALWAYS
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    GRAD,
    MATRIX,
    MAYBE_SCALAR,
    PARAMETER,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Value, cases, choose
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance, Parameters
from devlint.inference.syntax.text import called_name, dotted
from devlint.knowledge import Call


def first_operand(
    frame: Frame, node: cst.CSTNode, operands: list[tuple[Value, cst.CSTNode]]
) -> Value:
    """What is computed of the first operand that has a place: a tensor, a module, parameters."""
    for value, _ in operands:
        if type(value) is Instance and value.module:
            return value  # `spectral_norm(layer)`
        if type(value) is Parameters:  # `clip_grad_norm_(model.parameters(), 1.0)`
            norm = _of(frame, node, value.tensor)
            return norm.with_place(norm.place, norm.origin, drop=PARAMETER | GRAD)
        ways = [(v, when) for v, when in cases(value) if type(v) is Tensor]
        if not ways:
            ways = [(tensor, ALWAYS) for tensor in tensors_in(value)[:1]]
        if ways:
            return choose((_of(frame, node, tensor), when) for tensor, when in ways)
    return UNKNOWN


def _of(frame: Frame, node: cst.CSTNode, tensor: Tensor) -> Tensor:
    """What is computed of one tensor, where that is."""
    origin = frame.origin(StepKind.COMPUTED, node, tensor.origin)
    return Tensor(tensor.place, origin, tensor.traits, tensor.evidence)


def shape_result(
    frame: Frame, node: cst.CSTNode, value: Value, known: Call, arguments: Arguments
) -> Value:
    """One tensor, a tuple of them, or a 0-dim one, as the table says."""
    if type(value) is not Tensor:
        return value
    name = called_name(node) if isinstance(node, cst.Call) else dotted(node)
    found = _found_positions(name, value, arguments)
    if found is not None:
        return found
    if _is_of_two(known, arguments):
        operands = [v for v, _ in arguments.all()]
        scalar = SCALAR if all(type(v) is Tensor and v.traits & SCALAR for v in operands) else 0
        return _with_traits(value, value.traits & ~(SCALAR | MATRIX) | scalar)
    if known.scalar == "never":
        value = _with_traits(value, value.traits & ~(SCALAR | MAYBE_SCALAR))
    elif _is_reduced(known, arguments):
        value = _with_traits(value, value.traits | SCALAR)
        if known.scalar == "without-dim":
            return value
    elif known.scalar:  # of two dimensions one may be left
        value = _with_traits(value, value.traits & ~(SCALAR | MATRIX))
    if known.results > 0:
        items: list[Value] = [value] * known.results
        for index in known.host_results:
            origin = frame.origin(StepKind.LOADED, node, None, "always returned on the CPU")
            items[index] = Tensor(CPU, origin, DEFAULT)  # nobody put it there on purpose
        for index in known.no_tensors:
            items[index] = HOST
        return Sequence(items, None, "tuple")
    if known.results < 0:
        return Sequence(None, value, "tuple")
    return value


def _with_traits(value: Tensor, traits: int) -> Tensor:
    """The tensor with other traits."""
    return Tensor(value.place, value.origin, traits, value.evidence)


def _is_reduced(known: Call, arguments: Arguments) -> bool:
    """The call leaves no dimension, as the table and its arguments say."""
    if known.scalar == "without-dim":
        return not _has_dim(known, arguments)
    if known.scalar != "without-none":
        return known.scalar == "always"
    held = arguments.keywords.get("reduction")
    if held is None:
        return True
    return type(held[0]) is Const and held[0].value in ("mean", "sum", "batchmean")


def _found_positions(name: str, value: Tensor, arguments: Arguments) -> Value | None:
    """What `nonzero` and `where(condition)` find: rows of positions, or a tuple that has the
    positions in each dimension."""
    if name == "nonzero":
        asked = arguments.keywords.get("as_tuple")
        as_tuple = asked is not None and not (type(asked[0]) is Const and not asked[0].value)
    elif name == "where" and len(arguments.all()) == 1 and not arguments.open:
        as_tuple = True
    else:
        return None
    traits = value.traits & ~(SCALAR | MAYBE_SCALAR | SHAPED | VECTOR | MATRIX)
    found = _with_traits(value, traits | (VECTOR if as_tuple else MATRIX))
    return Sequence(None, found, "tuple") if as_tuple else found


def _is_of_two(known: Call, arguments: Arguments) -> bool:
    """`torch.max(x, other)`, of two tensors, where a dimension may stand in the place of the other:
    it gives one tensor, and no pair."""
    if "other" not in known.params or "dim" not in known.params:
        return False
    second = arguments.get(known.params.index("dim"), "other")
    return type(second) is Tensor


def _has_dim(known: Call, arguments: Arguments) -> bool:
    if not arguments.keywords.keys().isdisjoint(("dim", "axis", "other")):
        return True
    first = known.params.index("dim") if "dim" in known.params else 1
    return len(arguments.positional) > first
