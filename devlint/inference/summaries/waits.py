"""Waits of a function for the device, as its callers see them."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.provenance import Site, StepKind
from devlint.inference.facts import Hotness, Loop
from devlint.inference.interpreter.iteration import targets_of
from devlint.inference.program import roles
from devlint.inference.program.events import MoveNote, SyncNote
from devlint.inference.program.loops import LoopState
from devlint.inference.program.records import Frame
from devlint.inference.syntax.text import dotted, passed_through, shorten

_FEW = (cst.List, cst.Tuple, cst.Set)  # a loop over what is written out


def hot_one(loop: LoopState | None) -> LoopState | None:
    """The innermost hot loop: one over a few items in it runs as often as it does."""
    around = loop
    while around is not None and _heat(around) is Hotness.COLD:
        around = around.outer
    return around if around is not None and _heat(around) is Hotness.HOT else loop


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
    """What a loop does says more than what it is called: one that takes a step of its own is hot,
    one around the training loop turns once per epoch."""
    if loop.hotness is Hotness.COLD and loop.trains and not isinstance(loop.over, _FEW):
        return Hotness.HOT
    if loop.hotness is Hotness.HOT and loop.wraps_training and not loop.trains:
        return Hotness.EPOCHS
    return loop.hotness


def in_evaluation(loop: LoopState | None) -> bool:
    """A loop around it runs something without gradients, and none trains."""
    around, evaluates = loop, False
    while around is not None:
        if around.trains:
            return False
        evaluates = evaluates or around.evaluates
        around = around.outer
    return evaluates


def function_site(frame: Frame) -> Site | None:
    return frame.site(frame.function.node) if frame.function is not None else None


def lasting_syncs(frame: Frame) -> list[Site]:
    """Where a function waits whenever it is called: one place is enough."""
    if roles.is_cold(frame.function):
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


def is_elementwise(note: SyncNote) -> bool:
    """What is read is one element of a tensor that the loop goes through and does not change."""
    loop, origin = note.loop, note.tensor.origin
    if loop is None or origin is None or isinstance(loop.node, cst.While):
        return False
    if hot_one(loop) is not loop:
        return False  # a loop over a few: of which the one around it asks again and again
    if note.call not in _NUMBERS and not _takes_number(note.call):
        return False
    newest = origin.node if origin.kind is StepKind.COMPUTED else None
    names = targets_of(loop.node)
    return any(
        node is loop.over or node in passed_through(loop.over) or _picks(node, names, loop.assigned)
        for top in (note.tensor_node, newest)
        for node in _sides(top)
    )


def _takes_number(call: str) -> bool:
    """`torch.zeros()`, `range()`: a tensor stands there for a number."""
    return call.endswith("()") and not call.startswith(".") and call not in ("print()", "str()")


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


def reads_the_same(frame: Frame, note: SyncNote) -> bool:
    """`mask.sum().item()`, of a mask that the loop neither binds nor writes: names, and methods of
    tensors that change nothing."""
    loop = hot_one(note.loop)
    if loop is None or isinstance(loop.node, cst.While):
        return False
    methods = frame.unit.context.knowledge.methods
    node: cst.CSTNode = note.tensor_node
    while isinstance(node, (cst.Call, cst.Attribute)) and not dotted(node):
        if isinstance(node, cst.Call):
            name = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
            if name not in methods or name.endswith("_") or not all(map(_is_plain, node.args)):
                return False
            node = node.func
        assert isinstance(node, cst.Attribute)
        node = node.value
    path = dotted(node)
    return bool(path) and prefixes(path).isdisjoint(loop.assigned | loop.rebound)


def _is_plain(argument: cst.Arg) -> bool:
    """A number or the like: the same in every turn."""
    value = argument.value
    if isinstance(value, cst.UnaryOperation):
        value = value.expression
    return isinstance(value, (cst.Integer, cst.Float, cst.SimpleString)) or (
        isinstance(value, cst.Name) and value.value in ("True", "False", "None")
    )


def invariant(move: MoveNote, of_module: bool) -> bool:
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
