"""The contradictions of a function become facts, with how sure each of them is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from devlint.inference.call_contexts import Given
from devlint.inference.collect import call_contexts, module_homes
from devlint.inference.collect.explanation import operand
from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.placement import CPU, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, INDIRECT, Tensor
from devlint.inference.facts import Meeting, MeetingKind, Operand
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.unification.batches import (
    comes_with_others,
    is_left_behind,
    left_behind,
)
from devlint.inference.models.unification.contradictions import never_meet
from devlint.inference.models.unification.drafts import is_told
from devlint.inference.program import usage
from devlint.inference.program.assumption_sites import at, of_code, of_value
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import MeetingDraft, Meetings
from devlint.inference.program.traffic import HostInputs, Moves
from devlint.inference.syntax.filled_parts import fills_list_with
from devlint.inference.syntax.text import has_key, shorten

# Steps of a story. On code that works, one step of such a long one is wrong far more often than the
# code is.
FAR, FAR_TOGETHER = 3, 5


def settle(frame: Frame) -> None:
    """Turn the function's drafts into facts."""
    facts, meetings = frame.unit.facts, frame.kept(Meetings)
    _decide(frame, meetings)
    call_contexts.note_home(frame)
    for draft in meetings.drafts.values():
        if not is_told(draft):
            continue
        is_local = frame.function is not None and frame.function.is_local
        left_open = strength(draft.assumptions) < 1 and (is_local or _is_of_given_module(draft))
        pending = meetings.pendings.get((draft.left.place, draft.right.place))
        if pending is not None and pending.node is draft.node and not left_open:
            del meetings.pendings[draft.left.place, draft.right.place]  # it is said here
        left = operand(frame, draft.left, draft.left_node)
        right = operand(frame, draft.right, draft.right_node)
        assumed = [*draft.assumptions, *_with_host_inputs(frame, draft)]
        assumed += _of_sources(frame, draft.left, draft.right)
        assumed += [*_of_arguments(frame, draft), *_of_host_copies(frame, draft)]
        if strength(draft.assumptions) == 1:
            assumed += _of_story(frame, draft, left, right)
        usage.note(frame)
        facts.meetings.append(
            Meeting(
                site=frame.site(draft.node),
                kind=draft.kind,
                operation=draft.operation,
                left=_spoken(left, draft, draft.left),
                right=_spoken(right, draft, draft.right),
                assumptions=tuple(assumed),
                in_module=frame.in_module,
                inside=draft.inside,
                caught=draft.caught,
                given=_given(frame, draft),
            )
        )
    meetings.drafts.clear()


def _of_arguments(frame: Frame, draft: MeetingDraft) -> Iterator[Assumption]:
    """What is handed to `forward` is where the module is, and so is what another method brings
    together with the module's own. What it does not, is where its callers have it."""
    sides = draft.left, draft.right
    if CPU not in (side.place for side in sides):
        return
    for side in sides:
        if call_contexts.is_callers_own(frame, side.place):
            message = "callers hand in {} on an accelerator"
            yield of_value(frame, AssumptionKind.CALLER_IS_ACCELERATED, side, message)


def _of_host_copies(frame: Frame, draft: MeetingDraft) -> Iterator[Assumption]:
    """Whoever copies a value to the host right where it meets an entry of what a model returns
    knows where that is: `torch.equal(outputs["image"], image.cpu())`"""
    sides = (draft.left, draft.left_node), (draft.right, draft.right_node)
    for (copy, written), (entry, asked) in (sides, sides[::-1]):
        if copy.origin is None or entry.origin is None or not isinstance(asked, cst.Subscript):
            continue
        is_copied_here = copy.origin.kind is StepKind.MOVED and copy.origin.node is written
        is_returned = entry.origin.kind is StepKind.COMPUTED and has_key(asked)
        if copy.place == CPU and is_copied_here and is_returned:
            message = "{} was put on the host, and not for what it meets here"
            kind = AssumptionKind.EXPLICIT_HOST_IS_MEANT_ELSEWHERE
            yield of_value(frame, kind, copy, message)


def _is_of_given_module(draft: MeetingDraft) -> bool:
    """The module that is called was handed in: a call that hands in one of an accelerator says
    more. Of what a callee out of sight made of the input it says nothing."""
    place = draft.right.place
    of_input = type(place) is Variable and place.kind is VariableKind.INPUT
    return of_input and draft.kind is MeetingKind.INPUT and not draft.left.traits & INDIRECT


def _given(frame: Frame, draft: MeetingDraft) -> Given | None:
    """The parameter that has to be on a device; none, if a move says that it is not there."""
    places = {type(draft.left.place), type(draft.right.place)}
    if places == {Variable}:
        return None
    made = any(tensor.traits & DEFAULT for tensor in (draft.left, draft.right))
    found = call_contexts.given(frame, draft.right, draft.left, meets=True, made=made)
    found = found or module_homes.own_home(frame, draft.left, draft.right)
    return found or (call_contexts.default_device(frame.function) if made else None)


