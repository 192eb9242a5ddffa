"""Homes of modules: where those live that a file makes, as far as the project shows it.

    class Trainer:
        def __init__(self):
            self.buckets = Buckets(8)

If the trainer moves no `buckets`, and hands it to nothing that may, its buckets are on the host. So
are those that a function or a script keeps under a name and never moves, and those that are given
to a composition, which is no module.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.call_contexts import HOME, PROJECT, Fed, Feed, Given
from devlint.inference.conventions import holds
from devlint.inference.domain.tensors import Tensor
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.events import ModuleMade
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.summaries.arguments import ArgumentsBound
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import called_name, dotted, every, owner_of, parents_below

# What reads a module that it is given, and leaves it where it is.
_READING = frozenset({"torch.save", "len", "print", "isinstance", "type", "id"})


class Homes:
    """The modules that a file makes, and the functions in sight that it calls."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.made: dict[cst.CSTNode, tuple[ClassInfo, Function | None]] = {}
        self.called: dict[cst.CSTNode, tuple[Function, Function | None]] = {}
        self._parents: dict[cst.CSTNode, dict[cst.CSTNode, cst.CSTNode]] = {}

    def settle(self) -> None:
        """Tell the project where they are."""
        if self.unit.is_test:
            return
        if self.unit.accelerated:
            self.unit.facts.feeds.add(Feed(PROJECT, HOME, Fed.DEVICE))
        elif ".backward(" in self.unit.source.text:
            self.unit.facts.feeds.add(Feed(PROJECT, HOME, Fed.HOST))
        for node, (callee, function) in self.called.items():
            if callee.info is not None and _makes_its_own(callee):
                self.made[node] = callee.info, function
        for node, (info, function) in self.made.items():
            feed = self._feed(node, info, function)
            if feed is not None:
                self.unit.facts.feeds.add(feed)

    def _feed(self, node: cst.CSTNode, info: ClassInfo, function: Function | None) -> Feed | None:
        holder = function.info if function is not None else None
        if holder is info:
            return None  # by a method of its own, whose calls count
        if holder is not None and holder.is_module:
            return Feed(key_of(info), HOME, Fed.CALLER, home(holder))
        kept = (
            (holder is not None and self._stays(holder, node))
            or self._is_named(info, node, function)
            or _is_step(node, self._around(self._scope(function)))
        )
        return Feed(key_of(info), HOME, Fed.HOST if kept else Fed.OPEN)

    def _stays(self, holder: ClassInfo, node: cst.CSTNode) -> bool:
        """The module is kept by an object of this class, all of which is in sight, and nothing in
        that moves it or hands it out."""
        if holder.has_base_out_of_sight or holder.unit is not self.unit:
            return False
        name = dotted(owner_of(_bound_to(node, self._around(holder.node))))
        if not name.startswith("self.") or name.count(".") != 1:
            return False
        if self._is_reached(holder, name.removeprefix("self.")):
            return False
        return all(self._leaves_there(each, name) for each in holder.lineage())

    def _is_named(self, info: ClassInfo, node: cst.CSTNode, function: Function | None) -> bool:
        """The module has a name in a function or a script, and is never moved by it. A library's
        class is made out of sight as well: only those who are beside it tell what it is for."""
        importer = self.unit.context.importer
        if importer is None or not (importer.is_application() or _are_beside(info.unit, self.unit)):
            return False
        scope = self._scope(function)
        around = self._around(scope)
        target = _bound_to(node, around)
        if not isinstance(target, cst.Name):
            return False
        name = target.value
        if any(item.name.value == name for each in every(scope, cst.Global) for item in each.names):
            return False
        uses = [use for use in every(scope, cst.Name) if use.value == name]
        if function is None and len(uses) == 1:
            return False  # it is there for others, who import it
        return all(self._is_harmless(use, around) for use in uses)

    def _scope(self, function: Function | None) -> cst.CSTNode:
        return function.node if function is not None else self.unit.tree

    def _is_reached(self, holder: ClassInfo, name: str) -> bool:
        """Whoever has the object may reach for what it keeps under this name."""
        importer, path = self.unit.context.importer, self.unit.source.path
        if importer is None:
            return True
        for each in every(self.unit.tree, cst.Attribute):
            if each.attr.value == name and dotted(each.value) != "self":
                return True
        named = importer.is_named_elsewhere
        return named(holder.name, path) and named(name, path)

    def _leaves_there(self, info: ClassInfo, name: str) -> bool:
        around = self._around(info.node)
        uses = (each for each in every(info.node, cst.Attribute) if dotted(each) == name)
        return all(self._is_harmless(use, around) for use in uses)

    def _is_harmless(self, node: cst.CSTNode, around: dict[cst.CSTNode, cst.CSTNode]) -> bool:
        """A use of what is kept neither moves it nor hands it to code that may."""
        above = around.get(node)
        while isinstance(above, (cst.Attribute, cst.Subscript)) and above.value is node:
            if isinstance(above, cst.Attribute) and above.attr.value in MOVING_METHODS:
                return False
            node, above = above, around.get(above)
        if isinstance(above, cst.Call):
            return True  # it is called, or one of its methods is
        if isinstance(above, cst.Arg):
            call = around.get(above)
            if call is not None and call in self.called:
                return not self.called[call][0].says("device-minding-text")
            return isinstance(call, cst.Call) and dotted(call.func) in _READING
        if isinstance(above, (cst.AssignTarget, cst.Expr, cst.Comparison)):
            return True
        return _is_step(node, around)

    def _around(self, scope: cst.CSTNode) -> dict[cst.CSTNode, cst.CSTNode]:
        """The nodes of a class, a function or a file, by what they are parts of."""
        if scope not in self._parents:
            self._parents[scope] = parents_below(scope)
        return self._parents[scope]


