"""Names of one scope: where a function, or a module, binds each and where it reads it.

What functions and classes in it do is theirs, but for the names that they take as their own with
`global` or `nonlocal`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from devlint.inference.syntax.text import every

_TARGETING = (cst.AssignTarget, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)
_WITHIN = (cst.Tuple, cst.List)


class ScopeNames:
    """The names among the nodes of a scope, which come in the order of the text."""

    def __init__(self, nodes: Iterable[cst.CSTNode]) -> None:
        self.bound: dict[str, list[cst.CSTNode]] = {}  # by name, what binds it
        self.read: list[cst.Name] = []
        self.shared: set[str] = set()  # by functions that are not the scope's own
        listed = list(nodes)
        apart: set[cst.CSTNode] = set()  # no reads
        for node in listed:
            for name in _bound_by(node):
                self.bound.setdefault(name.value, []).append(node)
                apart.add(name)
            apart.update(_labels(node))
            if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Global, cst.Nonlocal)):
                self.shared.update(_shared_by(node))
        self.read += (n for n in listed if isinstance(n, cst.Name) and n not in apart)


def _bound_by(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that a node binds; a declaration without a value binds none."""
    if isinstance(node, _TARGETING):
        yield from _names(node.target)
    elif isinstance(node, cst.AnnAssign):
        yield from _names(node.target) if node.value is not None else ()
    elif isinstance(node, cst.AsName):
        yield from _names(node.name)
    elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node.name
    elif isinstance(node, cst.ImportAlias) and node.asname is None:
        first: cst.BaseExpression = node.name
        while isinstance(first, cst.Attribute):
            first = first.value
        yield from _names(first)
    elif isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None:
        yield node.name


def _names(target: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(target, cst.Name):
        yield target
    elif isinstance(target, cst.StarredElement):
        yield from _names(target.value)
    elif isinstance(target, _WITHIN):
        for element in target.elements:
            yield from _names(element if isinstance(element, cst.StarredElement) else element.value)


def _labels(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Names that are no variables: `attr` of `x.attr`, `key` of `f(key=x)`, what `del` undoes."""
    if isinstance(node, cst.Attribute):
        yield node.attr
    elif isinstance(node, cst.Arg) and node.keyword is not None:
        yield node.keyword
    elif isinstance(node, (cst.Del, cst.AnnAssign)):
        yield from _names(node.target)
    elif isinstance(node, (cst.ImportAlias, cst.ImportFrom)):
        yield from every(node, cst.Name)


def _shared_by(node: cst.CSTNode) -> Iterator[str]:
    declared: list[cst.Global | cst.Nonlocal] = [*every(node, cst.Global)]
    declared += every(node, cst.Nonlocal)
    for each in declared:
        yield from (item.name.value for item in each.names)
