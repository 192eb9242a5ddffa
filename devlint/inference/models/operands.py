"""Operands of a known call: which of its arguments are tensors, indices or numbers."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.tensors import EMPTY, SCALAR
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.program.functions import Arguments
from devlint.knowledge import Call


def is_number(value: Value) -> bool:
    """A number, whatever branch it comes from, and no tensor or array."""
    return all(
        (type(v) is Const and type(v.value) in (int, float))
        or (type(v) is Host and not v.array and not v.whole)
        for v in alternatives(value)
    )


def operands_of(known: Call, arguments: Arguments) -> list[tuple[Value, cst.CSTNode]]:
    """The arguments that are tensor operands, by the table's parameter names."""
    found: list[tuple[Value, cst.CSTNode]] = []
    params = known.params
    wanted = known.tensors | known.indices
    for index, pair in enumerate(arguments.positional):
        if index < len(params):
            if params[index] in wanted:
                found.append(pair)
        elif params and params[-1] in wanted:
            found.append(pair)  # `torch.broadcast_tensors(*tensors)`
    for key, pair in arguments.keywords.items():
        if key in wanted:
            found.append(pair)
    return found


# Parameters that take numbers as well as tensors, in operations that are strict otherwise.
_BOUNDS = ("min", "max", "value", "exponent", "repeats")


def mark_operands(
    known: Call, arguments: Arguments, operands: list[tuple[Value, cst.CSTNode]]
) -> None:
    """What an operation takes as a tensor operand is one."""
    bounds = {arguments.node(known.params.index(n), n) for n in _BOUNDS if n in known.params}
    for value, argument in operands:
        if argument in bounds:
            continue
        for tensor in tensors_in(value):
            tensor.show()


_INDEX_NAMES = frozenset({"index", "mask", "indices", "out", "ind"})


def index_nodes(known: Call, arguments: Arguments) -> tuple[cst.CSTNode, ...]:
    """The arguments that are an index, a mask or `out=`."""
    found = [pair[1] for key, pair in arguments.keywords.items() if key in _INDEX_NAMES]
    for index, pair in enumerate(arguments.positional):
        if index < len(known.params) and known.params[index] in _INDEX_NAMES:
            found.append(pair[1])
    return tuple(found)


def is_placeholder(value: Value) -> bool:
    """Among its tensors is an empty one, which stands for none."""
    return any(t.traits & EMPTY for t in tensors_in(value))


_LIMITS = frozenset({"min", "max"})


def _limits_as_numbers(known: Call, arguments: Arguments) -> frozenset[str]:
    """`x.clamp(0, limit)`: if one bound is a number, PyTorch reads the other one as a number, too
    (the overload of `clamp` for scalars)."""
    if not _LIMITS.issubset(known.params):
        return frozenset()
    given = [arguments.get(known.params.index(name), name) for name in _LIMITS]
    is_told = any(value is not None and is_number(value) for value in given)
    return _LIMITS if is_told else frozenset()


def without_zero_dim(
    known: Call, arguments: Arguments, operands: list[tuple[Value, cst.CSTNode]]
) -> list[tuple[Value, cst.CSTNode]]:
    """Leave out 0-dim CPU tensors where this operation takes them."""
    names = known.zero_dim or _limits_as_numbers(known, arguments)
    if not names:
        return operands
    taking = {arguments.node(known.params.index(p), p) for p in names if p in known.params}
    kept = []
    for value, argument in operands:
        tensors = tensors_in(value) if argument in taking else []
        if tensors and all(t.traits & SCALAR and t.place == CPU for t in tensors):
            continue
        kept.append((value, argument))
    return kept
