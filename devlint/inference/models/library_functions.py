"""Calls of library functions, by the tables of devlint.knowledge."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import ARRAY, HOST, NONE
from devlint.inference.domain.placement import CUDA
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import MAYBE_SCALAR, SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models import generators
from devlint.inference.models.call_results import first_operand, shape_result
from devlint.inference.models.collectives import check_collective, uses_nccl
from devlint.inference.models.devices import place_of
from devlint.inference.models.factories import OF_DATA
from devlint.inference.models.factory_calls import make, make_like, make_on_host
from devlint.inference.models.library_objects import made
from devlint.inference.models.module_inputs import feed
from devlint.inference.models.module_places import carry
from devlint.inference.models.operands import (
    index_nodes,
    is_number,
    is_placeholder,
    mark_operands,
    operands_of,
    without_zero_dim,
)
from devlint.inference.models.sizes import parts, show_numbers
from devlint.inference.models.unification.meetings import meet
from devlint.inference.program.events import ArrayTaken, HostReads, HostWaits, NumberTaken
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import shorten
from devlint.knowledge import Agreement, Call, Result
from devlint.knowledge.autograd import NUMPY_DELEGATES

Operands = list[tuple[Value, cst.CSTNode]]


def apply_call(
    frame: Frame,
    node: cst.Call,
    name: str,
    known: Call,
    arguments: Arguments,
    receiver: tuple[Value, cst.CSTNode] | None = None,
) -> Value:
    """What a known function makes of its arguments; `receiver`: a method's own object."""
    if known.reads_host:
        return _array(frame, node, name, known, arguments)
    if known.moves:
        return _carried(frame, node, known, arguments)
    show_numbers(frame, node, known, arguments)
    operands = operands_of(known, arguments)
    if known.result is Result.LIKE and all(is_number(value) for value, _ in operands):
        operands = []  # `torch.normal(0, 1, size)`: like nothing, so on the default device
    if receiver is not None:
        operands.insert(0, receiver)
    _read_on_host(frame, node, known, arguments)
    if known.feeds:
        feed(frame, node, known, arguments)
    if known.collective and (not name.startswith("torch.") or uses_nccl(frame)):
        check_collective(frame, node, shorten(node.func), operands)
    if known.agreement is Agreement.FREE and (known.instance or known.instances):
        return _objects(frame, node, known, operands, arguments)
    last = name.rpartition(".")[2]
    is_told = known.result is Result.LIKE and ("device" in arguments.keywords or not operands)
    if known.result is Result.DEVICE or is_told:
        return make(frame, node, last, known, arguments)
    if last not in OF_DATA:  # these take lists and numbers as well
        # Beside a tensor a point-wise operation takes numbers as well.
        strict = known.agreement is Agreement.STRICT
        mark_operands(known, arguments, operands if strict else operands[:1])
    if known.sync and operands and syncs_for(known, arguments):
        frame.emit(HostWaits(node, last, *operands[0]))
    if known.result is Result.LIKE:
        return make_like(frame, node, last, known, operands, arguments)
    if known.result is Result.CPU:
        return make_on_host(frame, node, last, known, arguments)
    if known.result is Result.CUDA:
        return Tensor(CUDA, frame.origin(StepKind.CREATED, node))
    return _computed(frame, node, name, known, operands, arguments)


# The parameter that says how large an array of NumPy's is: a number is taken out of what stands
# there, as `range` does. https://numpy.org/doc/stable/reference/generated/numpy.zeros.html
_SIZES = {f"numpy.{name}": "shape" for name in ("zeros", "ones", "empty", "full")} | {
    "numpy.eye": "N"
}
_MULTIPLYING = {"numpy.random.randint", "numpy.random.choice"}  # `np.prod(size)`


def _numbers(value: Value, node: cst.CSTNode) -> list[tuple[Tensor, cst.CSTNode]]:
    """The tensors in a size, `n` or `(n, 3)`, if all of them are 0-dim."""
    found = [(part, at) for part, at in parts(value, node) if type(part) is Tensor]
    return found if all(part.traits & (SCALAR | MAYBE_SCALAR) for part, _ in found) else []


