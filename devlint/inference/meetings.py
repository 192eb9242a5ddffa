"""Unification: what happens when one operation brings tensors together.

`meet` gives the result's place and notes each contradiction; `settle` turns what was noted in a
function into facts, once the whole function has shown which values are tensors.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.choices import want_two_settings
from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import PathCondition, both, either, exclude
from devlint.inference.domain.placement import CPU, Device, Variable, VariableKind, same_place
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.tensors import (
    COPYING,
    DEFAULT,
    EMPTY,
    GRAD,
    INDIRECT,
    INHERITED,
    KEPT,
    LOADED,
    MAYBE_SCALAR,
    PARAMETER,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Unknown, Value, alternatives, choose
from devlint.inference.facts import MeetingKind
from devlint.inference.frame import Frame, MeetingDraft, Pending
from devlint.inference.strays import strays
from devlint.inference.text import dotted, shorten
from devlint.inference.values import Instance

MAX_PENDING = 24

# Which operand sets the device of a meeting: the higher, the more others must follow it.
_MODULE, _CHOSEN, _INPUT, _HOST, _DEFAULT, _UNKNOWN = 5, 4, 3, 2, 1, 0

Candidate = tuple[Tensor, cst.CSTNode, int]  # a tensor, its expression, the operand's number


def tensors_in(value: Value, depth: int = 3) -> list[Tensor]:
    """The tensors that a value is or holds."""
    if type(value) is Tensor:
        return [value]
    if type(value) is Sequence and depth:
        found = []
        if value.items is not None:
            for item in value.items:
                found += tensors_in(item, depth - 1)
        elif value.element is not None:
            found = tensors_in(value.element, depth - 1)
        return found
    if type(value) is Mapping and depth:
        return tensors_in(value.any(), depth - 1)
    if type(value) is Instance:
        return [] if value.tensor is None else [value.tensor]
    found = []
    for alternative in alternatives(value):
        if alternative is not value:
            found += tensors_in(alternative, depth)
    return found


def _parts(value: Value, depth: int = 3) -> list[Value]:
    """What meets in an operand: the elements of a list do, the alternatives of a value do not."""
    if type(value) is Sequence and value.items is not None and depth:
        return [part for item in value.items for part in _parts(item, depth - 1)]
    return [value]


def _authority(tensor: Tensor) -> int:
    place = tensor.place
    if place is None:
        return _UNKNOWN
    if isinstance(place, Variable):
        if place.kind is VariableKind.MODULE:
            return _MODULE
        return _CHOSEN if place.kind is VariableKind.DEVICE else _INPUT
    if place.is_accelerator:
        return _CHOSEN
    return _DEFAULT if tensor.traits & DEFAULT else _HOST


def contradiction(frame: Frame, odd: Tensor, anchor: Tensor, pointwise: bool) -> int:
    """How sure it is that the two may not meet: 2 certain, 1 likely, 0 possible, -1 they may."""
    a, b = odd.place, anchor.place
    if a is None or b is None or a is b:
        return -1
    if never_meet(frame, odd, anchor):
        return -1
    if pointwise and (_exempt(odd) or _exempt(anchor)):
        return -1
    rank = _rank(frame, odd, anchor)
    if rank > 0 and want_two_settings(odd.assumed, anchor.assumed):
        return 0
    if rank > 0 and frame.unit.keeps_to_host:
        return 0
    if (
        pointwise
        and rank > 0
        and any(t.traits & MAYBE_SCALAR and _on_cpu(t) for t in (odd, anchor))
    ):
        return 0
    return rank


def never_meet(frame: Frame, a: Tensor, b: Tensor) -> bool:
    """They belong to different branches, or one to another branch than this code."""
    when = frame.when
    return exclude(a.when, b.when) or exclude(a.when, when) or exclude(b.when, when)


def _rank(frame: Frame, odd: Tensor, anchor: Tensor) -> int:
    a, b = odd.place, anchor.place
    if type(a) is Device and type(b) is Device:
        rank = clash(a, b)
        return min(rank, 1) if (odd.traits | anchor.traits) & INDIRECT else rank
    if type(a) is Variable and type(b) is Variable:
        return -1
    known, variable = (odd, anchor) if type(a) is Device else (anchor, odd)
    return _rigid(frame, known, variable)


def _exempt(tensor: Tensor) -> bool:
    """A 0-dim CPU tensor meets every device in point-wise operations; one without elements is
    a placeholder that never takes part in one."""
    return bool(tensor.traits & (SCALAR | EMPTY)) and _on_cpu(tensor)


def written(tensor: Tensor) -> Tensor:
    """What an operation writes has to be where its other operands are, even a 0-dim tensor."""
    if not tensor.traits & (SCALAR | MAYBE_SCALAR) or not _on_cpu(tensor):
        return tensor
    return tensor.with_place(tensor.place, tensor.origin, drop=SCALAR | MAYBE_SCALAR)


def _is_made_up(tensor: Tensor) -> bool:
    """Made on the default device: what computes with it mostly goes by what else it is given."""
    return bool(tensor.traits & DEFAULT) and _on_cpu(tensor)


def _on_cpu(tensor: Tensor) -> bool:
    place = tensor.place
    return type(place) is Device and place.type == "cpu"


def clash(a: Device, b: Device) -> int:
    """How sure it is that two known devices differ, as in `contradiction`."""
    if a.type != b.type:
        if "meta" in (a.type, b.type):
            return -1
        if a.is_accelerator and b.is_accelerator:
            return 0  # one machine has one kind: these are branches of a choice
        return 2
    if a.index == b.index:
        return -1
    if a.index is None or b.index is None:
        # The current device is 0 unless somebody set it.
        return 0 if (a.index or b.index) else -1
    return 2


def _rigid(frame: Frame, known: Tensor, variable: Tensor) -> int:
    place = known.place
    assert type(place) is Device and type(variable.place) is Variable
    if place.type != "cpu":
        return strays(frame, known, variable)
    if frame.constructing:
        return -1  # nothing has been moved yet
    kind = variable.place.kind
    by_default = bool(known.traits & DEFAULT)
    if kind is VariableKind.DEVICE:
        rank = 2 if by_default or known.traits & LOADED else 1
    elif kind is VariableKind.MODULE:
        rank = 2 if by_default else 1
    elif by_default:
        if frame.in_module:
            rank = 2
        else:
            rank = 1
    else:
        rank = 0
    if (known.traits | variable.traits) & INDIRECT:
        rank = min(rank, 1)
    if rank and kind is not VariableKind.DEVICE and _keeps_to_host(frame):
        rank = 0
    if variable.evidence is not None and variable.evidence.own:
        rank = 0  # it may still be where the class made it
    if variable.place in frame.read_by_host:
        rank = 0  # if it is elsewhere, that read fails first
    if frame.unit.feeds_host and kind is VariableKind.INPUT:
        rank = 0  # in code that prepares data, inputs are on the host
    if frame.unit.is_test:
        rank = 0  # tests run where their fixtures put them
    if rank and frame.runs_in_constructor:
        return -1
    if _answers_to_callers(frame, variable):
        rank = 0
    if kind is VariableKind.INPUT and not frame.in_module and _was_array(known):
        rank = 0  # a caller that hands in arrays hands in no tensors of an accelerator
    return rank


def _keeps_to_host(frame: Frame) -> bool:
    """A script that never asks for an accelerator, or an object whose device is the host."""
    return frame.unit.host_script or (frame.info is not None and frame.info.keeps_to_host)


def _was_array(tensor: Tensor) -> bool:
    """`if isinstance(x, np.ndarray): x = torch.from_numpy(x)`, `x` being handed in."""
    step = tensor.origin.root if tensor.origin is not None else None
    return (
        step is not None
        and type(step.before) is Variable
        and isinstance(step.node, cst.Call)
        and dotted(step.node.func).endswith("from_numpy")
    )


def _answers_to_callers(frame: Frame, tensor: Tensor) -> bool:
    """A parameter of a function that is defined in another and called only there: its calls are in
    sight, and say what it gets."""
    place, function = tensor.place, frame.function
    if type(place) is not Variable or place.kind is not VariableKind.INPUT or function is None:
        return False
    return function.is_local and any(place is p.variable for p in function.parameters)


def meet(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    operands: list[tuple[Value, cst.CSTNode]],
    pointwise: bool = True,
    kind: MeetingKind = MeetingKind.OPERATION,
    indirect: bool = False,
    indices: tuple[cst.CSTNode, ...] = (),
) -> Value:
    """Unify the devices of an operation's tensor operands.

    Returns the result as a tensor where the operands live, or the unknown value when no operand is
    a tensor. `indirect`: through an unknown callee, so that nothing is certain. `indices`: the
    operands that are an index, a mask or `out=`.
    """
    candidates: list[Candidate] = []
    uncertain = False
    count = 0
    for value, expression in operands:
        for part in _parts(value):
            mixed = type(part) is Sequence and part.mixed
            candidates += [
                (t, expression, -1 if mixed else count)
                for t in tensors_in(part)
                if not exclude(t.when, frame.when)
            ]
            count += 1
        if type(value) is Unknown:
            uncertain = True
    for tensor, expression, _ in candidates:
        if tensor.traits & COPYING:
            from devlint.inference.syncs import late_read

            late_read(frame, node, tensor, expression)
    if not candidates:
        return UNKNOWN
    if len(candidates) > 1 and frame.unit.mentions.converts:
        frame.unit.mentions.met([tensor for tensor, _, _ in candidates])
    if len(candidates) == 1 and not uncertain:
        anchor = candidates[0][0]
    else:
        anchor = max(candidates, key=_weight)[0]
        if anchor.place is not None and len(candidates) > 1:
            clashed = _compare(
                frame, node, operation, candidates, anchor, pointwise, kind, indirect, indices
            )
            if clashed:  # it is said here, and whatever the result meets would say it again
                result = _result(frame, node, candidates, anchor, pointwise, indirect)
                return result.with_place(None, result.origin)
    others = uncertain or any(t.place is None for t, _, _ in candidates)
    if others and _exempt(anchor):
        return Tensor(None, anchor.origin)  # the operand of unknown place decides
    if others and indirect and _is_made_up(anchor):
        return Tensor(None, anchor.origin)  # it computes with the others, wherever those are
    if others and anchor.traits & KEPT and _on_cpu(anchor) and frame.in_module:
        # If the unknown one is elsewhere, they cannot meet: that is the one thing to say of it.
        return Tensor(None, anchor.origin)
    if frame.is_forward:
        _show_inputs(candidates)
    known = anchor.evidence
    if known is not None and not known.is_tensor:
        sure_ones = [c for c in candidates if c[0].evidence is None and c[0].place is not None]
        if sure_ones:  # what is no more than perhaps a tensor does not decide where the result is
            rival, anchor = anchor, max(sure_ones, key=_weight)[0]
            if _exempt(anchor) or (indirect and _is_made_up(anchor)):
                return Tensor(None, anchor.origin)  # it goes along with a tensor of any device
            result = _result(frame, node, sure_ones, anchor, pointwise, indirect)
            if result.origin is not None and rival.place is not anchor.place:
                result.origin.rival = rival
            return result
    apart = _apart(candidates) if not uncertain else -1
    if apart >= 0:
        return _each_way(frame, node, candidates, apart, pointwise, indirect)
    result = _result(frame, node, candidates, anchor, pointwise, indirect)
    own = result.evidence
    if uncertain and own is not None and own is anchor.evidence and own.number:
        result.evidence = Evidence(parents=(own,))  # if it is a tensor, the unknown operand is one
    return result


def _apart(candidates: list[Candidate]) -> int:
    """The number of the one operand that is one of several in different places, by tests that came
    out this way or that; -1 if there is none."""
    if len({number for _, _, number in candidates}) == len(candidates):
        return -1
    found = -1
    for at, (tensor, _, number) in enumerate(candidates):
        for other, _, its in candidates[:at]:
            if number == its != found and tensor.place is not other.place:
                if number == -1 or found >= 0 or not exclude(tensor.when, other.when):
                    return -1
                found = number
    return found


def _each_way(
    frame: Frame,
    node: cst.CSTNode,
    candidates: list[Candidate],
    number: int,
    pointwise: bool,
    indirect: bool,
) -> Value:
    """The result for each alternative of one operand."""
    others = [c for c in candidates if c[2] != number]
    results: list[tuple[Value, PathCondition]] = []
    for one in candidates:
        if one[2] == number:
            operands = [one, *others]
            anchor = max(operands, key=_weight)[0]
            result = _result(frame, node, operands, anchor, pointwise, indirect)
            results.append((result, one[0].when))
    return choose(results)


def decider(tensor: Tensor) -> Tensor | None:
    """What turned out to be a tensor, and decides where this value is: when the value was computed
    that was open."""
    if tensor.origin is None:
        return None
    for step in tensor.origin.chain():
        if step.kind is StepKind.MOVED:
            return None
        if type(step.rival) is Tensor and step.rival.is_sure:
            return step.rival
    return None


def _show_inputs(candidates: list[Candidate]) -> None:
    """What `forward` is given, and computes with beside a tensor, is one: `x - self.mean`."""
    if all(tensor.evidence is not None for tensor, _, _ in candidates):
        return
    for tensor, _, _ in candidates:
        evidence, origin = tensor.evidence, tensor.origin
        if evidence is None or evidence.number or origin is None:
            continue
        if origin.root.kind is StepKind.PARAMETER and _picked(origin):
            evidence.mark_tensor()


def _picked(origin: Provenance) -> bool:
    """An input, or a part of it: `x`, `x[:n]`."""
    return all(
        step.kind is StepKind.PARAMETER or isinstance(step.node, cst.Subscript)
        for step in origin.chain()
    )


def _weight(candidate: Candidate) -> tuple[int, bool, bool, bool]:
    """Which candidate sets the place of the result: the highest."""
    tensor = candidate[0]
    number = tensor.evidence is not None and tensor.evidence.number
    return _authority(tensor), tensor.is_sure, not number, not tensor.traits & SCALAR


def _compare(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    candidates: list[Candidate],
    anchor: Tensor,
    pointwise: bool,
    kind: MeetingKind,
    indirect: bool,
    indices: tuple[cst.CSTNode, ...],
) -> bool:
    """Note what contradicts the anchor; whether anything certainly or likely does."""
    first, clashed = anchor, False
    first_node, first_number = next((n, i) for t, n, i in candidates if t is first)
    counts: dict[int, int] = {}
    for _, _, number in candidates:
        counts[number] = counts.get(number, 0) + 1
    for tensor, expression, number in candidates:
        if frame.orphans and tensor.origin is not None:
            orphan = frame.orphans.get(tensor.origin.root.node)
            if orphan is not None:
                orphan.used = True
                orphan.joined = orphan.joined or any(
                    t.place is None and t.is_sure for t, _, _ in candidates
                )
                orphan.settled = orphan.settled or any(_came_to_host(t) for t, _, _ in candidates)
                orphan.peers.update(
                    t.origin.root.node for t, _, _ in candidates if t.origin is not None
                )
        if tensor is first or tensor.place is first.place or tensor.place is None:
            continue
        anchor, anchor_node, anchor_number = first, first_node, first_number
        is_branch = number == first_number and number != -1
        if is_branch or exclude(tensor.when, first.when):
            # Another branch of the value that sets the place: it meets the other operands.
            others = _others(tensor, number, candidates)
            if not others:
                continue
            anchor, anchor_node, anchor_number = max(others, key=_weight)
            if tensor.place is anchor.place:
                continue
        rank = contradiction(frame, tensor, anchor, pointwise)
        if rank >= 0 and is_placeholder(operation, tensor, anchor):
            continue
        if number == -1:
            same_choice = _is_converted(tensor, anchor)
        else:
            same_choice = _goes_along(tensor, anchor_number, candidates) or (
                counts[number] > 1 and _is_converted(tensor, anchor)
            )
        started = counts[number] > 1 and _exempt(tensor)  # a sum before its first term
        fits = _fits_default(frame, tensor, anchor, anchor_number, candidates)
        if same_choice or started or fits:
            rank = min(rank, 0)
        if kind is MeetingKind.CALLEE and not _are_inputs(
            operation, tensor, expression, candidates
        ):
            rank = min(rank, 0)  # what it does with them is out of sight
        if rank >= 0:
            if indirect and tensor.traits & anchor.traits & INDIRECT:
                rank = 0  # two guesses: where they come from, and what becomes of them
            several = counts[number] > 1 and number != -1
            if several:
                several = not stands_in(frame, tensor, [t for t, _, n in candidates if n == number])
            guesses = indirect + several
            if guesses:  # one branch only, a callee out of sight
                rank = min(rank, 2 - guesses)
            by_index = expression in indices or anchor_node in indices
            spoken = MeetingKind.INDEX if by_index else kind
            note(frame, node, spoken, operation, tensor, expression, anchor, anchor_node, rank)
            clashed = clashed or (rank > 0 and tensor.is_sure and anchor.is_sure)
            alone = number == -1 or (counts[number] == 1 and counts[first_number] == 1)
            if alone and not indirect:
                leave_to_callers(frame, node, kind, operation, tensor, anchor, pointwise)
        elif not indirect and Variable in (type(tensor.place), type(anchor.place)):
            add_pending(frame, node, kind, operation, tensor, anchor, pointwise)
    return clashed


def _others(tensor: Tensor, number: int, candidates: list[Candidate]) -> list[Candidate]:
    """What one alternative of an operand meets in the others."""
    return [
        c
        for c in candidates
        if (c[2] != number or number == -1)
        and c[0].place is not None
        and not exclude(c[0].when, tensor.when)
    ]


def _came_to_host(tensor: Tensor) -> bool:
    """It was moved to the host, for what it meets there."""
    if tensor.place != CPU or tensor.origin is None:
        return False
    return any(step.kind is StepKind.MOVED for step in tensor.origin.chain())


def is_placeholder(operation: str, *operands: Tensor) -> bool:
    """One of the operands has no elements: only what joins tensors is ever done to it."""
    return any(t.traits & EMPTY for t in operands) and not _joins(operation)


def _is_converted(tensor: Tensor, other: Tensor) -> bool:
    """One was made a tensor because its value was none, the other is where that value is if it is
    one: the elements of a list are all of one kind, and a value is of one kind everywhere."""
    step = tensor.origin.root if tensor.origin is not None else None
    return (
        step is not None
        and step.kind is StepKind.CREATED
        and type(step.before) is Variable
        and step.before is other.place
    )


def is_optional(frame: Frame, tensor: Tensor) -> bool:
    """It comes of a parameter that the caller may leave out: the other stands in for that."""
    root = tensor.origin.root if tensor.origin is not None else None
    if root is None or not isinstance(root.node, cst.Param) or frame.function is None:
        return False
    default = frame.function.defaults.get(root.node.name.value)
    return type(default) is Const and default.value is None


def stands_in(frame: Frame, tensor: Tensor, others: list[Tensor]) -> bool:
    """What a method of a module makes for an input that is left out: the others are that input."""
    rest = [t for t in others if t.origin is not tensor.origin]
    return (
        frame.in_module
        and bool(rest)
        and bool(tensor.traits & DEFAULT and tensor.when)
        and all(is_optional(frame, t) for t in rest)
    )


def _fits_default(
    frame: Frame, tensor: Tensor, anchor: Tensor, number: int, candidates: list[Candidate]
) -> bool:
    """The anchor is a parameter that may be left out, and what stands in for it is where the
    tensor is: `if limits is None: limits = torch.arange(…)`."""
    return is_optional(frame, anchor) and any(
        n == number and same_place(t.place, tensor.place) and not never_meet(frame, t, tensor)
        for t, _, n in candidates
    )


def _goes_along(tensor: Tensor, number: int, candidates: list[Candidate]) -> bool:
    """One alternative of an operand comes from the same value as one of the other operand: where
    the one is taken, the other is."""
    root = tensor.origin.root.node if tensor.origin is not None else None
    return root is not None and any(
        t.origin is not None and t.origin.root.node is root and t.place == tensor.place
        for t, _, n in candidates
        if n == number
    )


def _are_inputs(
    operation: str, odd: Tensor, expression: cst.CSTNode, candidates: list[Candidate]
) -> bool:
    """A model or a criterion gets what its caller moved, beside something of the kind that stayed
    behind: it computes with both. Any other callee may have them for different ends."""
    if odd.traits & KEPT or not holds("model-operation", operation.rpartition(".")[2]):
        return False
    return holds("input-expression", shorten(expression)) and any(
        t.place is not odd.place
        and t.origin is not None
        and any(step.kind is StepKind.MOVED for step in t.origin.chain())
        and holds("input-expression", shorten(node))
        for t, node, _ in candidates
    )


def _joins(operation: str) -> bool:
    return operation.rpartition(".")[2].endswith(("cat", "stack", "concat", "concatenate"))


def add_pending(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    right: Tensor,
    pointwise: bool,
    called: Evidence | None = None,
) -> None:
    """Two operands that a caller may put apart: one note for each pair of places."""
    key = (left.place, right.place)
    old = frame.pendings.get(key)
    if old is not None:
        old.when = either(old.when, frame.when)
    if (old is None and len(frame.pendings) < MAX_PENDING) or (old and not may_meet(old)):
        frame.pendings[key] = Pending(
            node, kind, operation, left, right, pointwise, frame.when, called
        )


def may_meet(pending: Pending) -> bool:
    """Neither operand has been shown to be no tensor meanwhile."""
    return not any(
        t.evidence is not None and t.evidence.is_host for t in (pending.left, pending.right)
    )


def leave_to_callers(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    right: Tensor,
    pointwise: bool,
) -> None:
    """A contradiction with a parameter that may be no tensor: a call that hands one in shows it."""
    for tensor in (left, right):
        if tensor.is_sure and not _answers_to_callers(frame, tensor):
            continue
        if type(tensor.place) is Variable and tensor.place.parameter:
            add_pending(frame, node, kind, operation, left, right, pointwise)
            return


def note(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    left_node: cst.CSTNode,
    right: Tensor,
    right_node: cst.CSTNode,
    rank: int,
    inside: Site | None = None,
) -> None:
    """Remember a contradiction: one for each cause and place that sets the device."""
    if frame.expecting:
        return
    root = left.origin.root.node if left.origin is not None else left_node
    key = (root, right.place)
    old = frame.drafts.get(key)
    if old is not None and (old.rank >= rank or old.node is node):
        guessed = not (old.left.is_sure and old.right.is_sure)
        if not (guessed and left.is_sure and right.is_sure):
            return
    frame.drafts[key] = MeetingDraft(
        node, kind, operation, left, left_node, right, right_node, rank, inside, frame.caught > 0
    )


def _result(
    frame: Frame,
    node: cst.CSTNode,
    candidates: list[Candidate],
    anchor: Tensor,
    pointwise: bool,
    indirect: bool,
) -> Tensor:
    if frame.loops and _feeds(anchor):
        frame.loops[-1].feeds_device = True
    traits = anchor.traits & INHERITED
    scalar = SCALAR
    maybe = SCALAR | MAYBE_SCALAR
    vector = VECTOR
    shaped = SHAPED if pointwise and not indirect else 0
    empty = EMPTY
    requires = 0
    evidence: list[Evidence] = []
    sure = chosen = False
    for tensor, _, _ in candidates:
        chosen = chosen or bool(tensor.when)
        scalar &= tensor.traits
        empty &= tensor.traits
        if not tensor.traits & maybe:
            maybe = 0
        if not tensor.traits & SCALAR:
            vector &= tensor.traits
            shaped &= tensor.traits if tensor.place is anchor.place else 0
        requires |= tensor.traits & (GRAD | PARAMETER)
        if tensor.evidence is None:
            sure = True
        else:
            evidence.append(tensor.evidence)
    traits |= scalar or vector
    traits |= shaped
    traits |= empty
    if maybe and not scalar:
        traits |= MAYBE_SCALAR
    if requires:
        traits |= GRAD
    if indirect:
        traits |= INDIRECT
    if sure:
        known = None
    elif len(evidence) == 1:
        known = evidence[0]
    else:
        known = Evidence(parents=tuple(evidence[:4]))
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, anchor.origin)
    if chosen:
        origin.when = _meanwhile(candidates, anchor)
    return Tensor(anchor.place, origin, traits, known)


def _meanwhile(candidates: list[Candidate], anchor: Tensor) -> PathCondition:
    """What holds of a result that is where the anchor is: what holds of that, and of each operand
    beside it."""
    operands: dict[int, PathCondition] = {}
    own = next(number for tensor, _, number in candidates if tensor is anchor)
    for tensor, _, number in candidates:
        if number != own and not exclude(tensor.when, anchor.when):
            held = operands.get(number)
            operands[number] = tensor.when if held is None else either(held, tensor.when)
    when = anchor.when
    for held in operands.values():
        when = both(held, when)
    return when


def _feeds(tensor: Tensor) -> bool:
    """An operation on it runs on an accelerator, in the accelerated world."""
    place = tensor.place
    if type(place) is Device:
        return place.is_accelerator
    return type(place) is Variable and tensor.is_sure
