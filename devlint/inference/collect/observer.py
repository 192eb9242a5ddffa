"""The places of all values of a file: expressions as they are evaluated, names as they are bound.

Nobody listens unless asked: while `observing` lasts, the tables of evaluators and executors hold
ones that tell an observer what they found, too. A check does without, and pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst

from devlint.inference.collect.places import Look, looks, told
from devlint.inference.domain.provenance import Source
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.facts import Placed, Site
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import EVALUATORS, EXECUTORS, Frame
from devlint.inference.syntax.text import dotted, plain_parameters, shorten

Evaluate = Callable[[Frame, Any], Value]
Execute = Callable[[Frame, Any], bool]


class Observer:
    """What is seen of one file, by node and by the run of the function that it was seen in."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._seen: dict[cst.CSTNode, dict[Frame, list[Look]]] = {}
        self._binds: set[cst.CSTNode] = set()
        self._begun: set[Frame] = set()
        self._waiting: dict[Frame, list[cst.CSTNode]] = {}

    def evaluated(self, frame: Frame, node: cst.CSTNode, value: Value) -> None:
        """In a loop the last turn tells."""
        if frame.unit.source is self.source and value is not UNKNOWN:
            found = list(looks(frame, value))
            if found:
                self._seen.setdefault(node, {})[frame] = found

    def begins(self, frame: Frame, node: cst.CSTNode) -> None:
        """A statement is run: what was bound on the way to it is bound now."""
        if frame.unit.source is not self.source:
            return
        if frame not in self._begun:
            self._begun.add(frame)
            if frame.function is not None:
                for parameter in _parameters(frame.function):
                    self._bound(frame, parameter)
        for target in self._waiting.pop(frame, ()):
            self._bound(frame, target)
        self._waiting[frame] = list(_bound_inside(node))

    def ends(self, frame: Frame, node: cst.CSTNode) -> None:
        """A statement was run."""
        if frame.unit.source is self.source:
            for target in _bound_by(node):
                self._bound(frame, target)

    def _bound(self, frame: Frame, target: cst.CSTNode) -> None:
        name = dotted(target)
        value = frame.lookup(name) if name else None
        if value is None and type(target) is cst.Attribute:
            value = frame.eval(target)
        if value is not None and value is not frame.instance:
            self._binds.add(target)
            self.evaluated(frame, target, value)

    def settle(self) -> tuple[Placed, ...]:
        """All that was seen, when the file is done."""
        placed = []
        for node, runs in self._seen.items():
            whereabouts = told([look for found in runs.values() for look in found])
            if whereabouts:
                site = Site(self.source, node)
                placed.append(Placed(site, shorten(node), whereabouts, node in self._binds))
        return tuple(placed)


@contextmanager
def observing(source: Source) -> Iterator[Observer]:
    """Observe one file while this lasts."""
    observer = Observer(source)
    evaluators, executors = dict(EVALUATORS), dict(EXECUTORS)
    EVALUATORS.update({kind: _told(each, observer) for kind, each in evaluators.items()})
    EXECUTORS.update({kind: _watched(each, observer) for kind, each in executors.items()})
    try:
        yield observer
    finally:
        EVALUATORS.update(evaluators)
        EXECUTORS.update(executors)


def _told(evaluate: Evaluate, observer: Observer) -> Evaluate:
    def evaluated(frame: Frame, node: cst.CSTNode) -> Value:
        value = evaluate(frame, node)
        observer.evaluated(frame, node, value)
        return value

    return evaluated


def _watched(execute: Execute, observer: Observer) -> Execute:
    def executed(frame: Frame, node: cst.CSTNode) -> bool:
        observer.begins(frame, node)
        falls = execute(frame, node)
        observer.ends(frame, node)
        return falls

    return executed


def _parameters(function: Function) -> Iterator[cst.Name]:
    for each in plain_parameters(function.node.params):
        yield each.name


def _bound_inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a statement binds before its body runs."""
    if isinstance(node, cst.For):
        yield from _leaves(node.target)
    elif isinstance(node, cst.With):
        for item in node.items:
            if item.asname is not None:
                yield from _leaves(item.asname.name)


def _bound_by(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a statement has bound when it is done."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            yield from _leaves(target.target)
    elif isinstance(node, cst.AnnAssign | cst.AugAssign):
        yield from _leaves(node.target)


def _leaves(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(target, cst.Name | cst.Attribute):
        yield target
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _leaves(element.value)
