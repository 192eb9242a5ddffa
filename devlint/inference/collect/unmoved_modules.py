"""Modules that most methods of a class move before they call them, and one does not.

Whoever writes `self.net.to(self.device)` in `train` and in `evaluate` does not count on somebody
else having done so. A third method that brings its inputs to `self.device` and calls `self.net` as
it is works only behind one of the two.
"""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.provenance import Site
from devlint.inference.facts import DroppedArgument, Neglect
from devlint.inference.program.declarations import ClassInfo, classes_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, every

_LEAST = 2  # methods that move it, to make a habit of it


def settle(unit: Unit) -> None:
    """Note the calls of such modules."""
    if unit.is_test:
        return
    for info in classes_of(unit):
        if not info.is_module and not info.node.bases:  # a base may move them, or be a framework's
            _of_class(unit, info)


def _of_class(unit: Unit, info: ClassInfo) -> None:
    own = [s for s in info.node.body.body if isinstance(s, cst.FunctionDef)]
    movers: dict[str, dict[cst.FunctionDef, tuple[str, cst.Call]]] = defaultdict(dict)
    for method in own:
        for call in every(method, cst.Call):
            subject, goal = _move(call)
            if subject.startswith("self.") and subject.count(".") == 1:
                movers[subject].setdefault(method, (goal, call))
    for subject, found in movers.items():
        goals, names = {goal for goal, _ in found.values()}, {m.name.value for m in found}
        if len(found) < _LEAST or len(goals) > 1 or goals == {""}:
            continue
        if any(m.name.value.startswith("__") or not _works_with(m, own, subject) for m in found):
            continue  # who only moves it does so for all others, and a constructor for itself
        (goal,) = goals
        for method in own:
            name = method.name.value
            if name.startswith("__") or method in found or f"self.{name}(" in info.text:
                continue  # its caller may move the module
            used = _use(method, subject, goal, names)
            if used is not None:
                call, input_moved = used
                unit.dropped[call] = DroppedArgument(
                    Site(unit.source, call),
                    name,
                    goal,
                    subject,
                    Site(unit.source, next(call for _, call in found.values())),
                    placed=Site(unit.source, input_moved),
                    neglect=Neglect.UNMOVED,
                )


def _works_with(method: cst.FunctionDef, own: list[cst.FunctionDef], subject: str) -> bool:
    """A method calls a module itself, or another method that mentions it."""
    called = {dotted(call.func) for call in every(method, cst.Call)}
    return subject in called or any(
        f"self.{each.name.value}" in called and holds("mention", code(each), subject)
        for each in own
    )


def _move(call: cst.Call) -> tuple[str, str]:
    """What is moved, and where to by its name: `x.to(device)`; "" for `x.cuda()`."""
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value not in ("to", "cuda"):
        return "", ""
    goal = dotted(call.args[0].value) if call.args and func.attr.value == "to" else ""
    return dotted(func.value), goal if "dtype" not in goal else ""


def _use(
    method: cst.FunctionDef, subject: str, goal: str, movers: set[str]
) -> tuple[cst.Call, cst.Call] | None:
    """The call of the module in a method that moves its inputs there, and never the module; and a
    move of these."""
    names, goals = {subject}, {goal}
    for each in every(method, cst.Assign):
        targets = {dotted(target.target) for target in each.targets}
        if subject in targets:
            return None  # another one
        if dotted(each.value) == subject:
            names |= targets
        elif dotted(each.value) == goal:
            goals |= targets
    called: cst.Call | None = None
    moving: cst.Call | None = None
    for call in every(method, cst.Call):
        callee, (moved, to) = dotted(call.func), _move(call)
        holder, _, name = callee.rpartition(".")
        if moved in names or (holder == "self" and name in movers) or callee == "super":
            return None
        if to in goals:
            moving = moving or call
        if callee in names:
            called = called or call
        elif any(dotted(a.value) in names for a in call.args):
            return None  # who gets it may move it
    return (called, moving) if called is not None and moving is not None else None
