"""What a function does to devices, noted while it is walked; `settle` makes facts of it.

A note becomes a fact only when the function is done: only then is it known which values are
tensors, what a loop rebinds, and whether a discarded move's subject is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import libcst as cst

from devlint.inference.collect import call_contexts, device_comparisons, module_homes, moves_in_vain
from devlint.inference.collect.contradictions import FAR
from devlint.inference.collect.explanation import operand
from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import found, holds
from devlint.inference.domain.assumptions import SHOWN_BY_CALLS, AssumptionKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import INDIRECT, MATRIX, PARAMETER, VECTOR, Tensor
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
from devlint.inference.program import roles, usage
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.class_state import kept_attribute
from devlint.inference.program.constructors import is_being_made
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
from devlint.inference.syntax.text import dotted, shorten

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
    for note in frame.notes:
        _SETTLERS[type(note)](frame, note)
    frame.notes.clear()


def _settle_move(frame: Frame, note: MoveNote) -> None:
    is_called = _is_called(frame, note)
    of_module = note.of_module or (is_called and not note.subject.is_sure)
    if note.discarded and _loses_nothing(frame, note, of_module, is_called):
        return
    if not (of_module or _is_of_tensor(note) or note.method == "cuda"):
        return
    if note.discarded:
        usage.note(frame)
    site, facts = frame.site, frame.unit.facts
    facts.moves.append(
        Move(
            site=site(note.node),
            method=note.method,
            subject=operand(frame, note.subject, note.subject_node),
            target=note.target,
            of_module=of_module,
            discarded=note.discarded,
            non_blocking=note.non_blocking,
            loop=loop_fact(frame, note.loop),
            invariant=invariant(frame, note, of_module),
            creation=site(note.creation) if note.creation is not None else None,
            target_node=note.target_node,
            to_tensor=note.to_tensor,
            guarded=note.guarded,
            statement=note.node if note.discarded else None,
            function=function_site(frame),
            cold=note.cold,
            kept="" if note.subject.was_given else kept_attribute(frame, note.subject_node),
            in_module=frame.in_module,
            apart=note.apart,
            evaluates=_evaluates(frame, note),
            either=note.either,
        )
    )
    own(frame, "move", len(facts.moves) - 1)
    if note.discarded and not of_module:
        moves_in_vain.note(frame, note, len(facts.moves) - 1)


def _evaluates(frame: Frame, note: MoveNote | SyncNote) -> bool:
    """It stands in code that evaluates: in a branch, a function or a loop of that kind."""
    return note.evaluates or roles.evaluates(frame.function) or in_evaluation(note.loop)


def _loses_nothing(frame: Frame, note: MoveNote, of_module: bool, is_called: bool) -> bool:
    """A move whose result is dropped loses nothing: perhaps its subject is a module, which moves in
    place; the method is a stub of a test; or the subject is shown to be no tensor."""
    if of_module:
        return _is_stub(frame)
    is_guess = is_called or _is_guess(note.subject)
    return is_guess or _is_stub(frame) or _is_no_tensor(frame, note)


def _settle_sync(frame: Frame, note: SyncNote) -> None:
    if not note.tensor.is_sure:
        return
    part = part_read(frame, note)
    site, facts = frame.site, frame.unit.facts
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
            evaluates=_evaluates(frame, note),
            elementwise=part is not None,
            whole=site(part.whole) if part is not None else None,
            of_piece=part is not None and part.is_piece,
            needed=note.needed,
            invariant=reads_the_same(frame, note),
            inside=note.inside,
            perhaps=note.perhaps,
            is_operand=note.is_operand,
            given=call_contexts.read(frame, note.tensor),
            kept=_kept(frame, note),
        )
    )
    own(frame, "sync", len(facts.syncs) - 1)


def _kept(frame: Frame, note: SyncNote) -> str:
    """The attribute of which the host reads numbers, when it is what the constructor made. Which
    rows of it a mask picks, only the mask says."""
    node: cst.CSTNode = note.tensor_node
    if "mask" in note.call:
        return ""
    while note.call == "slice bound" and isinstance(node, cst.Subscript):
        node = node.value
    return "" if note.tensor.traits & PARAMETER else kept_attribute(frame, node)


def _settle_host_read(frame: Frame, note: HostReadNote) -> None:
    usage.note(frame)
    reads = [_read(frame, note)] if note.tensor.is_sure else _waiting_read(frame, note)
    frame.unit.facts.host_reads.extend(reads)


def _settle_round_trip(frame: Frame, note: RoundTripNote) -> None:
    if not _is_batch(note) or note.away in frame.kept(HostCopies).needed:
        return
    subject = operand(frame, note.subject, note.subject_node)
    away, back = frame.site(note.away), frame.site(note.back)
    frame.unit.facts.round_trips.append(RoundTrip(away, back, subject, note.start, note.middle))


def _settle_late_read(frame: Frame, note: LateReadNote) -> None:
    if note.tensor.is_sure:
        read = operand(frame, note.tensor, note.tensor_node)
        late = LateRead(frame.site(note.copy), frame.site(note.read), read)
        frame.unit.facts.late_reads.append(late)


def _settle_non_leaf(frame: Frame, note: NonLeafNote) -> None:
    if note.tensor.is_sure:
        tensor = operand(frame, note.tensor, note.tensor_node)
        use = frame.site(note.use_node) if note.use_node is not None else None
        frame.unit.facts.non_leaves.append(NonLeaf(frame.site(note.node), tensor, note.use, use))


def _settle_hidden_copy(frame: Frame, note: HiddenCopyNote) -> None:
    if not (note.tensor.is_sure and note.base.is_sure):
        return
    facts = frame.unit.facts
    facts.hidden_copies.append(
        HiddenCopy(
            frame.site(note.node),
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


def _settle_element(frame: Frame, note: ElementNote) -> None:
    if not note.tensor.is_sure or is_being_made(frame, note.tensor):
        return
    loop = loop_fact(frame, note.loop)
    assert loop is not None
    tensor = operand(frame, note.tensor, note.tensor_node)
    access = ElementAccess(frame.site(note.node), tensor, note.writes, loop, note.single)
    frame.unit.facts.element_accesses.append(access)


_SETTLERS: Mapping[type[Note], Callable[[Frame, Any], None]] = {
    ComparisonNote: device_comparisons.settle_comparison,
    MoveNote: _settle_move,
    SyncNote: _settle_sync,
    HostReadNote: _settle_host_read,
    RoundTripNote: _settle_round_trip,
    LateReadNote: _settle_late_read,
    NonLeafNote: _settle_non_leaf,
    HiddenCopyNote: _settle_hidden_copy,
    ElementNote: _settle_element,
}


def _read(frame: Frame, note: HostReadNote) -> HostRead:
    shown = operand(frame, note.tensor, note.tensor_node)
    assumed = note.assumptions
    if strength(assumed) == 1 and _is_far_fetched(shown):
        message = "each step of the long way to here is as it seems"
        kind_of = AssumptionKind.LONG_STORY_HOLDS
        assumed = (*assumed, at(frame, kind_of, note.node, message))
    home = module_homes.own_home(frame, note.tensor)
    if home is not None and _may_be_for_export(frame, note.tensor):
        message = "the module is on an accelerator when it gets here"
        kind_of = AssumptionKind.READING_MODULE_IS_MOVED
        assumed = (*assumed, at(frame, kind_of, note.node, message))
    if _may_be_one_index(note):
        name = shorten(note.tensor_node)
        message = f"`{name}` has several elements: one integer NumPy reads from wherever it is"
        assumed = (*assumed, at(frame, AssumptionKind.VALUE_HAS_DIMENSIONS, note.node, message))
    return HostRead(
        site=frame.site(note.node),
        sink=note.sink,
        operand=shown,
        assumptions=assumed,
        caught=note.caught,
        given=call_contexts.given(frame, note.tensor, waits=note.waits) or home,
        of_list=note.of_list,
    )


def _may_be_one_index(note: HostReadNote) -> bool:
    """`table[index]`, of an array: one integer is read by `Tensor.__index__`, which waits for it;
    only a mask, or several, NumPy takes for an array."""
    if not isinstance(note.node, cst.Subscript) or note.tensor.traits & (VECTOR | MATRIX):
        return False
    parts = (element.slice for element in note.node.slice)
    is_index = any(isinstance(p, cst.Index) and p.value is note.tensor_node for p in parts)
    made = note.tensor.origin.node if note.tensor.origin is not None else None
    return is_index and not any(isinstance(n, cst.Comparison) for n in (note.tensor_node, made))


def _may_be_for_export(frame: Frame, read: Tensor) -> bool:
    """A method that no framework calls, nor its own class, and that has nothing to do with devices:
    whoever calls it may have brought the module to the host, to write down what it has. What the
    module computes nobody is said to bring it there for, where others of its methods copy such to
    the host themselves: `return self.net(x).cpu().numpy()`."""
    function, info = frame.function, frame.info
    if function is None or info is None or holds("framework-method", function.name):
        return False
    lineage = info.lineage()
    is_called = any(f"self.{function.name}(" in each.text for each in lineage)
    if is_called or function.says("device-minding-text"):
        return False
    is_computed = read.origin is not None and read.origin.kind is StepKind.COMPUTED
    return not (is_computed and any(each.says("copied-for-host-text") for each in lineage))


def _waiting_read(frame: Frame, note: HostReadNote) -> Iterator[HostRead]:
    """What the host reads, and may be an array for all that the function shows: a call that hands
    in a tensor on an accelerator decides. `def show(image): plt.imshow(image)`"""
    if not note.waits:
        return
    as_index = isinstance(note.node, cst.Subscript)
    given = call_contexts.given(
        frame, note.tensor, waits=True, may_be_array=True, as_index=as_index
    )
    if given is None:
        return
    message = f"a call hands in a tensor on an accelerator for `{given.parameter}`"
    shown = at(frame, AssumptionKind.CALL_SHOWS_TENSOR, note.tensor_node, message)
    kept = tuple(each for each in note.assumptions if each.kind not in SHOWN_BY_CALLS)
    yield _read(frame, note)._replace(given=given, assumptions=(*kept, shown))


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


def _is_of_tensor(move: MoveNote) -> bool:
    """What is moved is a tensor, or what the move leaves is used as one."""
    used = move.handed or (move.result is not None and move.result.is_sure)
    return move.subject.is_sure or used


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


def _is_called(frame: Frame, move: MoveNote) -> bool:
    """By its name the subject of a discarded move is a module, or since the class calls it."""
    if move.subject.evidence is None:
        return False
    node = move.subject_node
    if isinstance(node, cst.Subscript):
        node = node.value
    name = dotted(node)
    called = name.startswith("self.") and frame.info is not None and f"{name}(" in frame.info.text
    return called or holds("module-name", name.rpartition(".")[2])


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
        frame.unit.kept(roles.Owned).facts.append((kind, index, frame.function, frame.constructing))
