"""What a function returns: now a tensor on the default device, now one that lives elsewhere.

`return iou.mean() if len(iou) else torch.tensor([0.0])`: the caller meets it somewhere. It is no
bug where the function leaves the choice to its caller, or where every caller moves what it gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const
from devlint.inference.domain.path_conditions import contrary
from devlint.inference.domain.placement import CPU, Placement, Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    INDIRECT,
    MATRIX,
    MAYBE_SCALAR,
    SCALAR,
    Tensor,
)
from devlint.inference.domain.value import Union, Value, alternatives, cases, choose
from devlint.inference.facts import MeetingKind
from devlint.inference.models.factories import CONVERTERS
from devlint.inference.models.unification.accelerated_code import code_is_accelerated, in_test
from devlint.inference.models.unification.branches import is_optional
from devlint.inference.models.unification.drafts import note
from devlint.inference.program.assumption_sites import at, guess, of_value
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import Meetings
from devlint.inference.program.predicates import asks_for_type, is_falsy
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, names_in


def is_odd(value: Value) -> bool:
    """A tensor on the default device, by default."""
    return type(value) is Tensor and bool(value.traits & DEFAULT) and value.place == CPU


def without_raised(frame: Frame, result: Union) -> Value:
    """What comes back where nothing was raised: a result of operands that can't meet, which is said
    there, does not, unless there is no other."""
    clashes = {draft.node for draft in frame.kept(Meetings).drafts.values()}

    def has_raised(value: Value) -> bool:
        if type(value) is not Tensor or value.place is not None or value.origin is None:
            return False
        return any(step.node in clashes for step in value.origin.chain())

    left = [(value, when) for value, when in cases(result) if not has_raised(value)]
    return choose(left) if left else result


def compare(frame: Frame) -> bool:
    """Note each return on the default device beside a rigid one; whether a value was one."""
    said = False
    unit = frame.unit
    on_host = code_is_accelerated(frame)
    if unit.is_test:
        on_host.append(in_test(frame))
    slots: dict[object, list[tuple[Tensor, cst.CSTNode]]] = {}
    for node, value in frame.outcome.returns:
        for alternative in alternatives(value):
            for slot, tensor in _slots(alternative):
                slots.setdefault(slot, []).append((tensor, node))
    noted: set[cst.CSTNode] = set()
    for slot, found in slots.items():
        made = [(t, n) for t, n in found if is_odd(t)]
        rigid = [
            (t, n)
            for t, n in found
            if type(t.place) is Variable
            and t.is_sure
            and not (t.origin is not None and t.origin.kind is StepKind.PARAMETER)
            and not (len(frame.outcome.returns) == 1 and is_optional(frame, t))
        ]
        if not made or not rigid:
            continue
        anchor, anchor_node = min(rigid, key=lambda pair: pair[0].traits & INDIRECT)
        guessed = guess(frame, anchor)  # by what an unknown callee was given
        for tensor, node in made:
            if any(_is_moved(t, tensor) or _converts(tensor, t.place) for t, _ in rigid):
                continue
            if any(_by_callee(t, tensor) or _came_without(tensor, t) for t, _ in rigid):
                continue
            if _looks_up(node) or (node is anchor_node and _is_computed(tensor)):
                continue
            dummy = _of_nothing(frame, tensor) or _is_left_out(frame, tensor)
            # nothing to compute with; of several, only what is no table without rows either
            several = isinstance(slot, tuple)
            empty = tensor.traits & EMPTY and not (several and tensor.traits & MATRIX)
            weak = dummy or empty or _is_state(node, tensor)
            message = "the caller brings what is returned here together with what it has"
            assumed = [at(frame, AssumptionKind.CALLER_MEETS_RESULT, node, message), *on_host]
            if node is not anchor_node and not (frame.is_forward and slot == "value"):
                message = "the caller uses this as it does what the other `return` gives"
                assumed.append(at(frame, AssumptionKind.RETURNS_SERVE_ALIKE, node, message))
            if guessed is not None:
                assumed.append(guessed)
                message = "these guesses hold together"
                assumed.append(at(frame, AssumptionKind.GUESSES_HOLD_TOGETHER, node, message))
            if weak:
                message = "the caller computes with it, whatever it stands for"
                assumed.append(at(frame, AssumptionKind.RESULT_IS_COMPUTED_WITH, node, message))
            if tensor.traits & (SCALAR | MAYBE_SCALAR):
                message = "{} has at least one dimension"
                kind = AssumptionKind.VALUE_HAS_DIMENSIONS
                assumed.append(of_value(frame, kind, tensor, message))
            said = said or (slot == "value" and not on_host and guessed is None)
            noted.add(node)
            sides = (tensor, node), (anchor, anchor_node)
            note(frame, node, MeetingKind.RETURN, "return", *sides, tuple(assumed))
    if noted and frame.function is not None:
        unit.kept(_OddReturns).noted.append((frame.function, noted))
    return said


def _is_moved(elsewhere: Tensor, tensor: Tensor) -> bool:
    """The same value, which one branch moves and the other does not: a choice, not a slip."""
    a, b = elsewhere.origin, tensor.origin
    if a is None or b is None or a.kind is not StepKind.MOVED:
        return False
    return a.root.is_same(b.root)


def _came_without(made: Tensor, elsewhere: Tensor) -> bool:
    """The one is returned where the input that the other one follows is no tensor: by its type, or
    since nothing was handed in. There is no device to follow."""
    place = elsewhere.place
    if type(place) is not Variable:
        return False
    asked = {asks_for_type(fact) or is_falsy(fact) for fact in made.when}
    return place.name.partition(".")[0] in asked


def _of_nothing(frame: Frame, made: Tensor) -> bool:
    """The value is returned where a list that was handed in is empty: `if not outputs:`."""
    function = frame.function
    if function is None:
        return False
    given = {p.name for p in function.parameters}
    text = function.text
    return any(
        path in given and holds("asked-as-list", text, path) for path in map(is_falsy, made.when)
    )


def _is_left_out(frame: Frame, made: Tensor) -> bool:
    """A tensor of one element stands in for what a flag of the caller's switches off."""
    root = made.origin.root.node if made.origin is not None else None
    if frame.function is None or not isinstance(root, cst.Call):
        return False
    sizes = [number for a in root.args if a.keyword is None for number in _numbers(a.value)]
    if not sizes or any(number != "1" for number in sizes):
        return False
    flags = {p.name for p in frame.function.parameters if type(p.default) is Const}
    return any(choice.names and flags.issuperset(choice.names) for choice, _, _ in made.when)


