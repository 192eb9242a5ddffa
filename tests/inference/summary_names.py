"""Names of what a program holds, for summaries that refer to it: of files, nodes, functions and
classes, and of values by the way that leads to them.

    ROWS = []                    # ("way", ("file", "rows.py"), ("env", "ROWS"))

    def add(row):
        ROWS.append(row.cpu())   # the call is ("node", "rows.py", 17): the 18th node of its file
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import libcst as cst
from summary_records import CONSTANTS, FIELDS, Cell

from devlint.inference.interpreter.contracts import comments_in
from devlint.inference.program.declarations import ClassInfo, Function, classes_of, functions_of
from devlint.inference.program.frames import Frame, body_of, closure_of, globals_of
from devlint.inference.program.loops import Environment
from devlint.inference.program.units import Context, Unit
from devlint.inference.program.values import self_of
from devlint.inference.syntax.text import every

Name = tuple[Cell, ...]

# What is held by those that are named themselves, and is worth a name: by their fields.
_HELD: dict[type, tuple[str, ...]] = {
    ClassInfo: ("variable", "attributes", "members", "together", "declared_tensors"),
    Function: ("parameters", "defaults"),
}
_OWNERS = (*_HELD, Unit)
_CONSTANTS = frozenset(map(id, CONSTANTS.values()))


class ProgramNames:
    """The names that a function's summary has for what is not its own."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.context: Context = function.unit.context

    # --- from things to names

    def name(self, thing: object) -> Name | None:
        if isinstance(thing, cst.CSTNode):
            return self._of_node(thing)
        if isinstance(thing, type):
            return ("type", thing.__name__)
        if isinstance(thing, Unit):
            return ("file", thing.source.path)
        if isinstance(thing, Function):
            return ("function", *self._of_declared(functions_of(thing.unit), thing))
        if isinstance(thing, ClassInfo):
            return ("class", *self._of_declared(classes_of(thing.unit), thing))
        if isinstance(thing, Frame):
            return ("frame", thing.unit.source.path)
        if thing is self._unit_of(thing).source:
            return ("source", self._unit_of(thing).source.path)
        way = self._ways.get(id(thing))
        return None if way is None else ("way", self.name(way[0]), *way[1:])

    def _unit_of(self, source: object) -> Unit:
        path = getattr(source, "path", None)
        return self.context.units.get(path, self.function.unit) if path else self.function.unit

    def _of_declared(self, declared: Iterable[Any], thing: Any) -> Name:
        """A function or class by its node; by its number, where a node declares several."""
        alike = [each for each in declared if each.node is thing.node]
        return (*self._of_node(thing.node), alike.index(thing))

    def _of_node(self, node: cst.CSTNode) -> Name:
        for unit in (self.function.unit, *self.context.units.values()):
            number = unit.kept(_Nodes).numbers.get(node)
            if number is not None:
                return ("node", unit.source.path, number)
        raise LookupError(f"a {type(node).__name__} of no file")

    @cached_property
    def _ways(self) -> dict[int, tuple[Any, ...]]:
        """By the ids of things: the shortest way to each, from a file, a function or a class."""
        found: dict[int, tuple[Any, ...]] = {}
        units = [self.function.unit]
        waiting = list(self._held(units[0]))
        for thing, way in waiting:  # grows on the way
            kind = type(thing)
            if kind in _OWNERS:
                unit = thing if kind is Unit else thing.unit
                if unit not in units:
                    units.append(unit)
                    waiting += self._held(unit)
            elif kind in FIELDS:
                if id(thing) in found or id(thing) in _CONSTANTS:
                    continue
                found[id(thing)] = way
            waiting += ((held, (*way, step)) for held, step in _parts(thing))
        return found

    def _held(self, unit: Unit) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """What a file, its functions and its classes hold, with the way to it: but for what only
        the function itself does."""
        for number, environment in enumerate((globals_of(unit), unit.env)):
            yield from ((held, (unit, number, key)) for key, held in _named(environment))
        for info in classes_of(unit):
            yield self_of(info), (info, "self")
            yield from _fields_of(info)
        for function in functions_of(unit):
            if function is not self.function:
                yield from _fields_of(function)
            around = closure_of(function)
            if around is not None:
                names = _named(around.state.env)
                yield from ((held, (function, "around", key)) for key, held in names)

    # --- from names to things

    def find(self, name: Name) -> Any:
        kind, *rest = name
        found = getattr(self, f"_find_{kind}", None)
        if found is None:
            raise LookupError(f"no {kind}")
        return found(*rest)

    def _find_file(self, path: str) -> Unit:
        return self.context.units[path]

    def _find_source(self, path: str) -> object:
        return self.context.units[path].source

    def _find_frame(self, path: str) -> Frame | None:
        return body_of(self.context.units[path])

    def _find_node(self, path: str, number: int) -> cst.CSTNode:
        return self.context.units[path].kept(_Nodes).listed[number]

    def _find_type(self, name: str) -> type:
        found: type = getattr(cst, name)
        return found

    def _find_function(self, _: str, path: str, node: int, number: int) -> Function:
        wanted, declared = self._find_node(path, node), functions_of(self._find_file(path))
        return [each for each in declared if each.node is wanted][number]

    def _find_class(self, _: str, path: str, node: int, number: int) -> ClassInfo:
        wanted, declared = self._find_node(path, node), classes_of(self._find_file(path))
        return [each for each in declared if each.node is wanted][number]

    def _find_way(self, owner: Name, first: Any, *steps: Any) -> Any:
        held = self.find(owner)
        if isinstance(held, Unit):
            held = (globals_of(held), held.env)[first]
        elif first == "self":
            held = self_of(held)
        elif first == "around":
            around = closure_of(held)
            assert around is not None
            held = around.state.env
        else:
            held = getattr(held, first)
        for step in steps:
            held = held[step] if isinstance(held, (dict, list, tuple)) else getattr(held, step)
        return held


class _Nodes:
    """The nodes of a file: all but white space and punctuation, and of comments the contracts."""

    def __init__(self, unit: Unit) -> None:
        self.listed = list(every(unit.tree, cst.CSTNode))  # type: ignore[type-abstract]
        if unit.has_contract_comments:
            self.listed += comments_in(unit.tree)
        self.numbers = {node: number for number, node in enumerate(self.listed)}


def _named(environment: Environment) -> Iterator[tuple[str, Any]]:
    return ((key, held) for key, held in list(environment.items()) if type(key) is str)


def _fields_of(owner: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    for field in _HELD[type(owner)]:
        yield getattr(owner, field), (owner, field)


def _parts(thing: Any) -> Iterator[tuple[Any, Cell]]:
    """What a thing holds, each with the step that leads there."""
    held: Iterable[tuple[Any, Cell]]
    if type(thing) in FIELDS:
        held = ((getattr(thing, field), field) for field in FIELDS[type(thing)])
    elif type(thing) is dict:
        held = ((value, key) for key, value in thing.items() if type(key) in (str, int))
    elif type(thing) in (list, tuple):
        held = ((value, number) for number, value in enumerate(thing))
    else:
        return
    for value, step in held:
        if type(value) in FIELDS or type(value) in (*_OWNERS, dict, list, tuple):
            yield value, step