def _array(frame: Frame, node: cst.Call, name: str, known: Call, arguments: Arguments) -> Value:
    """A function that reads its arguments on the host, and mostly makes an array of them."""
    is_numpy = name.startswith("numpy.") and name.rpartition(".")[2] not in NUMPY_DELEGATES
    size = arguments.node(0, _SIZES[name]) if name in _SIZES else None
    if name.startswith("numpy.random.") and name not in _MULTIPLYING:
        size = arguments.keywords.get("size", (None, None))[1]
    for value, argument in arguments.all():
        numbers = _numbers(value, argument) if argument is size else []
        for number in numbers:
            frame.emit(NumberTaken(node, f"{shorten(node.func)}()", *number))
        read = None if numbers else _read_part(value, known.keeps)
        if read is None:
            continue
        frame.emit(HostReads(node, shorten(node.func), read, argument))
        if is_numpy:
            frame.emit(ArrayTaken(node, shorten(node.func), read, argument))
    data = arguments.positional[0][0] if arguments.positional else None
    if name in ("numpy.array", "numpy.asarray") and data is not None and is_number(data):
        return data
    return ARRAY


def _read_part(value: Value, keeps: frozenset[str]) -> Value | None:
    """The part of an argument whose memory is read: not what stands in containers that the function
    keeps as objects. Of `DataFrame({"loss": loss, "x": [x]})` that is `loss`."""
    if type(value) is Sequence:
        return None if "sequence" in keeps else value
    if type(value) is not Mapping:
        return value
    if "mapping" in keeps:
        return None
    columns = {name: _read_part(column, keeps) for name, column in value.entries.items()}
    read = {name: column for name, column in columns.items() if column is not None}
    others = None if value.element is None else _read_part(value.element, keeps)
    return Mapping(read, others) if read or others is not None else None


def _read_on_host(frame: Frame, node: cst.Call, known: Call, arguments: Arguments) -> None:
    """The parameters that the table says are read on the host."""
    for name in known.host:
        index = known.params.index(name)
        value, argument = arguments.get(index, name), arguments.node(index, name)
        if value is not None and argument is not None:
            frame.emit(HostReads(node, shorten(node.func), value, argument))


def _objects(
    frame: Frame, node: cst.Call, known: Call, operands: Operands, arguments: Arguments
) -> Value:
    """A new object, or a tuple of them."""
    names = known.instances or (known.instance,)
    parts: list[Value] = [
        made(frame, node, name, known.result, operands, arguments) for name in names
    ]
    return Sequence(parts, None, "tuple") if known.instances else parts[0]


def _computed(
    frame: Frame, node: cst.Call, name: str, known: Call, operands: Operands, arguments: Arguments
) -> Value:
    """The result of an operation on its operands, which is written to `out=` if that is given."""
    out = arguments.keywords.get("out")
    if out is not None:
        operands.append(out)
    if known.agreement is Agreement.FREE and out is None:
        result = first_operand(frame, node, operands)
    else:
        operands = without_zero_dim(known, arguments, operands)
        if name.endswith(".multi_head_attention_forward"):  # takes empty tensors for no weights
            operands = [pair for pair in operands if not is_placeholder(pair[0])]
        result = meet(
            frame,
            node,
            shorten(node.func),
            operands,
            known.agreement is Agreement.POINTWISE,
            MeetingKind.OPERATION,
            indices=index_nodes(known, arguments),
        )
    if known.random and not name.startswith("torch.utils."):
        generators.check(frame, node, result, arguments)
    if known.result is Result.HOST:
        return HOST
    if known.result is Result.NONE or known.result is Result.UNKNOWN:
        return UNKNOWN
    if known.result is Result.FIRST and operands:
        if known.in_place and type(operands[0][0]) is Tensor:
            return operands[0][0]  # itself: `self.w = nn.init.normal_(nn.Parameter(…))`
        result = first_operand(frame, node, operands[:1])
    if known.instance:
        return made(frame, node, known.instance, known.result, operands, arguments)
    return shape_result(frame, node, result, known, arguments)


def syncs_for(known: Call, arguments: Arguments) -> bool:
    """Whether a call that may sync does so with these arguments."""
    given = set(arguments.keywords) | set(known.params[: len(arguments.positional)])
    if known.sync_unless & given:
        return False
    if known.sync_only_if:
        values = {name: value for name, (value, _) in arguments.keywords.items()}
        values |= {p: v for p, (v, _) in zip(known.params, arguments.positional, strict=False)}
        return any(
            type(value) is Tensor
            for name in known.sync_only_if & given
            for value in alternatives(values[name])
        )
    return True


def _carried(frame: Frame, node: cst.Call, known: Call, arguments: Arguments) -> Value:
    """`send_to_device(batch, device)`: its first argument, where `device` is; without one it
    stays."""
    value = arguments.get(0, known.params[0]) or UNKNOWN
    if known.result is not Result.DEVICE:
        return carry(frame, node, value, CUDA if known.result is Result.CUDA else None)
    device = arguments.get(known.params.index("device"), "device")
    if device is None or device == NONE:
        return UNKNOWN if arguments.open else value
    return carry(frame, node, value, place_of(frame, device))
