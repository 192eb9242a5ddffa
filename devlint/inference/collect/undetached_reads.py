"""Reads of tensors that autograd records: NumPy refuses them."""

from __future__ import annotations

from dataclasses import field

import libcst as cst

from devlint.inference.collect.explanation import operand
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.host import without_none
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import RECORDED, Tensor
from devlint.inference.domain.value import alternatives
from devlint.inference.facts import UndetachedRead
from devlint.inference.models.gradients import BOTH, BackwardPasses, are_off
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import ArrayTaken, MethodRead
from devlint.inference.program.frames import Frame
from devlint.inference.program.roles import evaluates, turns_gradients_off
from devlint.inference.program.units import Unit
from devlint.records import dataclass

_MAX_CALLERS = 6  # deep


@dataclass(slots=True, eq=False)
class _Read:
    """The host reads what may be recorded, where gradients are on."""

    node: cst.CSTNode
    sink: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    caught: bool
    in_one_branch: bool = False  # what another branch leaves there is not recorded


@dataclass(slots=True, eq=False)
class _Reads:
    """The reads of one function."""

    by_node: dict[cst.CSTNode, _Read] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Undetached:
    """A read that waits for the callers of the function that it is in."""

    function: Function | None
    goes_back: bool  # that function runs a backward pass: gradients are on
    read: UndetachedRead


class UndetachedReads:
    """The reads of a file that wait for the callers of the functions they are in."""

    def __init__(self, unit: Unit) -> None:
        self.waiting: list[Undetached] = []


def read(frame: Frame, event: ArrayTaken) -> None:
    """`.numpy()` and `np.asarray` refuse what is recorded, as long as gradients are on."""
    node, sink, value, value_node = event
    recorded = [v for v in alternatives(value) if type(v) is Tensor and v.traits & BOTH]
    if recorded and not are_off(frame):
        frame.kept(_Reads).by_node[node] = _Read(
            node, sink, recorded[0], value_node, frame.control.caught
        )
        read_of(frame, MethodRead(node, value))


def read_of(frame: Frame, event: MethodRead) -> None:
    """All that a call, noted for one alternative of its object, reads."""
    node, value = event
    noted = frame.kept(_Reads).by_node.get(node)
    if noted is not None:
        noted.in_one_branch = not all(
            type(v) is Tensor and v.traits & BOTH for v in alternatives(without_none(value))
        )


def leave(frame: Frame) -> None:
    """The function is done: what is left of its reads waits for its callers."""
    reads = frame.kept(_Reads).by_node
    for note in reads.values():
        assumed: Assumptions = ()
        if not note.tensor.traits & RECORDED:
            if not _backward_went_through(frame, note.tensor):
                continue
            message = "the call that made {} records it, as the backward pass shows"
            assumed = (of_value(frame, AssumptionKind.GRADIENTS_ARE_ON, note.tensor, message),)
        if note.in_one_branch:
            message = "{} is as the branch leaves it that autograd records"
            assumed += (of_value(frame, AssumptionKind.GRAPH_IS_RECORDED, note.tensor, message),)
        fact = UndetachedRead(
            site=frame.site(note.node),
            sink=note.sink,
            operand=operand(frame, note.tensor, note.tensor_node),
            assumptions=assumed,
            caught=note.caught,
        )
        frame.unit.kept(UndetachedReads).waiting.append(
            Undetached(frame.function, frame.kept(BackwardPasses).run, fact)
        )
    reads.clear()


def _backward_went_through(frame: Frame, tensor: Tensor) -> bool:
    """The call that made it is one that a backward pass went through."""
    if tensor.origin is None:
        return False
    passes = frame.kept(BackwardPasses)
    made = next((s.node for s in tensor.origin.chain() if s.node in passes.may_cross), None)
    return made is not None and made in passes.crossed


def settle(unit: Unit) -> None:
    """All callers in the file are known: are gradients on where a function is called?"""
    for waiting in unit.kept(UndetachedReads).waiting:
        rank = 2 if waiting.goes_back else _mode(waiting.function)
        if rank >= 0:
            read = waiting.read
            known = (*read.assumptions, *_with_gradients(rank, read.site))
            unit.facts.undetached_reads.append(read._replace(assumptions=known))
    unit.kept(UndetachedReads).waiting.clear()


def _with_gradients(rank: int, site: Site) -> Assumptions:
    """The assumption that gradients are on in a function: a caller in sight leaves them on, or none
    is."""
    if rank == 2:
        return ()
    if rank == 1:
        kind, message = AssumptionKind.GRADIENTS_ARE_ON, "the calls in sight record gradients"
    else:
        kind, message = AssumptionKind.GRAPH_IS_RECORDED, "a call out of sight records gradients"
    return (Assumption(kind, site, message),)


def _mode(function: Function | None, depth: int = _MAX_CALLERS) -> int:
    """How sure it is that gradients are on in a function: 2, 1, 0, or -1 when they are off."""
    if function is None:
        return 2
    if depth == 0 or turns_gradients_off(function):
        return -1
    if evaluates(function) or not all(
        holds("harmless-decorator", each) for each in function.decorators
    ):
        return 0
    calls = [
        -1 if call.without_gradients else min(_mode(call.caller, depth - 1), 1)
        for call in function.callers
        if call.caller is not function
    ]
    return max(calls, default=0)
