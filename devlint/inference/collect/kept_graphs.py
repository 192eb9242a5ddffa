"""Where a loop keeps what autograd recorded: `total += loss`, `outputs.append(model(x))`.

A tensor that autograd recorded holds the graph that made it, with what that saved for a backward
pass. Added up, or put into a list, it is kept with each turn of the loop.
"""

from __future__ import annotations

from dataclasses import field

import libcst as cst

from devlint.inference.collect.under_way import UnderWay, method_of
from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Hotness, KeptGraph
from devlint.inference.models.gradients import BOTH, BackwardPasses, are_off
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import AddedUp, Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.loops import LoopState
from devlint.inference.program.roles import evaluates
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Instance
from devlint.inference.syntax.evaluation_order import Moment, moments
from devlint.inference.syntax.text import code, dotted, every, owner_of, shorten
from devlint.records import dataclass

_BACKWARD = frozenset({"backward", "manual_backward"})


# What of a tensor has its graph: `loss.mean()`, `loss.cpu()`.
_KEEPING = frozenset({"mean", "sum", "cpu", "cuda", "to", "float", "double", "clone", "squeeze"})


@dataclass(slots=True, eq=False)
class _Kept:
    """One value that is added up or appended."""

    into: cst.BaseExpression
    value_node: cst.BaseExpression
    value: Value
    loop: LoopState


@dataclass(slots=True, eq=False)
class _Seen:
    """What one run of a function keeps, and where it runs backward passes, by node."""

    kept: dict[cst.CSTNode, _Kept] = field(default_factory=dict)
    passes: set[cst.Call] = field(default_factory=set)
    switches: set[cst.Call] = field(default_factory=set)  # `model.eval()`


class KeptGraphs(UnderWay[_Seen]):
    """Of one file, what its functions keep, and what waits for their callers."""

    __slots__ = ("waiting",)

    def __init__(self, unit: Unit) -> None:
        super().__init__(_Seen)
        self.waiting: list[tuple[Function | None, KeptGraph]] = []


def of_call(frame: Frame, event: Called) -> None:
    """Note `losses.append(loss)`, and backward passes."""
    node, callee, arguments = event
    func = node.func
    if not isinstance(func, cst.Attribute):
        return
    name = func.attr.value
    if name in _BACKWARD:
        frame.unit.kept(KeptGraphs).of(frame).passes.add(node)
    elif name == "eval" and not node.args:
        frame.unit.kept(KeptGraphs).of(frame).switches.add(node)
    elif name == "append" and len(arguments.positional) == 1:
        own = any(type(v) is Instance and v.info is not None for v in alternatives(callee))
        value, value_node = arguments.positional[0]
        if not own and isinstance(value_node, cst.BaseExpression):
            _keep(frame, node, func.value, value_node, value)


def of_sum(frame: Frame, event: AddedUp) -> None:
    """Note `total += loss`."""
    node, value = event
    if not are_off(frame):
        _keep(frame, node, node.target, node.value, value)


def of_addition(frame: Frame, node: cst.BinaryOperation, value: Value) -> None:
    """Note `total = total + loss`."""
    statement = frame.current
    if isinstance(statement, cst.Assign) and statement.value is node and not are_off(frame):
        target = statement.targets[0].target
        if dotted(target) and dotted(target) == dotted(node.left):
            _keep(frame, statement, target, node.right, value)


def _keep(
    frame: Frame,
    node: cst.CSTNode,
    into: cst.BaseExpression,
    value_node: cst.BaseExpression,
    value: Value,
) -> None:
    loop = frame.control.loop
    if loop is not None and not all(type(v) in (Const, Host) for v in alternatives(value)):
        seen = frame.unit.kept(KeptGraphs).of(frame)
        seen.kept[node] = _Kept(into, value_node, value, loop)


def leave(frame: Frame) -> None:
    """The function is done: which of what it keeps has a graph that nobody needs?"""
    notes = frame.unit.kept(KeptGraphs)
    seen = notes.left(frame)
    if seen is None or not seen.kept:
        return
    when = moments(frame.unit.tree if frame.function is None else frame.function.node.body)
    done: set[cst.CSTNode] = set()
    for node, kept in seen.kept.items():
        if node not in when or not when[node].loops or kept.value_node in done:
            continue
        fact = _after_pass(frame, seen, when, node, kept)
        if fact is not None:
            done.add(kept.value_node)
            frame.unit.facts.kept_graphs.append(fact)
        elif (
            _evaluates(frame, seen, kept)
            and not _is_cut(when, node, kept)
            and not _is_read_undetached(when, kept)
        ):
            notes.waiting.append((frame.function, _fact(frame, kept, None)))


def _after_pass(
    frame: Frame,
    seen: _Seen,
    when: dict[cst.CSTNode, Moment],
    node: cst.CSTNode,
    kept: _Kept,
) -> KeptGraph | None:
    """The loop itself runs the backward pass through it: the graph is of no further use."""
    passes = [each for each in seen.passes if each in when]
    if any("retain_graph" in code(each) for each in passes):
        return None
    target = _owner(kept.into)
    if not target or any(target in _names(each) for each in passes):
        return None
    name = _recorded(kept.value_node)
    for each in passes:
        if when[each].loops != when[node].loops:
            continue
        through = name and name in _names(each)
        if through:
            if _rebound(when, name, when[each].number, when[node].number):
                continue
        elif not _went_through(frame, kept.value) or _is_read(when, node, target):
            continue
        if not _is_cut(when, node, kept):
            return _fact(frame, kept, each)
    return None


