"""Exposed reads: where a class reads an attribute that nothing has assigned since the call came in.

    def forward(self, x):
        self.make_mask(len(x))     # assigns `self.mask` on all of its ways
        return x * self.mask       # not exposed: this call's own

What has no exposed read is no state of the object: each call makes it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import libcst as cst

from devlint.inference.syntax.endings import leaves
from devlint.inference.syntax.evaluation_order import in_order
from devlint.inference.syntax.text import dotted, every
from devlint.records import NamedTuple

Methods = Mapping[str, cst.FunctionDef]


class _Effect(NamedTuple):
    """What some code does with an attribute.

    reads: what was there before.
    assigns: on all ways that go on behind it.
    passes: some way returns before it assigns.
    """

    reads: bool = False
    assigns: bool = False
    passes: bool = False

    def then(self, other: _Effect) -> _Effect:
        if self.assigns:
            return self
        return _Effect(self.reads or other.reads, other.assigns, self.passes or other.passes)

    def instead_of(self, other: _Effect) -> _Effect:
        return _Effect(
            self.reads or other.reads, self.assigns and other.assigns, self.passes or other.passes
        )


def _in_turn(effects: Iterable[_Effect]) -> _Effect:
    return reduce(_Effect.then, effects, _NOTHING)


_NOTHING = _Effect()
_READS = _Effect(reads=True)
_ASSIGNS = _Effect(assigns=True)  # and what leaves: nothing behind it could read anything
_RETURNS = _Effect(assigns=True, passes=True)


class ExposedReads:
    """Those of the methods of a class. What holds for all attributes is found once."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods
        self._mentioning: dict[str, set[str]] = {}  # by what they mention, `step` of `self.step`
        self._known: dict[str, bool] = {}
        for name, node in methods.items():
            for mentioned in _own_names(node):
                self._mentioning.setdefault(mentioned, set()).add(name)

    def is_made_anew(self, attribute: str) -> bool:
        """Whether each call of the object assigns an attribute before it reads it, and some call
        does read it. Constructors are no calls, and methods that others of the object call are
        theirs."""
        known = self._known.get(attribute)
        if known is None:
            known = self._known[attribute] = self._looked_for(attribute)
        return known

    def _looked_for(self, attribute: str) -> bool:
        path = f"self.{attribute}"
        mentioning = self._mentioning.get(attribute, set())
        reading = {name for name in mentioning if _is_read(self._methods[name], path)}
        if reading <= {"__init__"}:
            return False
        concerned = self._with_callers(mentioning)
        scan = _Scan({name: self._methods[name] for name in concerned}, path)
        return not any(scan.method(name).reads for name in concerned if self._is_call(name))

    def _with_callers(self, names: set[str]) -> list[str]:
        waiting = sorted(names)
        found = set(waiting)
        for name in waiting:  # grows on the way
            new = self._mentioning.get(name, set()) - found
            found |= new
            waiting += sorted(new)
        return waiting

    def _is_call(self, name: str) -> bool:
        return name in ("forward", "__call__") or not (
            name == "__init__" or name in self._mentioning
        )


def _is_read(node: cst.FunctionDef, path: str) -> bool:
    targets = {target.target for target in every(node.body, cst.AssignTarget)}
    return any(
        dotted(each) == path for each in every(node.body, cst.Attribute) if each not in targets
    )


def _own_names(node: cst.FunctionDef) -> Iterator[str]:
    """`step` of `self.step`."""
    for each in every(node.body, cst.Attribute):
        if isinstance(each.value, cst.Name) and each.value.value == "self":
            yield each.attr.value


class _Scan:
    """The effects of methods on one attribute, each found once."""

    def __init__(self, methods: Methods, path: str) -> None:
        self._methods, self._path = methods, path
        self._known: dict[str, _Effect] = {}

    def method(self, name: str) -> _Effect:
        """Of a method; one that calls itself adds nothing where it does."""
        known = self._known.get(name)
        if known is None:
            self._known[name] = _NOTHING
            effect = self._block(self._methods[name].body.body)
            assigns = effect.assigns and not effect.passes
            known = self._known[name] = _Effect(effect.reads, assigns)
        return known

    def _block(self, statements: Iterable[cst.CSTNode]) -> _Effect:
        effect = _NOTHING
        for each in statements:
            effect = effect.then(self._statement(each))
            if leaves(each):
                return effect.then(_RETURNS if isinstance(each, cst.Return) else _ASSIGNS)
        return effect

    def _suite(self, node: cst.If | cst.Else | cst.Finally | cst.BaseSuite | None) -> _Effect:
        """Of what stands in an indented block, or of a further `elif`."""
        if node is None:
            return _NOTHING
        if isinstance(node, cst.If):
            return self._statement(node)
        return self._block(
            node.body.body if isinstance(node, (cst.Else, cst.Finally)) else node.body
        )

    def _statement(self, node: cst.CSTNode) -> _Effect:
        if isinstance(node, cst.SimpleStatementLine):
            return self._block(node.body)
        if isinstance(node, cst.If):
            branches = self._suite(node.body).instead_of(self._suite(node.orelse))
            return self._expression(node.test).then(branches)
        if isinstance(node, cst.For):
            body = self._suite(node.body)
            return self._expression(node.iter).then(body.instead_of(_NOTHING))
        if isinstance(node, cst.While):
            test = self._expression(node.test)
            return test.then(self._suite(node.body).instead_of(_NOTHING))
        if isinstance(node, cst.With):
            managers = _in_turn(self._expression(item.item) for item in node.items)
            return managers.then(self._suite(node.body))
        if isinstance(node, (cst.Try, cst.TryStar)):
            return self._try(node)
        if isinstance(node, cst.Assign):
            targets = _in_turn(self._target(target.target) for target in node.targets)
            return self._expression(node.value).then(targets)
        if isinstance(node, cst.AnnAssign) and node.value is None:
            return _NOTHING
        if isinstance(node, cst.AnnAssign) and node.value is not None:
            return self._expression(node.value).then(self._target(node.target))
        return self._expression(node)

    def _try(self, node: cst.Try | cst.TryStar) -> _Effect:
        tried = self._suite(node.body)
        effect = tried.then(self._suite(node.orelse))
        for handler in node.handlers:  # it may have been left before it assigned anything
            effect = effect.instead_of(self._suite(handler.body))
        return effect.then(self._suite(node.finalbody))

    def _target(self, node: cst.CSTNode) -> _Effect:
        if dotted(node) == self._path:
            return _ASSIGNS
        if isinstance(node, (cst.Tuple, cst.List)):
            return _in_turn(self._target(element.value) for element in node.elements)
        return self._expression(node)

    def _expression(self, node: cst.CSTNode) -> _Effect:
        """All parts, in their order. What only nested functions do may happen at once."""
        if isinstance(node, cst.Attribute):
            path = dotted(node)
            if path == self._path:
                return _READS
            name = path.removeprefix("self.")
            if name != path and name in self._methods:
                return self.method(name)
        effect = _in_turn(map(self._expression, in_order(node)))
        if isinstance(node, (cst.BooleanOperation, cst.IfExp, cst.Lambda, cst.FunctionDef)):
            return effect._replace(assigns=False)
        return effect
