"""Constructions: the calls of a name in a file, and what each hands in for a parameter.

encoder = Encoder()
Classifier(encoder)     # for its first parameter: `Encoder()`
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.syntax.text import LEAVES, dotted, parts

_Scope = cst.FunctionDef | cst.Lambda | None  # None: the file's own statements
_FOLLOWED = 3  # names, from one to what another holds
_NOTED = frozenset(
    {cst.Call, cst.ClassDef, cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.Param, cst.AsName}
    | {cst.AugAssign, cst.For, cst.CompFor}
)


class Constructions:
    """The calls of plain names in a file, and what its names are bound to, by scope. `bases`: the
    names of which its classes inherit."""

    def __init__(self, tree: cst.Module) -> None:
        self.bases: set[str] = set()
        self._calls: dict[str, list[tuple[cst.Call, _Scope]]] = {}
        self._bound: dict[tuple[_Scope, str], list[cst.BaseExpression | None]] = {}
        for node, scope in _scoped(tree):
            if type(node) in _NOTED:
                self._note(node, scope)

    def _note(self, node: cst.CSTNode, scope: _Scope) -> None:
        if isinstance(node, cst.Call):
            if isinstance(node.func, cst.Name):
                self._calls.setdefault(node.func.value, []).append((node, scope))
        elif isinstance(node, cst.ClassDef):
            self.bases.update(dotted(base.value) for base in node.bases)
        elif isinstance(node, cst.Assign):
            for target in node.targets:
                self._bind(scope, target.target, node.value)
        elif isinstance(node, (cst.AnnAssign, cst.NamedExpr)):
            self._bind(scope, node.target, node.value)
        elif isinstance(node, (cst.Param, cst.AsName)):
            self._bind(scope, node.name, None)
        elif isinstance(node, (cst.AugAssign, cst.For, cst.CompFor)):
            self._bind(scope, node.target, None)

    def handed(self, callee: str, index: int, name: str) -> list[cst.BaseExpression] | None:
        """What the calls of `callee` hand in for the parameter at this position, or of this name,
        each as it is written where it is made; None where one of them does not say."""
        found: list[cst.BaseExpression] = []
        for call, scope in self._calls.get(callee, ()):
            argument = _argument(call, index, name)
            value = None if argument is None else self._followed(argument, scope)
            if value is None:
                return None
            found.append(value)
        return found

    def _bind(
        self, scope: _Scope, target: cst.BaseExpression, value: cst.BaseExpression | None
    ) -> None:
        if isinstance(target, cst.Name):
            self._bound.setdefault((scope, target.value), []).append(value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._bind(scope, element.value, None)

    def _followed(self, node: cst.BaseExpression, scope: _Scope) -> cst.BaseExpression | None:
        """What the name holds, if one assignment says, in the function or in the file."""
        for _ in range(_FOLLOWED):
            if not isinstance(node, cst.Name):
                return node
            name = node.value
            bound = self._bound.get((scope, name)) or self._bound.get((None, name), [])
            if len(bound) != 1 or bound[0] is None:
                return None
            node = bound[0]
        return None


def _argument(call: cst.Call, index: int, name: str) -> cst.BaseExpression | None:
    position = 0
    for each in call.args:
        if each.star:
            return None
        if each.keyword is not None:
            if each.keyword.value == name:
                return each.value
        elif position == index:
            return each.value
        else:
            position += 1
    return None


def _scoped(tree: cst.Module) -> Iterator[tuple[cst.CSTNode, _Scope]]:
    """All nodes but names and literals, each with the innermost function that it is in."""
    waiting: list[tuple[cst.CSTNode, _Scope]] = [(tree, None)]
    while waiting:
        node, scope = waiting.pop()
        yield node, scope
        inner = node if isinstance(node, (cst.FunctionDef, cst.Lambda)) else scope
        waiting += [(part, inner) for part in parts(node) if type(part) not in LEAVES]


_SAME = frozenset({"to", "cuda", "cpu", "eval", "train", "float", "half", "double"})


def made_by(node: cst.BaseExpression) -> str:
    """The name whose call makes a value, moves aside: `Encoder` of `Encoder(3).to(device)`."""
    while isinstance(node, cst.Call):
        func = node.func
        if isinstance(func, cst.Attribute) and func.attr.value in _SAME:
            node = func.value
        else:
            return dotted(func)
    return ""
