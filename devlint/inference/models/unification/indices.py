"""Indices: a tensor, and what it is indexed with."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import Device
from devlint.inference.domain.tensors import EMPTY, MASK, MAYBE_SCALAR, SCALAR, Tensor
from devlint.inference.models.unification.contradictions import contradiction
from devlint.inference.models.unification.exemptions import is_on_cpu
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.frames import Frame

_PREDICATES = frozenset(
    {"bool", "isnan", "isinf", "isfinite", "logical_not", "logical_and", "logical_or"}
    | {"logical_xor", "eq", "ne", "gt", "lt", "ge", "le", "isin", "isclose"}
)


def index_contradiction(
    frame: Frame, base: Tensor, index: Tensor, expression: cst.CSTNode | None = None
) -> Assumptions | None:
    """The assumptions under which a tensor may not be read at an index, as in `contradiction`.

    An index on the host is copied to wherever the tensor is. One on an accelerator is refused by a
    tensor on the host or on another card, unless it has no dimensions and is read as a number. That
    is for integers: nobody picks rows by a single truth value.
    """
    if index.traits & SCALAR:
        return None  # read as a number
    place = base.place
    if is_on_cpu(base):
        if base.traits & EMPTY:
            return None  # a placeholder: something else stands here by now
        found = contradiction(frame, base, index, pointwise=False)
    elif type(place) is Device and type(index.place) is Device and index.place.is_accelerator:
        found = contradiction(frame, index, base, pointwise=False)
    else:
        return None
    has_dimensions = is_mask(index, expression) or _is_measured_by(base, index)
    if found is not None and index.traits & MAYBE_SCALAR and not has_dimensions:
        message = "{} has at least one dimension"
        return (*found, of_value(frame, AssumptionKind.VALUE_HAS_DIMENSIONS, index, message))
    return found


def is_mask(index: Tensor, expression: cst.CSTNode | None = None) -> bool:
    """It is boolean, made by a comparison or a predicate, here or under a name. What is inverted
    serves as an index only if it is: `rows[~done]`"""
    if index.traits & MASK:
        return True
    made = index.origin.node if index.origin is not None else None
    return any(_is_predicate(node) for node in (expression, made))


def _is_predicate(node: cst.CSTNode | None) -> bool:
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.BitInvert)
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    return node.func.attr.value in _PREDICATES


def _is_measured_by(base: Tensor, index: Tensor) -> bool:
    """`torch.arange(len(x))[x > 0]`: what gives a table its size has a dimension itself."""
    sizes = base.sizes
    if sizes is None or sizes.origin is None or index.origin is None:
        return False
    if not sizes.traits & MAYBE_SCALAR:
        return False  # the index is only a part of it, of which a number may be left
    for step in index.origin.chain():
        if step is sizes.origin:
            return True
        if not isinstance(step.node, (cst.Comparison, cst.BinaryOperation, cst.UnaryOperation)):
            return False
    return False
