"""Moves whose result nobody keeps, and that others make all the same.

    def rows_of(self, array):
        rows = torch.from_numpy(array)
        rows.to(self.device)  # lost
        return rows

Nothing is out of place where every call is `self.rows_of(array).to(self.device)`, nor where the
method that reads an attribute moves it first.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.program.declarations import Function
from devlint.inference.program.events import MoveNote
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.attribute_moves import is_mover
from devlint.inference.syntax.text import dotted, every


class _Lost:
    """The lost moves of a file: each with its function and its number among the facts."""

    def __init__(self, unit: Unit) -> None:
        self.noted: list[tuple[int, Function, MoveNote]] = []


def note(frame: Frame, move: MoveNote, number: int) -> None:
    """Note a move whose result is thrown away, the last of the facts."""
    if frame.function is not None:
        frame.unit.kept(_Lost).noted.append((number, frame.function, move))


def settle(unit: Unit) -> None:
    """Say of lost moves who makes them all the same. To be asked for once the file was walked."""
    moves = unit.facts.moves
    for number, function, move in unit.kept(_Lost).noted:
        reason = _by_callers(unit, function, move) or _by_reader(function, move)
        if reason:
            moves[number] = moves[number]._replace(made_elsewhere=reason)


def _by_callers(unit: Unit, function: Function, move: MoveNote) -> str:
    """The function does nothing more with the tensor than to give it back, and all calls in sight
    move what they get."""
    name = dotted(move.subject_node)
    calls = function.callers
    if not calls or "." in name or not all(call.node in unit.moved_calls for call in calls):
        return ""
    body = function.node.body
    given = sum(
        each.value is not None and dotted(each.value) == name for each in every(body, cst.Return)
    )
    bound = sum(dotted(each.target) == name for each in every(body, cst.AssignTarget))
    read = sum(each.value == name for each in every(body, cst.Name))
    is_given_back = given > 0 and read == given + bound + 1
    return f"all that call `{function.name}` move what it gives" if is_given_back else ""


def _by_reader(function: Function, move: MoveNote) -> str:
    """Another method of the class puts the attribute there, for itself: no mover, which others may
    not call, nor the constructor, which has come before."""
    owner, _, name = dotted(move.subject_node).rpartition(".")
    if owner != "self" or function.info is None:
        return ""
    methods = {method for each in function.info.lineage() for method in each.moved.get(name, ())}
    others = sorted(m for m in methods - {"__init__", function.name} if not is_mover(m))
    return f"`{others[0]}` moves it itself" if others else ""