def _bound_to(node: cst.CSTNode, around: dict[cst.CSTNode, cst.CSTNode]) -> cst.CSTNode:
    """What an assignment binds a value to, and nothing else; the value itself, where none does."""
    statement = around.get(node)
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        return statement.targets[0].target
    return node


def _is_step(node: cst.CSTNode, around: dict[cst.CSTNode, cst.CSTNode]) -> bool:
    """One of the steps of a composition, `Compose([…])`, an object that can't be moved."""
    steps = around.get(around.get(node, node))
    argument = around.get(steps) if isinstance(steps, cst.List) else None
    call = around.get(argument) if isinstance(argument, cst.Arg) else None
    return isinstance(call, cst.Call) and holds("composition-name", called_name(call))


def _are_beside(unit: Unit, other: Unit) -> bool:
    """Two files are in one folder."""
    return unit.source.path.rpartition("/")[0] == other.source.path.rpartition("/")[0]


def key_of(info: ClassInfo) -> str:
    """What tells a class from all others of the project."""
    return f"{info.unit.source.path}::{info.name}"


def home(info: ClassInfo) -> Given:
    """The device of a class's modules, which those have to say who make them."""
    return Given(key_of(info), info.name, info.name, HOME, -1, minds=True, serves=True)


def own_home(frame: Frame, *tensors: Tensor) -> Given | None:
    """The device of the module whose method this is, where one of these tensors lives there."""
    info = frame.info
    if info is None or not any(tensor.place is info.variable for tensor in tensors):
        return None
    return home(info)


def note_made(frame: Frame, event: ModuleMade) -> None:
    """A module of a class of the project is made."""
    node, info = event
    frame.unit.kept(Homes).made[node] = info, frame.function


def note_call(frame: Frame, event: ArgumentsBound) -> None:
    """A function in sight is called."""
    node, function = event.node, event.function
    frame.unit.kept(Homes).called[node] = function, frame.function


def _makes_its_own(function: Function) -> bool:
    """A class's own function returns a module of it: `return cls(size)`."""
    info = function.info
    if info is None or not info.is_module or not (function.is_static or function.is_class_method):
        return False
    made = (r.value for r in every(function.node, cst.Return))
    return any(isinstance(m, cst.Call) and dotted(m.func) in ("cls", info.name) for m in made)