def _numbers(node: cst.BaseExpression) -> list[str]:
    """`1, 1` of `(1, 1)`; what is no number stands for itself."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return [number for element in node.elements for number in _numbers(element.value)]
    return [code(node)]


def _by_callee(elsewhere: Tensor, tensor: Tensor) -> bool:
    """One call returns the one or the other: what there is to say of that is said there."""
    choice = contrary(elsewhere.when, tensor.when)
    return choice is not None and choice.inner


_CONVERTERS = CONVERTERS | {"to_tensor", "pil_to_tensor"}  # and those of images


def _converts(made: Tensor, place: Placement) -> bool:
    """`torch.tensor(x)` is on the default device only where `x` is no tensor, so has no device."""
    call = made.origin.root.node if made.origin is not None else None
    if not isinstance(call, cst.Call) or not call.args or type(place) is not Variable:
        return False
    func = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    if not isinstance(func, cst.Name) or func.value not in _CONVERTERS:
        return False
    # `torch.tensor(np.asarray(x))` as well
    return place.name in {name.partition(".")[0] for name in names_in(call.args[0].value)}


def _looks_up(node: cst.CSTNode) -> bool:
    """`return table[key]`: whatever the key stands for."""
    value = node.value if isinstance(node, cst.Return) else node
    if not isinstance(value, cst.Subscript):
        return False
    part = value.slice[0].slice
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Name)


def _is_computed(tensor: Tensor) -> bool:
    """By an operation here, whose operand is now here, now there: that is no choice of a return."""
    origin = tensor.origin
    return (
        origin is not None
        and origin.kind is StepKind.COMPUTED
        and isinstance(origin.node, (cst.BinaryOperation, cst.Call))
    )


def _is_state(node: cst.CSTNode, tensor: Tensor) -> bool:
    """`return self.table`, or a tuple with it: an object tells what it holds, wherever that is by
    now."""
    if isinstance(node, cst.Return) and isinstance(node.value, cst.Attribute):
        return True
    return tensor.origin is not None and tensor.origin.kind is StepKind.ATTRIBUTE


def differs(value: Value) -> bool:
    """What is returned is not the same in all branches, or for all elements of a list; or some part
    of a tuple, or of a dict, is not."""
    if type(value) is Union or (type(value) is Sequence and value.mixed):
        return True
    return any(type(part) is Union or differs(part) for part in _parts(value))


def _parts(value: Value) -> Iterable[Value]:
    """What a caller takes out of a tuple or a dict, each by its place or key."""
    if type(value) is Sequence and value.kind == "tuple":
        return value.items or ()
    return value.children() if type(value) is Mapping else ()


def _slots(value: Value) -> Iterator[tuple[object, Tensor]]:
    """The tensors of a returned value, by where a caller finds them."""
    if type(value) is Tensor:
        yield "value", value
    elif type(value) is Sequence and value.items is not None and value.kind == "tuple":
        for index, item in enumerate(value.items):
            for v in alternatives(item):
                for slot, tensor in _slots(v) if type(v) in (Tensor, Mapping) else ():
                    yield index if slot == "value" else (index, slot), tensor
    elif type(value) is Sequence and value.mixed:
        # of each element: the tensor, or those that it holds
        for v in alternatives(value.any()):
            yield from ((("element", slot), tensor) for slot, tensor in _slots(v))
    elif type(value) is Mapping:
        for key, entry in (*value.entries.items(), (None, value.element)):
            for v in alternatives(entry) if entry is not None else ():
                if type(v) is Tensor:
                    yield ("entry", key), v


class _OddReturns:
    """Functions of a file some of whose returns are elsewhere, and these."""

    def __init__(self, unit: Unit) -> None:
        self.noted: list[tuple[Function, set[cst.CSTNode]]] = []


def settle(unit: Unit) -> None:
    """Take back what is said of a function all of whose calls in the file move the result."""
    moved = {
        node
        for function, nodes in unit.kept(_OddReturns).noted
        if function.callers and all(call.node in unit.moved_calls for call in function.callers)
        for node in nodes
    }
    if moved:
        unit.facts.meetings[:] = [
            meeting
            for meeting in unit.facts.meetings
            if meeting.kind is not MeetingKind.RETURN or meeting.site.node not in moved
        ]
