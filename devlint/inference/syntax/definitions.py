"""Definitions of local names that stand in one block, and the reads that each of them reaches.

    mask = torch.ones(n, n)     # read by the next line
    mask = mask.tril()          # read by the last one
    print(n)
    return mask.to(device)

A name that is bound in several blocks, or by anything but a plain assignment, has none here: which
of its definitions reaches a read depends on the way that was taken.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import field

import libcst as cst

from devlint.inference.syntax.text import parts
from devlint.records import dataclass

# By type: an `isinstance` of a node takes ten times as long, and each node of a function is asked.
_LATER = frozenset({cst.FunctionDef, cst.Lambda, cst.ClassDef})  # they read when they are called
_BINDING = (cst.For, cst.CompFor, cst.NamedExpr, cst.AnnAssign, cst.AugAssign)
_NAMING = frozenset({cst.AsName, cst.Del, cst.NameItem, cst.Param, cst.FunctionDef})
_WITHIN = frozenset({cst.Tuple, cst.List, cst.Element, cst.StarredElement})  # of a target


@dataclass(slots=True, eq=False)
class Definition:
    """`name = value` or `name, other = value`, and the reads of the name before the next one."""

    name: str
    value: cst.BaseExpression
    block: cst.CSTNode
    place: int  # of its statement in the block
    loop: cst.CSTNode | None  # the innermost loop around it
    reads: list[cst.Name] = field(default_factory=list)


class Definitions:
    """Of one function, by name."""

    def __init__(self, body: cst.CSTNode, parameters: Iterable[str]) -> None:
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._places: dict[cst.CSTNode, tuple[cst.CSTNode, int]] = {}  # of statements
        self._by_name: dict[str, list[Definition]] = {}
        self._unclear = set(parameters)
        self._by_value: dict[cst.BaseExpression, list[Definition]] = {}
        reads: list[cst.Name] = []
        for node in self._walk(body):
            if type(node) is cst.Name and not self._is_label(node):
                bound_at = self._bound_at(node)
                if bound_at is None:
                    reads.append(node)
                else:
                    self._define(node.value, bound_at)
        for read in reads:
            self._reach(read)

    def reaching(self, read: cst.Name) -> Definition | None:
        """The only definition that may reach a read."""
        known = [] if read.value in self._unclear else self._by_name.get(read.value, [])
        place = self._place_in(read, known[0].block) if known else None
        if place is None:
            return None
        before = bisect_left(known, place, key=_place_of)
        return known[before - 1] if before else None

    def made_by(self, value: cst.BaseExpression) -> list[Definition]:
        """The definitions of which this is the value; none where one of its names is unclear."""
        made = self._by_value.get(value, [])
        return [] if any(each.name in self._unclear for each in made) else made

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What is around a node, innermost first."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def loop_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The innermost loop of the function around a node."""
        return next((a for a in self.around(node) if isinstance(a, (cst.For, cst.While))), None)

    def _walk(self, body: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """All nodes below, in the order of the text."""
        waiting: list[cst.CSTNode] = [body]
        while waiting:
            node = waiting.pop()
            yield node
            if type(node) is cst.IndentedBlock or type(node) is cst.SimpleStatementSuite:
                self._note_statements(node)
            below = parts(node)
            for part in below:
                self._parents[part] = node
            waiting += reversed(below)

    def _note_statements(self, block: cst.IndentedBlock | cst.SimpleStatementSuite) -> None:
        """Two statements of one line stand one after the other."""
        place = 0
        for line in block.body:
            for statement in line.body if isinstance(line, cst.SimpleStatementLine) else (line,):
                place += 1
                self._places[statement] = block, place

    def _is_label(self, node: cst.Name) -> bool:
        """`attr` of `x.attr`, `key` of `f(key=x)`: no name of a variable."""
        parent = self._parents.get(node)
        return (type(parent) is cst.Attribute and parent.attr is node) or (
            type(parent) is cst.Arg and parent.keyword is node
        )

    def _bound_at(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """What binds a name, if the name stands where it is bound."""
        inner = node
        for around in self.around(node):
            kind = type(around)
            if kind is cst.AssignTarget:
                return self._parents[around]
            if kind in _WITHIN:
                inner = around
            elif kind in _NAMING:
                return around if inner is node else None
            else:
                return around if isinstance(around, _BINDING) and around.target is inner else None
        return None

    def _define(self, name: str, binding: cst.CSTNode) -> None:
        names = _names_of(binding)
        known = self._by_name.setdefault(name, [])
        if names is None or binding not in self._places:
            self._unclear.add(name)
            return
        assert isinstance(binding, cst.Assign)
        block, place = self._places[binding]
        if known and known[0].block is not block:
            self._unclear.add(name)
            return
        found = Definition(name, binding.value, block, place, self.loop_around(binding))
        known.append(found)
        self._by_value.setdefault(binding.value, []).append(found)

    def _place_in(self, node: cst.CSTNode, block: cst.CSTNode) -> int | None:
        """The place in a block of the statement that a node is in."""
        for each in (node, *self.around(node)):
            where = self._places.get(each)
            if where is not None and where[0] is block:
                return where[1]
        return None

    def _reach(self, read: cst.Name) -> None:
        if not self._by_name.get(read.value):
            return
        found = self.reaching(read)
        if found is None or self._is_deferred(read, found.block):
            self._unclear.add(read.value)  # the turn before binds it, or another branch
        else:
            found.reads.append(read)

    def _is_deferred(self, read: cst.Name, block: cst.CSTNode) -> bool:
        """A nested function reads it whenever it is called."""
        for around in self.around(read):
            if around is block:
                return False
            if type(around) in _LATER:
                return True
        return True


def _place_of(definition: Definition) -> int:
    return definition.place


def _names_of(binding: cst.CSTNode) -> list[str] | None:
    """The names that a plain assignment binds; None where it binds anything else."""
    if not isinstance(binding, cst.Assign) or len(binding.targets) != 1:
        return None
    target = binding.targets[0].target
    elements = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
    names = [each.value for each in elements if isinstance(each, cst.Name)]
    return names if len(names) == len(elements) else None
