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
from devlint.inference.models.unification import tensors_in
from devlint.inference.program.events import NumberTaken
from devlint.inference.program.records import Arguments, Frame
from devlint.inference.syntax.text import shorten
from devlint.knowledge import Call

# Parameters that Python takes by keyword only: what stands there positionally is one size more.
_KEYWORDS = frozenset({"dtype", "device", "out", "implicit"})


def show_numbers(frame: Frame, node: cst.Call, known: Call, arguments: Arguments) -> None:
    """What stands for a size is a number, and so is what it was computed from."""
    for value, argument in _given(known, arguments):
        if _is_spread(argument):
            continue
        for tensor in tensors_in(value):
            if tensor.is_sure:
                frame.emit(NumberTaken(node, f"{shorten(node.func)}()", tensor, argument))
            elif tensor.evidence is not None and not _is_result(tensor):
                tensor.evidence.mark_number()


def _is_spread(node: cst.CSTNode) -> bool:
    """`(*batch, *shape)`: what is spread is a shape, whose numbers are none of a tensor."""
    return isinstance(node, (cst.Tuple, cst.List)) and any(
        isinstance(element, cst.StarredElement) for element in node.elements
    )


def _is_result(value: Tensor) -> bool:
    """`lengths.max()` of an array is a number, and the array none."""
    steps = () if value.origin is None else value.origin.chain()
    return any(s.kind is StepKind.COMPUTED and isinstance(s.node, cst.Call) for s in steps)


def _given(known: Call, arguments: Arguments) -> Iterator[tuple[Value, cst.CSTNode]]:
    """The arguments for the parameters that take numbers; `x.view(a, b)` has several for one."""
    params, several = known.params, False
    for index, pair in enumerate(arguments.positional):
        name = params[index] if index < len(params) else None
        if name in known.numbers:
            several = type(pair[0]) is not Sequence
            yield pair
        elif several and (name is None or name in _KEYWORDS):
            yield pair
    for key, pair in arguments.keywords.items():
        if key in known.numbers:
            yield pair
