"""What a function does to devices, noted while it is walked; `settle` makes facts of it.

A note becomes a fact only when the function is done: only then is it known which values are
tensors, what a loop rebinds, and whether a discarded move's subject is read again.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from devlint.inference import feeding, steps
from devlint.inference.assumption_sites import at
from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Site, StepKind
from devlint.inference.domain.tensors import INDIRECT, Tensor
from devlint.inference.drafts import FAR
from devlint.inference.facts import (
    ElementAccess,
    HiddenCopy,
    HostRead,
    Hotness,
    LateRead,
    Loop,
    Move,
    NonLeaf,
    Operand,
    RoundTrip,
    Sync,
)
from devlint.inference.frame import Frame, LoopState
from devlint.inference.iteration import targets_of
from devlint.inference.telling import operand
from devlint.inference.text import dotted, shorten


@dataclass(slots=True, eq=False)
class MoveNote:
    node: cst.CSTNode
    method: str
    subject: Tensor
    subject_node: cst.CSTNode
    target: Placement
    target_node: cst.CSTNode | None
    of_module: bool
    discarded: bool
    non_blocking: bool
    loop: LoopState | None
    creation: cst.CSTNode | None
    guarded: bool
    cold: bool = False
    to_tensor: bool = False


@dataclass(slots=True, eq=False)
class SyncNote:
    node: cst.CSTNode
    call: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    loop: LoopState | None
    cold: bool
    guards_error: bool = False
    evaluates: bool = False
    for_logging: bool = False
    needed: bool = False
    inside: Site | None = None


@dataclass(slots=True, eq=False)
class HostReadNote:
    node: cst.CSTNode
    sink: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    assumptions: Assumptions
    caught: bool
    waits: bool = False  # for a call that shows it to be on a device


@dataclass(slots=True, eq=False)
class RoundTripNote:
    away: cst.CSTNode
    back: cst.CSTNode
    subject: Tensor
    subject_node: cst.CSTNode
    start: Placement
    middle: Placement


@dataclass(slots=True, eq=False)
class LateReadNote:
    copy: cst.CSTNode
    read: cst.CSTNode
    tensor: Tensor
    tensor_node: cst.CSTNode


@dataclass(slots=True, eq=False)
class NonLeafNote:
    node: cst.CSTNode
    tensor: Tensor
    tensor_node: cst.CSTNode
    use: str = ""
    use_node: cst.CSTNode | None = None


@dataclass(slots=True, eq=False)
class ElementNote:
    node: cst.CSTNode
    tensor: Tensor
    tensor_node: cst.CSTNode
    writes: bool
    loop: LoopState
    single: bool = False


@dataclass(slots=True, eq=False)
class HiddenCopyNote:
    node: cst.CSTNode
    what: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    base: Tensor
    base_node: cst.CSTNode
    loop: LoopState | None


Note = (
    HiddenCopyNote
    | MoveNote
    | SyncNote
    | HostReadNote
    | RoundTripNote
    | LateReadNote
    | NonLeafNote
    | ElementNote
)


def on_accelerator(tensor: Tensor) -> int:
    """How sure it is that a tensor is on an accelerator: 2, 1, 0, or -1 when it is on the host.

    An input of a function may be: 0. An unknown place says nothing: -1.
    """
    place = tensor.place
    if type(place) is Device:
        return 2 if place.is_accelerator else -1
    if type(place) is Variable:
        if place.kind is VariableKind.INPUT:
            return 0
        return 2
    return -1


def settle(frame: Frame) -> None:
    """Turn the function's notes into facts."""
    facts = frame.unit.facts
    site = frame.site
    for note in frame.notes:
        kind = type(note)
        if kind is MoveNote:
            move: MoveNote = note
            of_module = move.of_module or (_is_called(move) and not move.subject.is_sure)
            if move.discarded and not of_module and (_is_guess(move.subject) or _is_called(move)):
                continue  # perhaps a module, which moves in place
            if move.discarded and _is_stub(frame):
                continue
            if not of_module and not move.subject.is_sure and move.method != "cuda":
                continue
            facts.moves.append(
                Move(
                    site=site(move.node),
                    method=move.method,
                    subject=operand(frame, move.subject, move.subject_node),
                    target=move.target,
                    of_module=of_module,
                    discarded=move.discarded,
                    used_later=True,
                    non_blocking=move.non_blocking,
                    loop=loop_fact(frame, move.loop),
                    invariant=_invariant(move, of_module),
                    creation=site(move.creation) if move.creation is not None else None,
                    target_node=move.target_node,
                    to_tensor=move.to_tensor,
                    guarded=move.guarded,
                    statement=move.node if move.discarded else None,
                    function=function_site(frame),
                    cold=move.cold,
                )
            )
            own(frame, "move", len(facts.moves) - 1)
        elif not (note.tensor.is_sure if hasattr(note, "tensor") else _is_batch(note)):
            continue
        elif kind is SyncNote:
            facts.syncs.append(
                Sync(
                    site=site(note.node),
                    call=note.call,
                    operand=operand(frame, note.tensor, note.tensor_node),
                    loop=loop_fact(frame, _hot_one(note.loop)),
                    cold=note.cold,
                    for_logging=note.for_logging,
                    function=function_site(frame),
                    in_module=frame.in_module,
                    guards_error=note.guards_error,
                    evaluates=note.evaluates or steps.evaluates(frame.function),
                    elementwise=_is_elementwise(note),
                    needed=note.needed,
                    inside=note.inside,
                )
            )
            own(frame, "sync", len(facts.syncs) - 1)
        elif kind is HostReadNote:
            shown = operand(frame, note.tensor, note.tensor_node)
            assumed = note.assumptions
            if strength(assumed) == 1 and _is_far_fetched(shown):
                message = "each step of the long way to here is as it seems"
                kind_of = AssumptionKind.LONG_STORY_HOLDS
                assumed = (*assumed, at(frame, kind_of, note.node, message))
            facts.host_reads.append(
                HostRead(
                    site=site(note.node),
                    sink=note.sink,
                    operand=shown,
                    assumptions=assumed,
                    caught=note.caught,
                    given=feeding.given(frame, note.tensor, waits=note.waits),
                )
            )
        elif kind is RoundTripNote:
            if note.away in frame.needed:
                continue
            facts.round_trips.append(
                RoundTrip(
                    site(note.away),
                    site(note.back),
                    operand(frame, note.subject, note.subject_node),
                    note.start,
                    note.middle,
                )
            )
        elif kind is LateReadNote:
            facts.late_reads.append(
                LateRead(
                    site(note.copy),
                    site(note.read),
                    operand(frame, note.tensor, note.tensor_node),
                )
            )
        elif kind is NonLeafNote:
            facts.non_leaves.append(
                NonLeaf(
                    site(note.node),
                    operand(frame, note.tensor, note.tensor_node),
                    note.use,
                    site(note.use_node) if note.use_node is not None else None,
                )
            )
        elif kind is HiddenCopyNote:
            if note.base.is_sure:
                facts.hidden_copies.append(
                    HiddenCopy(
                        site(note.node),
                        note.what,
                        operand(frame, note.tensor, note.tensor_node),
                        operand(frame, note.base, note.base_node),
                        loop_fact(frame, note.loop),
                        prepares=steps.prepares(frame.function),
                    )
                )
        elif kind is ElementNote:
            loop = loop_fact(frame, note.loop)
            assert loop is not None
            facts.element_accesses.append(
                ElementAccess(
                    site(note.node),
                    operand(frame, note.tensor, note.tensor_node),
                    note.writes,
                    loop,
                    note.single,
                )
            )
    frame.notes.clear()


