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

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

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


class _Uses:
    """How often a function names each of its values: at all, to bind it, to give it back and to
    write it into another one."""

    def __init__(self, function: Function) -> None:
        body = function.node.body
        self.named = Counter(each.value for each in every(body, cst.Name))
        self.bound = Counter(dotted(each.target) for each in every(body, cst.AssignTarget))
        returns = every(body, cst.Return)
        self.returned = Counter(dotted(each.value) for each in returns if each.value is not None)
        self.written = Counter(_written(body))

    def only(self, name: str, uses: Counter[str]) -> bool:
        """The function reads it for these uses alone, and for one move."""
        return uses[name] > 0 and self.named[name] == uses[name] + self.bound[name] + 1


def _written(body: cst.CSTNode) -> Iterator[str]:
    """What is written into tensors: by `rows.copy_(x)` and `rows[i] = x`."""
    for call in every(body, cst.Call):
        if called_name(call) == "copy_" and call.args:
            yield dotted(call.args[0].value)
    for assign in every(body, cst.Assign):
        if all(isinstance(target.target, cst.Subscript) for target in assign.targets):
            yield dotted(assign.value)


def settle(unit: Unit) -> None:
    """Say of lost moves who makes them all the same. To be asked for once the file was walked."""
    moves, uses = unit.facts.moves, cache(_Uses)
    for number, function, move in unit.kept(_Lost).noted:
        reason = _by_reader(function, move) or _by_function(unit, function, move, uses)
        if reason:
            moves[number] = moves[number]._replace(made_elsewhere=reason)


def _by_function(
    unit: Unit, function: Function, move: MoveNote, uses: Callable[[Function], _Uses]
) -> str:
    """The function does nothing more with the tensor than to give it back, and all calls in sight
    move what they get; or than to write it into others."""
    name, calls = dotted(move.subject_node), function.callers
    if "." in name:
        return ""
    found = uses(function)
    if found.only(name, found.written):
        return "it is only written into others, which may be elsewhere"
    are_moved = calls and all(call.node in unit.moved_calls for call in calls)
    is_given_back = are_moved and found.only(name, found.returned)
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