def _decide(frame: Frame, meetings: Meetings) -> None:
    """A move says where its source is not: what one branch brings to a device, and another leaves
    as it was handed in, is not there where both go on. A callee out of sight may have brought it.

    `if wide: x = crop(x).to(device)`, `else: x = pad(x)`, and then `net(x)`
    """
    moves = frame.kept(Moves)
    for draft in meetings.undecided:
        place = draft.left.place
        if type(place) is not Variable or never_meet(frame, draft.left, draft.right):
            continue
        root = draft.left.origin.root.node if draft.left.origin is not None else draft.left_node
        if is_left_behind(frame, draft.left, draft.right):
            root = draft.left_node
            assumed = left_behind(frame, draft.left, root)
        elif draft.right.place in moves.goals.get(place, ()) and _is_open(frame, draft.left):
            message = "{} is not where this function brings it"
            kind = AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE
            assumed = [of_value(frame, kind, draft.left, message)]
        else:
            continue
        whole = (*draft.assumptions, *assumed)
        meetings.drafts.setdefault((root, draft.right.place), replace(draft, assumptions=whole))
    meetings.undecided.clear()


def _is_open(frame: Frame, tensor: Tensor) -> bool:
    if tensor.traits & INDIRECT:
        return False
    return not is_given_part(tensor) or comes_with_others(frame, tensor)


def _of_sources(frame: Frame, *tensors: Tensor) -> Iterator[Assumption]:
    """A move says where its source is not: what the function brings to a device itself, on this
    path or on another one, or a module in a method besides `forward`, its callers mostly hand in
    from the host."""
    places, moves = [tensor.place for tensor in tensors], frame.kept(Moves)
    for tensor in tensors:
        place = tensor.place
        if type(place) is not Variable or CPU not in places:
            continue
        if place not in moves.goals and not _brings_its_like(frame, place):
            continue
        if place.kind is VariableKind.INPUT:
            message = "{} is on an accelerator already, though this code brings it to one"
            kind = AssumptionKind.SOURCE_OF_MOVE_IS_ACCELERATED
            yield of_value(frame, kind, tensor, message)


def _brings_its_like(frame: Frame, place: Variable) -> bool:
    """`forward` is handed `targets`, and a method that it calls says `targets.to(self.device)`."""
    if not frame.is_forward or frame.info is None:
        return False
    name = place.name.partition(".")[0]
    return any(holds("input-brought-home", each.text, name) for each in frame.info.lineage())


def _of_story(
    frame: Frame, draft: MeetingDraft, left: Operand, right: Operand
) -> Iterator[Assumption]:
    """What has to be assumed of a story that is not certain anyway."""
    kinds = {each.kind for each in draft.assumptions}
    is_known = AssumptionKind.BATCH_BELONGS_TOGETHER in kinds
    if not is_known and _is_far_fetched(left, right):
        message = "each step of the long way to here is as it seems"
        yield at(frame, AssumptionKind.LONG_STORY_HOLDS, draft.node, message)
    if _is_assembled(frame, left, right):
        message = "what this function puts into lists is not on the host"
        yield at(frame, AssumptionKind.LIST_IS_JOINED_ON_DEVICE, left.site.node, message)


def _is_far_fetched(odd: Operand, anchor: Operand) -> bool:
    """What is out of place came to the host by a long story; or the two came apart by one that
    leads through a callee out of sight."""
    if CPU not in (odd.placement, anchor.placement):
        return False
    far = _length(odd)
    guessed = odd.indirect or anchor.indirect
    return far >= FAR or (guessed and far + _length(anchor) >= FAR_TOGETHER)


def _is_assembled(frame: Frame, left: Operand, right: Operand) -> bool:
    """The two are joined, `[x, padding]`, by a function that fills a list with what comes of that:
    that is mostly done on the host."""
    function, joined = frame.function, left.site.node
    if not (isinstance(joined, (cst.List, cst.Tuple)) and joined is right.site.node):
        return False
    return function is not None and fills_list_with(function.node, joined)


def _length(shown: Operand) -> int:
    """The kinds of steps of a story; some only say more of the step before."""
    return len({step.kind for step in shown.steps} - {StepKind.BRANCH, StepKind.REGISTERED})


def _with_host_inputs(frame: Frame, draft: MeetingDraft) -> Iterator[Assumption]:
    """The function reads an input on the host, as it is, and meets it, or another one, with what
    is on the host; or so it reads what comes of that: whoever wrote it expects its inputs there."""
    read = frame.kept(HostInputs)
    if frame.in_module or not (read.unshown or _result_of(draft) in read.made):
        return
    own = {p.variable for p in frame.function.parameters} if frame.function is not None else set()
    places = {draft.left.place, draft.right.place}
    if CPU in places and not places.isdisjoint(read.unshown | own):
        message = "its inputs are not where this function has the host read them"
        yield of_code(frame, AssumptionKind.HOST_READS_OTHERS, message)


def _result_of(draft: MeetingDraft) -> cst.CSTNode:
    """The operation whose result is what comes of a meeting; of `x += y` it is that of `x`."""
    origin = draft.left.origin
    return origin.node if isinstance(draft.node, cst.AugAssign) and origin else draft.node


def _spoken(shown: Operand, draft: MeetingDraft, tensor: Tensor) -> Operand:
    """What a callee makes itself is no argument: it is named as it is made there."""
    origin = tensor.origin
    if draft.inside is None or shown.site.node is not draft.node or origin is None:
        return shown
    root = origin.root
    if root.kind is not StepKind.CREATED or not isinstance(root.node, cst.BaseExpression):
        return shown
    return shown._replace(name=shorten(root.node))