def _is_far_fetched(shown: Operand) -> bool:
    """It came to the accelerator by a long story, computations aside."""
    plain = (StepKind.BRANCH, StepKind.REGISTERED, StepKind.COMPUTED)
    return sum(step.kind not in plain for step in shown.steps) >= FAR


def _is_guess(tensor: Tensor) -> bool:
    """What came back from an unknown callee, and was not used as a tensor; or an object whose class
    is out of sight."""
    evidence = tensor.evidence
    if evidence is not None and (evidence.foreign or evidence.is_host):
        return True
    shown = evidence is not None and evidence.is_tensor
    return bool(tensor.traits & INDIRECT) and not shown


def _is_stub(frame: Frame) -> bool:
    """The `to` of a class that a test made for itself: it may do less on purpose."""
    function = frame.function
    return (
        frame.unit.is_test
        and function is not None
        and function.info is not None
        and function.name in ("to", "cuda", "cpu")
    )


def _is_called(move: MoveNote) -> bool:
    """By its name the subject of a discarded move is a module."""
    if move.subject.evidence is None:
        return False
    node = move.subject_node
    if isinstance(node, cst.Subscript):
        node = node.value
    return holds("module-name", dotted(node).rpartition(".")[2])


def _hot_one(loop: LoopState | None) -> LoopState | None:
    """The innermost hot loop: one over a few items in it runs as often as it does."""
    around = loop
    while around is not None and around.hotness is Hotness.COLD:
        around = around.outer
    return around if around is not None and _heat(around) is Hotness.HOT else loop


