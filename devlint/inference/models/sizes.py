"""Numbers that PyTorch asks for: sizes, dimensions, counts, by the table's `numbers`.

`torch.zeros(n, d)` shows that `n` and `d` are numbers, whoever hands them in; of a tensor the host
waits for the value.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.program.events import NumberTaken
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import shorten
from devlint.knowledge import Call

# Numbers that a kernel computes with, and could as well read on the device; all others are shapes
# and places, which the host has to know.
_OPERANDS = frozenset(
    {"low", "high", "from", "to", "mean", "std", "sigma", "p", "lambd", "alpha", "beta", "eps"}
    | {"value", "fill_value", "threshold", "lower", "upper", "margin", "nan", "posinf", "neginf"}
)

# Parameters that Python takes by keyword only: what stands there positionally is one size more.
_KEYWORDS = frozenset({"dtype", "device", "out", "implicit"})


def show_numbers(frame: Frame, node: cst.Call, known: Call, arguments: Arguments) -> None:
    """What stands for a size is a number, and so is what it was computed from."""
    for name, given in _given(known, arguments):
        for value, argument in parts(*given):
            if not _is_spread(argument):
                _show(frame, node, value, argument, name in _OPERANDS)


def _show(
    frame: Frame, node: cst.Call, value: Value, argument: cst.CSTNode, is_operand: bool
) -> None:
    for tensor in tensors_in(value):
        if tensor.is_sure:
            call = f"{shorten(node.func)}()"
            frame.emit(NumberTaken(node, call, tensor, argument, is_operand))
        elif tensor.evidence is not None and not _is_result(tensor):
            tensor.evidence.mark_number()


def parts(value: Value, node: cst.CSTNode) -> list[tuple[Value, cst.CSTNode]]:
    """`n` and `d` of `(n, d)`."""
    elements = node.elements if isinstance(node, (cst.Tuple, cst.List)) else ()
    items = value.items if type(value) is Sequence else None
    if items is None or len(items) != len(elements) or _is_spread(node):
        return [(value, node)]
    return [(v, e.value) for v, e in zip(items, elements, strict=True)]


def _is_spread(node: cst.CSTNode) -> bool:
    """`(*batch, *shape)`: what is spread is a shape, whose numbers are none of a tensor."""
    return isinstance(node, (cst.Tuple, cst.List)) and any(
        isinstance(element, cst.StarredElement) for element in node.elements
    )


def _is_result(value: Tensor) -> bool:
    """`lengths.max()` of an array is a number, and the array none."""
    steps = () if value.origin is None else value.origin.chain()
    return any(s.kind is StepKind.COMPUTED and isinstance(s.node, cst.Call) for s in steps)


def _given(
    known: Call, arguments: Arguments
) -> Iterator[tuple[str | None, tuple[Value, cst.CSTNode]]]:
    """The arguments for the parameters that take numbers; `x.view(a, b)` has several for one."""
    params, several = known.params, False
    if params[:3] == ("high", "size", "low") and len(arguments.positional) > 2:
        params = ("low", "high", "size", *params[3:])  # `randint`, by its other signature
    for index, pair in enumerate(arguments.positional):
        name = params[index] if index < len(params) else None
        if name in known.numbers:
            several = type(pair[0]) is not Sequence
            yield name, pair
        elif several and (name is None or name in _KEYWORDS):
            yield None, pair
    for key, pair in arguments.keywords.items():
        if key in known.numbers:
            yield key, pair
