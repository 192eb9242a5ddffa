"""Moves whose result nobody keeps, and that others make all the same.

    def rows_of(self, array):
        rows = torch.from_numpy(array)
        rows.to(self.device)  # lost
        return rows

Nothing is out of place where every call is `self.rows_of(array).to(self.device)`, nor where the
method that reads an attribute moves it first, nor where a tensor is only written into another one:
`table[i] = rows` copies from any device.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.program.declarations import Function
from devlint.inference.program.events import MoveNote
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.attribute_moves import is_mover
from devlint.inference.syntax.text import called_name, dotted, every


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
        reason = reason or _by_writing(function, move)
        reason = reason or _by_writing(function, move)
        if reason:
            moves[number] = moves[number]._replace(made_elsewhere=reason)


def _by_callers(unit: Unit, function: Function, move: MoveNote) -> str:
    """The function does nothing more with the tensor than to give it back, and all calls in sight
    move what they get."""
    name = dotted(move.subject_node)
    calls = function.callers
    if not calls or "." in name or not all(call.node in unit.moved_calls for call in calls):
        return ""
    returns = every(function.node.body, cst.Return)
    given = [each.value for each in returns if each.value is not None]
    is_given_back = _is_all(function, name, given)
    return f"all that call `{function.name}` move what it gives" if is_given_back else ""


def _by_writing(function: Function, move: MoveNote) -> str:
    """The function does nothing more with the tensor than to write it into others."""
    calls = every(function.node.body, cst.Call)
    written = [each.args[0].value for each in calls if called_name(each) == "copy_" and each.args]
    written += [
        each.value
        for each in every(function.node.body, cst.Assign)
        if all(isinstance(target.target, cst.Subscript) for target in each.targets)
    ]
    is_written = _is_all(function, dotted(move.subject_node), written)
    return "it is only written into others, which may be elsewhere" if is_written else ""


def _is_all(function: Function, name: str, uses: list[cst.BaseExpression]) -> bool:
    """Some of these are what a function has by a name, and it reads that nowhere else but for one
    move."""
    body = function.node.body
    used = sum(dotted(each) == name for each in uses)
    bound = sum(dotted(each.target) == name for each in every(body, cst.AssignTarget))
    named = sum(each.value == name for each in every(body, cst.Name))
    return used > 0 and named == used + bound + 1


def _by_reader(function: Function, move: MoveNote) -> str:
    """Another method of the class puts the attribute there, for itself: no mover, which others may
    not call, nor the constructor, which has come before."""
    owner, _, name = dotted(move.subject_node).rpartition(".")
    if owner != "self" or function.info is None:
        return ""
    methods = {method for each in function.info.lineage() for method in each.moved.get(name, ())}
    others = sorted(m for m in methods - {"__init__", function.name} if not is_mover(m))
    return f"`{others[0]}` moves it itself" if others else ""