def _is_batch(note: RoundTripNote) -> bool:
    """A tensor, or a batch of a DataLoader, which moves as one."""
    origin = note.subject.origin
    loaded = origin is not None and origin.root.kind is StepKind.LOADED
    return note.subject.is_sure or loaded


def loop_fact(frame: Frame, loop: LoopState | None) -> Loop | None:
    if loop is None:
        return None
    over = shorten(loop.over) if loop.over is not None else ""
    trains, around = loop.trains, loop.outer
    while around is not None and _heat(around) is Hotness.HOT and not trains:
        trains, around = around.trains, around.outer
    nested = loop.outer is not None and _heat(loop.outer) is Hotness.HOT
    return Loop(
        frame.site(loop.node),
        over,
        _heat(loop),
        loop.feeds_device,
        loop.depth,
        trains,
        nested,
    )


def _heat(loop: LoopState) -> Hotness:
    """A loop around the training loop turns once per epoch, whatever it is called."""
    if loop.hotness is Hotness.HOT and loop.wraps_training and not loop.trains:
        return Hotness.EPOCHS
    return loop.hotness


def function_site(frame: Frame) -> Site | None:
    return frame.site(frame.function.node) if frame.function is not None else None


def own(frame: Frame, kind: str, index: int) -> None:
    """Remember in which function a fact is: how often that runs shows when the file is done."""
    if frame.function is not None:
        frame.unit.owned.append((kind, index, frame.function, frame.constructing))


def lasting_syncs(frame: Frame) -> list[Site]:
    """Where a function waits whenever it is called: one place is enough."""
    if steps.is_cold(frame.function):
        return []
    for note in frame.notes:
        if (
            type(note) is SyncNote
            and not note.cold
            and not note.guards_error
            and note.tensor.place is not None
        ):
            return [frame.site(note.node)]
    return []


_NUMBERS = frozenset({".item()", "float()", "int()", "bool()", "if", "while", "assert"})


def _is_elementwise(note: SyncNote) -> bool:
    """What is read is one element of a tensor that the loop goes through and does not change."""
    loop, origin = note.loop, note.tensor.origin
    if loop is None or origin is None or isinstance(loop.node, cst.While):
        return False
    if note.call not in _NUMBERS:
        return False
    newest = origin.node if origin.kind is StepKind.COMPUTED else None
    names = targets_of(loop.node)
    return any(
        node is loop.over or _picks(node, names, loop.assigned)
        for top in (note.tensor_node, newest)
        for node in _sides(top)
    )


def _sides(node: cst.CSTNode | None) -> list[cst.CSTNode]:
    """`a[i]` of `a[i] * 2` and of `a[i] > b`."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.Comparison):
        return [node.left, *(target.comparator for target in node.comparisons)]
    return [] if node is None else [node]


def _picks(node: cst.CSTNode, counters: set[str], assigned: set[str]) -> bool:
    """`a[i]` by the loop's counter, of a tensor that the loop does not replace."""
    if not isinstance(node, cst.Subscript):
        return False
    base = dotted(node.value)
    if not base or not prefixes(base).isdisjoint(assigned):
        return False
    parts = [element.slice for element in node.slice]
    return all(isinstance(part, cst.Index) for part in parts) and any(
        _depends(part.value, counters) for part in parts if isinstance(part, cst.Index)
    )


def _depends(node: cst.CSTNode, names: set[str]) -> bool:
    """`i`, `i + 1`: a counter of the loop."""
    if isinstance(node, cst.BinaryOperation):
        return _depends(node.left, names) or _depends(node.right, names)
    return isinstance(node, cst.Name) and node.value in names


def prefixes(path: str) -> set[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`."""
    parts = path.split(".")
    return {".".join(parts[: i + 1]) for i in range(len(parts))}


def _invariant(move: MoveNote, of_module: bool) -> bool:
    """Neither what is moved nor where to changes in the loop. A module that its own move rebinds
    is the same one."""
    if move.loop is None:
        return False
    changed = move.loop.assigned if of_module else move.loop.assigned | move.loop.rebound
    for node in (move.subject_node, move.target_node):
        if of_module and isinstance(node, cst.Attribute) and node.attr.value == "device":
            continue
        if node is None:
            continue
        if isinstance(node, (cst.SimpleString, cst.Integer)):
            continue
        path = dotted(node)
        if not path:
            return False
        if prefixes(path) & changed:
            return False
    return True
