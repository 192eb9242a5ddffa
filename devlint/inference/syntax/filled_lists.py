"""Lists that a class fills, and those that it hands to a constructor.

    for x in xs:
        ys.append(x)
    self.layers = nn.ModuleList(xs)

`ys` gets what is in `xs`, and so does the constructor. One that gets each element of a list gets
the list, too: `for x in xs: parts.append(Wrapped(x))`. So does one that gets them in another order,
or among others: `both = sum(zip(xs, ys), ())`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

import libcst as cst

from devlint.inference.syntax.text import called_name, dotted, names_in, parts
from devlint.records import dataclass


@dataclass(slots=True, eq=False)
class _Suite:
    """What the statements of one suite append."""

    elements: dict[str, set[str]] = field(default_factory=dict)  # by the list that gets them
    lists: dict[str, set[str]] = field(default_factory=dict)  # by the element that they get
    targets: frozenset[str] = frozenset()  # of the loop whose suite it is


class FilledLists:
    """The filled lists of one class, by the names that they have there."""

    def __init__(self, body: cst.BaseSuite) -> None:
        self._handed: set[str] = set()
        self._handed_whole: set[str] = set()  # `x` of `Wrapped(x)`, and not of `Wrapped(x.size)`
        self._filling: dict[str, list[_Suite]] = {}
        self._over: dict[str, list[_Suite]] = {}  # of loops, by what they go over
        self._rearranged: dict[str, set[str]] = {}  # names of what holds the same, by each
        inside: list[cst.CSTNode] = [body]
        for node in inside:  # grows on the way
            inside += parts(node)
            if type(node) is cst.For or type(node) is cst.FunctionDef:
                self._read(node)
            elif type(node) is cst.CompFor:
                self._note_loop(node, _Suite())
            elif type(node) is cst.Assign:
                for name in _arranged(node.value):
                    bound = {dotted(target.target) for target in node.targets}
                    self._rearranged.setdefault(name, set()).update(bound)
            elif type(node) is cst.Call and _is_constructor(node.func):
                for argument in node.args:
                    self._handed.update(names_in(argument.value))
                    self._handed_whole.add(dotted(argument.value))

    def hand_on(self, names: Iterable[str]) -> bool:
        """A constructor gets one of these lists, or one that is filled alike."""
        held = set(names)
        held |= {other for name in held for other in self._rearranged.get(name, ())}
        elements = {t for name in held for suite in self._over.get(name, ()) for t in suite.targets}
        return not (
            self._handed.isdisjoint(held | self._filled_alike(held))
            and self._handed_whole.isdisjoint(elements)
        )

    def _filled_alike(self, held: set[str]) -> set[str]:
        """Other lists that get whatever is in one of these: `for x in xs: ys.append(x)`, or
        `xs.append(x)` beside `ys.append(x)`."""
        found: set[str] = set()
        for name in held:
            for suite in self._over.get(name, ()):
                for element in suite.targets:
                    found |= suite.lists.get(element, set())
            for suite in self._filling.get(name, ()):
                for element in suite.elements[name]:
                    found |= suite.lists[element]
        return found

    def _read(self, node: cst.For | cst.FunctionDef) -> None:
        suite = _Suite()
        for filled, element in _appended(node.body):
            suite.elements.setdefault(filled, set()).add(element)
            suite.lists.setdefault(element, set()).add(filled)
        for filled in suite.elements:
            self._filling.setdefault(filled, []).append(suite)
        if isinstance(node, cst.For):
            self._note_loop(node, suite)

    def _note_loop(self, loop: cst.For | cst.CompFor, suite: _Suite) -> None:
        suite.targets = frozenset(names_in(loop.target))
        for name in names_in(loop.iter):
            self._over.setdefault(name, []).append(suite)


_ARRANGING = frozenset({"zip", "sum", "list", "tuple", "reversed", "sorted", "chain"})


def _arranged(value: cst.BaseExpression) -> Iterator[str]:
    """The lists whose elements are those of an expression: `xs` and `ys` of `list(zip(xs, ys))`."""
    if isinstance(value, cst.Subscript):
        yield from _arranged(value.value)
    elif isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        yield from _arranged(value.left)
        yield from _arranged(value.right)
    elif isinstance(value, cst.Call) and called_name(value) in _ARRANGING:
        for argument in value.args:
            yield from _arranged(argument.value)
    elif isinstance(value, (cst.List, cst.Tuple)):
        for element in value.elements:
            if isinstance(element, cst.StarredElement):
                yield from _arranged(element.value)
    elif dotted(value):
        yield dotted(value)


def _appended(suite: cst.BaseSuite) -> Iterator[tuple[str, str]]:
    """`("xs", "x")` for each `xs.append(x)` that stands in the suite itself."""
    for line in suite.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            call = statement.value if isinstance(statement, cst.Expr) else None
            if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
                continue
            element = call.args[0].value if call.args else None
            if call.func.attr.value == "append" and isinstance(element, cst.Name):
                yield dotted(call.func.value), element.value


def _is_constructor(callee: cst.BaseExpression) -> bool:
    """A class, or that of a base: `super().__init__(layers)`."""
    name = callee.attr.value if isinstance(callee, cst.Attribute) else dotted(callee)
    return name == "__init__" or name.lstrip("_")[:1].isupper()
