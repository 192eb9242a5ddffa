"""Waits of a function for the device, as its callers see them."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.provenance import Site
from devlint.inference.facts import Hotness, Loop
from devlint.inference.program import roles
from devlint.inference.program.events import MoveNote, SyncNote
from devlint.inference.program.frames import Frame
from devlint.inference.program.loops import LoopState
from devlint.inference.syntax.loops import reads_gradients
from devlint.inference.syntax.text import dotted, shorten

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
    trains, around = loop.trains or _is_of_gradients(loop), loop.outer
    while around is not None and _heat(around) is Hotness.HOT and not trains:
        trains, around = around.trains, around.outer
    nested = loop.outer is not None and _heat(loop.outer) is Hotness.HOT
    outer = loop.outer
    per_epoch = outer is not None and _heat(outer) is Hotness.EPOCHS and not outer.goes_back
    return Loop(
        frame.site(loop.node),
        over,
        _heat(loop),
        loop.feeds_device or _is_of_gradients(loop),
        loop.depth,
        trains,
        nested,
        loop.goes_back,
        per_epoch and not loop.trains,
    )


def _heat(loop: LoopState) -> Hotness:
    """What a loop does says more than what it is called: one that takes a step of its own is hot,
    one around the training loop turns once per epoch."""
    if loop.hotness is Hotness.COLD and _is_of_gradients(loop):
        return Hotness.HOT
    if loop.hotness is Hotness.COLD and loop.trains and not isinstance(loop.over, _FEW):
        return Hotness.HOT
    if loop.hotness is Hotness.HOT and loop.wraps_training and not loop.trains:
        return Hotness.EPOCHS
    return loop.hotness


def _is_of_gradients(loop: LoopState) -> bool:
    """One turn for each parameter, once per step."""
    if loop.of_gradients is None:
        loop.of_gradients = reads_gradients(loop.node)
    return loop.of_gradients


def in_evaluation(loop: LoopState | None) -> bool:
    """A loop around it runs something without gradients, and none trains."""
    around, evaluates = loop, False
    while around is not None:
        if around.trains or _is_of_gradients(around):
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


def prefixes(path: str) -> set[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`."""
    parts = path.split(".")
    return {".".join(parts[: i + 1]) for i in range(len(parts))}


def is_property(frame: Frame, path: str) -> bool:
    """`self.loss`, a property: it is made anew whenever it is read."""
    owner, _, rest = path.partition(".")
    if owner != "self" or frame.info is None:
        return False
    method = frame.info.method(rest.partition(".")[0])
    return method is not None and method.is_property


def invariant(frame: Frame, move: MoveNote, of_module: bool) -> bool:
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
        if prefixes(path) & changed or is_property(frame, path):
            return False
    return True
