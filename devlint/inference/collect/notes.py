"""What a function does to devices, noted while it is walked; `settle` makes facts of it.

A note becomes a fact only when the function is done: only then is it known which values are
tensors, what a loop rebinds, and whether a discarded move's subject is read again.
"""

from __future__ import annotations

from typing import TypeVar

import libcst as cst

from devlint.inference.collect import call_contexts, invalid_devices
from devlint.inference.collect.contradictions import FAR
from devlint.inference.collect.explanation import operand
from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import found, holds
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import INDIRECT, Tensor
from devlint.inference.facts import (
    CardWideCall,
    DataCopy,
    ElementAccess,
    HiddenCopy,
    HostRead,
    LateRead,
    Move,
    NonLeaf,
    Operand,
    RoundTrip,
    Sync,
)
from devlint.inference.program import roles
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.class_state import kept_attribute
from devlint.inference.program.events import (
    ComparisonNote,
    ElementNote,
    HiddenCopyNote,
    HostReadNote,
    LateReadNote,
    MoveNote,
    NonLeafNote,
    RoundTripNote,
    SyncNote,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.traffic import HostCopies
from devlint.inference.summaries.element_reads import part_read, reads_the_same
from devlint.inference.summaries.waits import (
    function_site,
    hot_one,
    in_evaluation,
    invariant,
    loop_fact,
)
from devlint.inference.syntax.text import dotted

Sited = TypeVar("Sited", CardWideCall, DataCopy)

_UNLISTED = ("type", "pin_memory", "__len__")  # methods of tensors that no schema names


Note = (
    ComparisonNote
    | HiddenCopyNote
    | MoveNote
    | SyncNote
    | HostReadNote
    | RoundTripNote
    | LateReadNote
    | NonLeafNote
    | ElementNote
)


def settle(frame: Frame) -> None:
    """Turn the function's notes into facts."""
    facts = frame.unit.facts
    site = frame.site
    for note in frame.notes:
        kind = type(note)
        if kind is ComparisonNote:
            invalid_devices.settle_comparison(frame, note)
        elif kind is MoveNote:
            move: MoveNote = note
            of_module = move.of_module or (_is_called(move) and not move.subject.is_sure)
            if move.discarded and not of_module and (_is_guess(move.subject) or _is_called(move)):
                continue  # perhaps a module, which moves in place
            if move.discarded and _is_stub(frame):
                continue
            if move.discarded and not of_module and _is_no_tensor(frame, move):
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
                    invariant=invariant(move, of_module),
                    creation=site(move.creation) if move.creation is not None else None,
                    target_node=move.target_node,
                    to_tensor=move.to_tensor,
                    guarded=move.guarded,
                    statement=move.node if move.discarded else None,
                    function=function_site(frame),
                    cold=move.cold,
                    kept="" if move.subject.was_given else kept_attribute(frame, move.subject_node),
                )
            )
            own(frame, "move", len(facts.moves) - 1)
        elif not (note.tensor.is_sure if hasattr(note, "tensor") else _is_batch(note)):
            continue
        elif kind is SyncNote:
            part = part_read(frame, note)
            facts.syncs.append(
                Sync(
                    site=site(note.node),
                    call=note.call,
                    operand=operand(frame, note.tensor, note.tensor_node),
                    loop=loop_fact(frame, hot_one(note.loop)),
                    cold=note.cold,
                    for_logging=note.for_logging,
                    function=function_site(frame),
                    in_module=frame.in_module,
                    guards_error=note.guards_error,
                    evaluates=note.evaluates
                    or roles.evaluates(frame.function)
                    or in_evaluation(note.loop),
                    elementwise=part is not None,
                    whole=site(part.whole) if part is not None else None,
                    of_piece=part is not None and part.is_piece,
                    needed=note.needed,
                    invariant=reads_the_same(frame, note),
                    inside=note.inside,
                    perhaps=note.perhaps,
                    is_operand=note.is_operand,
                    given=call_contexts.read(frame, note.tensor),
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
                    given=call_contexts.given(frame, note.tensor, waits=note.waits),
                    of_list=note.of_list,
                )
            )
        elif kind is RoundTripNote:
            if note.away in frame.kept(HostCopies).needed:
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
                        prepares=roles.prepares(frame.function),
                        cold=note.cold,
                        given=call_contexts.given(frame, note.base),
                    )
                )
                own(frame, "copy", len(facts.hidden_copies) - 1)
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
    """The operand came to the accelerator by a long story, computations aside."""
    plain = (StepKind.BRANCH, StepKind.REGISTERED, StepKind.COMPUTED)
    return sum(step.kind not in plain for step in shown.steps) >= FAR


def _is_guess(tensor: Tensor) -> bool:
    """What came back from an unknown callee, and was not used as a tensor; or an object whose class
    is out of sight."""
    evidence = tensor.evidence
    if evidence is not None and (evidence.effects.foreign or evidence.is_host):
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


def _is_no_tensor(frame: Frame, move: MoveNote) -> bool:
    """The function calls a method of it that tensors do not have: `net.llm.resize(…)`."""
    name, function = dotted(move.subject_node), frame.function
    if not name or function is None:
        return False
    known = frame.unit.context.knowledge.methods
    called = set(found("called-method-of", function.text, name))
    return any(method not in known and method not in _UNLISTED for method in called)


def _is_called(move: MoveNote) -> bool:
    """By its name the subject of a discarded move is a module."""
    if move.subject.evidence is None:
        return False
    node = move.subject_node
    if isinstance(node, cst.Subscript):
        node = node.value
    return holds("module-name", dotted(node).rpartition(".")[2])


def _is_batch(note: RoundTripNote) -> bool:
    """A tensor, or a batch of a DataLoader, which moves as one."""
    origin = note.subject.origin
    loaded = origin is not None and origin.root.kind is StepKind.LOADED
    return note.subject.is_sure or loaded


def keep_last(
    frame: Frame, kind: str, facts: list[Sited], places: dict[cst.CSTNode, int], fact: Sited
) -> None:
    """Keep one fact of each node, that of the last walk over it; `places`: where each stands."""
    node = fact.site.node
    if node in places:
        facts[places[node]] = fact
        return
    places[node] = len(facts)
    facts.append(fact)
    own(frame, kind, len(facts) - 1)


def own(frame: Frame, kind: str, index: int) -> None:
    """Remember in which function a fact is: how often that runs shows when the file is done."""
    if frame.function is not None:
        frame.unit.owned.append((kind, index, frame.function, frame.constructing))
