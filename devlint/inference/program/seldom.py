"""Functions that run seldom, as those that call them do.

    def average(loss, count): ...       # by its name a step might call it

    def fit(model, loader):
        for epoch in range(90):
            for x in loader: ...
            show(average(loss, count))  # nothing but this does: once per epoch

All calls of such a function are in sight, in its own file, and stand in code that is cold: for a
reader, or once per epoch. What a library offers strangers may call as well.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.facts import Hotness
from devlint.inference.program.declarations import CallSite, Function
from devlint.inference.syntax.text import every

MAX_CALLS = 3  # from a function to the code that calls it


def is_called_seldom(function: Function, depth: int = 0) -> bool:
    """All that may call a function is cold, in its own file or for a reader."""
    if depth == 0 and _serves_readers(function):
        return True
    calls = [call for call in function.callers if call.caller is not function]
    return (
        bool(calls)
        and depth < MAX_CALLS
        and _is_closed(function)
        and all(_is_seldom(call, depth) for call in calls)
    )


def _serves_readers(function: Function) -> bool:
    """A plain function of an application that only code for a reader uses, wherever."""
    importer = function.unit.context.importer
    return (
        importer is not None
        and function.info is None
        and function.around is None
        and isinstance(function.node, cst.FunctionDef)
        and importer.is_application()
        and importer.serves_readers(function.name, function.unit.source.path)
    )


def _is_closed(function: Function) -> bool:
    """Nothing but its own file calls it."""
    importer = function.unit.context.importer
    is_plain = all(holds("plain-decorator", each) for each in function.decorators)
    if importer is None or not is_plain or not isinstance(function.node, cst.FunctionDef):
        return False
    name, path = function.name, function.unit.source.path
    is_alone = function.info is None and not importer.is_imported(path)
    if not is_alone and importer.is_named_elsewhere(name, path):
        return False
    return name.startswith("_") or function.unit.is_script or importer.is_application()


def _is_seldom(call: CallSite, depth: int) -> bool:
    """By a test around it, since it stands in a loop over epochs, or since its function does so."""
    if call.cold:
        return True
    if call.loop is not None:
        return call.loop.hotness is Hotness.EPOCHS and not call.loop.goes_back
    caller = call.caller
    if caller is None or holds("main-function", caller.name):
        return False  # it may only show what others call again and again
    return holds("cold-function", caller.name) or is_called_seldom(caller, depth + 1)


def goes_through_data(function: Function) -> bool:
    """A loop of its own goes over a loader: one call is a whole pass, and no step of another."""
    return isinstance(function.node, cst.FunctionDef) and any(
        holds("loader-name", name.value)
        for loop in every(function.node.body, cst.For)
        for name in every(loop.iter, cst.Name)
    )
