"""Whether an expression means at one place of a file what it means at another."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import libcst as cst

from devlint.inference.facts import Facts
from devlint.inference.syntax.text import dotted, every, parts
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.rewrites import is_path, parsed, text_of

_FUNCTIONS = (cst.FunctionDef, cst.Lambda)
_SCOPES = (*_FUNCTIONS, cst.ClassDef)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_LITERAL = re.compile(r"""(["'])[\w:]+\1""")


def means_the_same(facts: Facts, text: str, read: cst.CSTNode, there: cst.CSTNode) -> bool:
    """Whether a name (or `name.attribute`, or a literal) that is read at one node is bound at
    another, to the same value: it is bound once, before both, in a scope that holds both."""
    if _LITERAL.fullmatch(text):
        return True
    if not is_path(text):
        return False
    tree, name = facts.source.tree, text.partition(".")[0]
    scope = _scope_of(tree, name, read)
    if scope is None or scope is not _scope_of(tree, name, there):
        return False
    bound = _bound_in(tree, scope)
    if text != name and text in bound.attributes:
        return False
    bindings = bound.names[name]
    if len(bindings) != 1:
        return False
    return isinstance(bindings[0], cst.Param) or _is_before(tree, scope, bindings[0], there)


def is_bound(facts: Facts, text: str, place: cst.CSTNode) -> bool:
    """Whether all that an expression names has a value at a node: a parameter, a name of the
    function that is bound before it, of one around that, or of the file; and nothing of it was
    deleted. Of a node of another file nothing is known."""
    tree = facts.source.tree
    around = path_to(tree, place)
    if not around:
        return True
    named = list(_names(parsed(text)))
    scope = next((step for step in around if isinstance(step, cst.FunctionDef)), tree)
    gone = tuple(
        f"{dotted(each.target)}."
        for each in _deletes(tree)
        if scope in path_to(tree, each) and _precedes(tree, each, place)
    )
    if any(f"{dotted(each)}.".startswith(gone) for each in named):
        return False
    return all(_has_value(tree, around, dotted(each).partition(".")[0], place) for each in named)


def binds(facts: Facts, function: cst.FunctionDef, name: str) -> bool:
    """Whether a name is the function's own: a parameter, or bound in it."""
    return name in _bound_in(facts.source.tree, function).names


def _names(expression: cst.CSTNode) -> Iterator[cst.Name | cst.Attribute]:
    """The names that an expression reads, each with all the attributes behind it."""
    if isinstance(expression, (cst.Name, cst.Attribute)) and dotted(expression):
        yield expression
    elif isinstance(expression, (cst.Arg, cst.Attribute)):
        yield from _names(expression.value)
    else:
        for part in parts(expression):
            yield from _names(part)


@lru_cache(maxsize=1)  # the file under check
def _deletes(tree: cst.Module) -> tuple[cst.Del, ...]:
    """Its `del` statements."""
    return tuple(every(tree, cst.Del))


def _has_value(tree: cst.Module, around: list[cst.CSTNode], name: str, place: cst.CSTNode) -> bool:
    inner = True
    for step in around:
        if isinstance(step, _COMPREHENSIONS) and name in text_of(step.for_in):
            return True
        if isinstance(step, (*_FUNCTIONS, cst.Module)) and name in (
            names := _bound_in(tree, step).names
        ):
            return not inner or any(
                isinstance(node, cst.Param) or _precedes(tree, node, place) for node in names[name]
            )
        inner = inner and not isinstance(step, _FUNCTIONS)
    return hasattr(builtins, name) or _takes_all(tree)


@lru_cache(maxsize=1)  # the file under check
def _takes_all(tree: cst.Module) -> bool:
    """`from torch import *`: nobody knows which names."""
    return any(isinstance(each.names, cst.ImportStar) for each in every(tree, cst.ImportFrom))


def _precedes(tree: cst.Module, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether the one is done before the other is reached. A name is bound behind its value."""
    first, second = ([*reversed(path_to(tree, each)), each] for each in (one, other))
    level = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a is not b), 0)
    if not level:
        return False
    shared = first[level - 1]
    if isinstance(shared, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
        return False
    order = parts(shared)
    return order.index(first[level]) < order.index(second[level])


class _Bound(NamedTuple):
    """What a scope binds: names, each at its nodes, and attributes and elements by their text."""

    names: dict[str, list[cst.CSTNode]]
    attributes: frozenset[str]


def _bound_in(tree: cst.Module, scope: cst.CSTNode) -> _Bound:
    known = _bound(tree)
    if scope not in known:
        names: dict[str, list[cst.CSTNode]] = {}
        others = set()
        for node in (*_parameters(scope), *_targets(scope)):
            if isinstance(node, (cst.Param, cst.Name)):
                names.setdefault(text_of(node), []).append(node)
            else:
                others.add(text_of(node))
        known[scope] = _Bound(names, frozenset(others))
    return known[scope]


@lru_cache(maxsize=1)  # the file under check
def _bound(tree: cst.Module) -> dict[cst.CSTNode, _Bound]:
    return {}


def method_around(facts: Facts, node: cst.CSTNode) -> tuple[cst.ClassDef, cst.FunctionDef] | None:
    """The method that a node is in, and its class."""
    path = [step for step in path_to(facts.source.tree, node) if isinstance(step, _SCOPES)]
    for index, outer in enumerate(path[1:]):
        inner = path[index]
        if isinstance(inner, cst.FunctionDef) and isinstance(outer, cst.ClassDef):
            return outer, inner
    return None


def values_of(scope: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    """What is assigned to a name of a scope: `t.sum()` of `count = t.sum()`."""
    return [
        each.value
        for each in every(scope, cst.Assign)
        if any(dotted(target.target) == name for target in each.targets)
    ]


def function_around(facts: Facts, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The innermost function that a node is in."""
    path = path_to(facts.source.tree, node)
    return next((step for step in path if isinstance(step, cst.FunctionDef)), None)


def _scope_of(tree: cst.Module, name: str, node: cst.CSTNode) -> cst.CSTNode | None:
    """The function, or the file, that binds a name for a node in it; None inside of a
    comprehension that binds it."""
    for step in path_to(tree, node):
        if isinstance(step, _COMPREHENSIONS) and name in text_of(step.for_in):
            return None
        if isinstance(step, _FUNCTIONS) and name in _bound_in(tree, step).names:
            return step
    return tree if name in _bound_in(tree, tree).names else None


def _parameters(scope: cst.CSTNode) -> Iterator[cst.Param]:
    if isinstance(scope, _FUNCTIONS):
        params = scope.params
        yield from (*params.posonly_params, *params.params, *params.kwonly_params)
        yield from (p for p in (params.star_arg, params.star_kwarg) if isinstance(p, cst.Param))


def _targets(scope: cst.CSTNode) -> Iterator[cst.CSTNode]:
    waiting: list[cst.CSTNode] = list(parts(scope))
    if isinstance(scope, _FUNCTIONS):
        waiting = [scope.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            yield node.name
        if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            continue
        if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For)):
            yield from _parts(node.target)
        elif isinstance(node, cst.NamedExpr):
            yield node.target
        elif isinstance(node, cst.AsName):
            yield from _parts(node.name)
        elif isinstance(node, (cst.Del, cst.NameItem)):
            yield from (child for child in node.children if isinstance(child, cst.Name))
        elif isinstance(node, cst.ImportAlias) and node.asname is None:
            first: cst.CSTNode = node.name
            while isinstance(first, cst.Attribute):
                first = first.value
            yield first
        waiting += parts(node)


def _parts(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _parts(element.value)
    else:
        yield target


def _is_before(
    tree: cst.Module, scope: cst.CSTNode, binding: cst.CSTNode, node: cst.CSTNode
) -> bool:
    """The binding is a statement of the scope's own block, above the one that holds the node."""
    body = scope.body if isinstance(scope, (cst.FunctionDef, cst.Module)) else None
    statements = body.body if isinstance(body, cst.IndentedBlock) else body
    if not isinstance(statements, (list, tuple)):
        return False
    around = [set(path_to(tree, each)) for each in (binding, node)]
    first, second = (next((s for s in statements if s in path), None) for path in around)
    if not isinstance(first, cst.SimpleStatementLine) or second is None or first is second:
        return False
    return statements.index(first) < statements.index(second)