def _fact(frame: Frame, kept: _Kept, backward: cst.CSTNode | None) -> KeptGraph:
    return KeptGraph(
        site=frame.site(kept.value_node),
        name=shorten(kept.value_node),
        into=shorten(kept.into),
        loop=frame.site(kept.loop.node),
        backward=frame.site(backward) if backward is not None else None,
    )


def _names(call: cst.Call) -> set[str]:
    """`loss` of `scaler.scale(loss / n).backward()`."""
    found = {name.value for name in every(call, cst.Name)}
    return found | {dotted(each) for each in every(call, cst.Attribute)}


def _owner(into: cst.BaseExpression) -> str:
    """`meters` of `meters["loss"]`."""
    return dotted(owner_of(into))


def _recorded(node: cst.BaseExpression) -> str:
    """`loss` of `loss.mean() * n`: what it is that has the graph."""
    if isinstance(node, cst.BinaryOperation):
        return _recorded(node.left) or _recorded(node.right)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return _recorded(node.func.value) if node.func.attr.value in _KEEPING else ""
    return dotted(node) if not dotted(node).endswith(".data") else ""


def _rebound(when: dict[cst.CSTNode, Moment], name: str, first: int, last: int) -> bool:
    """Between the backward pass and the sum the name gets another value."""
    return any(
        first < moment.number < last and any(dotted(t.target) == name for t in node.targets)
        for node, moment in when.items()
        if isinstance(node, cst.Assign)
    )


def _went_through(frame: Frame, value: Value) -> bool:
    """The loss was made of it: `outputs.append(output)`."""
    return any(
        type(v) is Tensor
        and v.traits & BOTH
        and v.origin is not None
        and v.origin.node in frame.kept(BackwardPasses).crossed
        for v in alternatives(value)
    )


def _is_read(when: dict[cst.CSTNode, Moment], node: cst.CSTNode, target: str) -> bool:
    """The loop makes use of what it keeps: the loss may be made of it."""
    loop = when[node].loops[-1]
    uses = (*every(loop, cst.Name), *every(loop, cst.Attribute))
    return sum(dotted(each) == target for each in uses) > 1


def _is_cut(when: dict[cst.CSTNode, Moment], node: cst.CSTNode, kept: _Kept) -> bool:
    """Each turn begins anew, or only the newest are kept."""
    target, loop = _owner(kept.into), when[node].loops[-1]
    begins = (
        small
        for statement in loop.body.body
        if isinstance(statement, cst.SimpleStatementLine)
        for small in statement.body
        if isinstance(small, cst.Assign) and small is not node
    )
    if any(dotted(t.target) == target for each in begins for t in each.targets):
        return True
    targets = (
        {name.value for name in every(loop.target, cst.Name)} if isinstance(loop, cst.For) else ()
    )
    if target.partition(".")[0] in targets:
        return True
    return any(
        dotted(t.target) == target and "deque" in code(each.value)
        for each in when
        if isinstance(each, cst.Assign)
        for t in each.targets
    )


def _is_read_undetached(when: dict[cst.CSTNode, Moment], kept: _Kept) -> bool:
    """`frames[0].cpu().numpy()`, which raises for what is recorded: gradients are off."""
    target = _owner(kept.into)
    return any(
        isinstance(node, cst.Call)
        and method_of(node) == "numpy"
        and code(node).startswith((f"{target}[", f"{target}."))
        and "detach" not in code(node)
        for node in when
    )


def _evaluates(frame: Frame, seen: _Seen, kept: _Kept) -> bool:
    """A loop over batches in code that evaluates keeps what a model returns. No backward pass is
    in the function, nor in another method that finds it on the object, and nowhere in the file are
    gradients turned off."""
    if (
        frame.kept(BackwardPasses).run
        or seen.passes
        or kept.loop.trains
        or kept.loop.hotness is not Hotness.HOT
    ):
        return False
    if not (seen.switches or evaluates(frame.function)):
        return False
    on_object = _owner(kept.into).startswith("self.")
    if on_object and frame.info is not None and "backward(" in frame.info.text:
        return False
    if holds("gradients-off-text", frame.unit.source.text):
        return False
    if frame.function is not None and frame.function.says("training-text"):
        return False
    return any(_is_output(v) for v in alternatives(kept.value))


def _is_output(value: Value) -> bool:
    """What a model returned, or was computed of it, and is recorded."""
    if type(value) is not Tensor or not value.traits & BOTH or value.origin is None:
        return False
    called = (dotted(s.node.func) for s in value.origin.chain() if isinstance(s.node, cst.Call))
    return any(holds("module-name", name.rpartition(".")[2]) for name in called)


def settle(unit: Unit) -> None:
    """All callers in the file are known: are gradients on where an evaluation is called?"""
    notes = unit.kept(KeptGraphs)
    for function, fact in notes.waiting:
        callers = function.callers if function is not None else []
        if any(call.without_gradients for call in callers):
            continue
        # Who calls the callers, and how, is not in sight.
        in_sight = function is None or any(call.caller is None for call in callers)
        unit.facts.kept_graphs.append(fact._replace(sure=in_sight))
    notes.waiting.clear()
