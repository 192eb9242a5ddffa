"""Names of one scope: where a function, or a module, binds each and where it reads it.

What functions and classes in it do is theirs, but for the names that they take as their own with
`global` or `nonlocal`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import libcst as cst

from devlint.inference.syntax.text import every

_WITHIN = (cst.Tuple, cst.List)


class ScopeNames:
    """The names among the nodes of a scope, which come in the order of the text."""

    def __init__(self, nodes: Iterable[cst.CSTNode]) -> None:
        self.bound: dict[str, list[cst.CSTNode]] = {}  # by name, what binds it
        self.shared: set[str] = set()  # by functions that are not the scope's own
        apart: set[cst.CSTNode] = set()  # no reads
        reads: list[cst.Name] = []
        for node in nodes:
            kind = type(node)
            if kind is cst.Name:
                reads.append(node)  # type: ignore[arg-type]  # it is of that kind
                continue
            for name in _BINDING[kind](node) if kind in _BINDING else ():
                self.bound.setdefault(name.value, []).append(node)
                apart.add(name)
            if kind in _LABELLING:
                apart.update(_LABELLING[kind](node))
            elif kind in _SHARING:
                self.shared.update(_shared_by(node))
        self.read = [name for name in reads if name not in apart]


def _of_target(node: Any) -> Iterator[cst.Name]:
    return _names(node.target)


def _of_declaration(node: Any) -> Iterator[cst.Name]:
    """A declaration without a value binds nothing."""
    return _names(node.target) if node.value is not None else iter(())


def _of_name(node: Any) -> Iterator[cst.Name]:
    return _names(node.name)


def _of_import(node: Any) -> Iterator[cst.Name]:
    """`import a.b` binds `a`."""
    first = node.name
    while isinstance(first, cst.Attribute):
        first = first.value
    return _names(first) if node.asname is None else iter(())


def _names(target: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(target, cst.Name):
        yield target
    elif isinstance(target, cst.StarredElement):
        yield from _names(target.value)
    elif isinstance(target, _WITHIN):
        for element in target.elements:
            yield from _names(element if isinstance(element, cst.StarredElement) else element.value)


_BINDING: dict[type[cst.CSTNode], Callable[[Any], Iterator[cst.Name]]] = {
    cst.AssignTarget: _of_target,
    cst.AugAssign: _of_target,
    cst.For: _of_target,
    cst.CompFor: _of_target,
    cst.NamedExpr: _of_target,
    cst.AnnAssign: _of_declaration,
    cst.AsName: _of_name,
    cst.FunctionDef: _of_name,
    cst.ClassDef: _of_name,
    cst.MatchAs: _of_name,
    cst.MatchStar: _of_name,
    cst.ImportAlias: _of_import,
}


def _all_names(node: Any) -> Iterable[cst.CSTNode]:
    return every(node, cst.Name)


# Names that are no variables: `attr` of `x.attr`, `key` of `f(key=x)`, what `del` undoes.
_LABELLING: dict[type[cst.CSTNode], Callable[[Any], Iterable[cst.CSTNode]]] = {
    cst.Attribute: lambda node: (node.attr,),
    cst.Arg: lambda node: (node.keyword,) if node.keyword is not None else (),
    cst.Del: _of_target,
    cst.AnnAssign: _of_target,
    cst.ImportAlias: _all_names,
    cst.ImportFrom: _all_names,
}


_SHARING = frozenset({cst.FunctionDef, cst.ClassDef, cst.Global, cst.Nonlocal})


def _shared_by(node: cst.CSTNode) -> Iterator[str]:
    declared: list[cst.Global | cst.Nonlocal] = [*every(node, cst.Global)]
    declared += every(node, cst.Nonlocal)
    for each in declared:
        yield from (item.name.value for item in each.names)
