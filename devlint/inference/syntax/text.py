"""Source text of nodes, as messages quote it, and what stands in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import libcst as cst

from devlint.inference.syntax.code_generator import code_of

Node = TypeVar("Node", bound=cst.CSTNode)


_BLANK = ("lines", "header", "footer")  # how fields of blank lines and comments end


def _kinds_of(kind: type[cst.CSTNode]) -> Iterator[type[cst.CSTNode]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds_of(each)


# An `isinstance` asks the metaclass of LibCST's nodes each time, which takes long.
_NODES: frozenset[type[object]] = frozenset(_kinds_of(cst.CSTNode))  # type: ignore[type-abstract]


# Fields of brackets and the like, which hold nothing but white space.
_PUNCTUATION = frozenset(
    {"lpar", "rpar", "lbracket", "rbracket", "lbrace", "rbrace", "comma", "semicolon", "dot"}
    | {"equal", "colon", "asynchronous"}
)


# Nodes that hold no others: every second one is a name or a literal.
LEAVES: frozenset[type[object]] = frozenset(
    {cst.Name, cst.SimpleString, cst.Integer, cst.Float, cst.Pass, cst.Break, cst.Continue}
)


_TEXT = frozenset({str, bool})  # types of fields that hold no nodes


LIMIT = 48


@lru_cache(maxsize=512)
def code(node: cst.CSTNode) -> str:
    """The source text of a node; of a parameter its name."""
    if isinstance(node, cst.Param):
        node = node.name  # LibCST writes a parameter only as a part of its list
    return code_of(node)


def called(func: cst.BaseExpression) -> cst.BaseExpression:
    """What is called: `model`, of `model(x)` as of `model.forward(x)`."""
    if isinstance(func, cst.Attribute) and func.attr.value == "forward":
        return func.value
    return func


def shorten(node: cst.CSTNode) -> str:
    """The source text on one line, cut in the middle where it is long."""
    text = dotted(node) or " ".join(code(_without_middle(node)).split())
    if len(text) <= LIMIT:
        return text
    return f"{text[: LIMIT - 12]} … {text[-9:]}"


def _without_middle(node: cst.CSTNode) -> cst.CSTNode:
    """A very long chain of calls loses its links but the first and the last: to write it whole at
    each link would take time with the square of its length."""
    links: list[cst.Attribute] = []
    inner = node
    while isinstance(inner, (cst.Attribute, cst.Call, cst.Subscript)):
        if isinstance(inner, cst.Attribute):
            links.append(inner)
        inner = inner.func if isinstance(inner, cst.Call) else inner.value
    if len(links) <= LIMIT:
        return node
    return links[-LIMIT].with_changes(attr=links[0].attr)


def owner_of(node: cst.CSTNode) -> cst.CSTNode:
    """What an element is of, and that of: `x` of `x["state"][0]`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node


def has_key(node: cst.Subscript) -> bool:
    """`outputs["image"]`: no tensor has such an index, what holds it is a dict."""
    inner = node.slice[0].slice
    return isinstance(inner, cst.Index) and isinstance(inner.value, cst.SimpleString)


def names_in(node: cst.CSTNode) -> list[str]:
    """The dotted names that an expression mentions, `a` and `b.c` in `f(a)[b.c]`, nearest first."""
    found: list[str] = []
    inside = [node]
    for each in inside:  # grows on the way
        name = dotted(each)
        if name:
            found.append(name)
        else:
            inside += parts(each)
    return found


def every(node: cst.CSTNode, kind: type[Node]) -> Iterator[Node]:
    """The nodes of a kind, this one included, outer ones first."""
    kinds, closed = _with_subclasses(kind), _without(kind)
    waiting = [node]
    while waiting:
        current = waiting.pop()
        found = type(current)
        if found in kinds:
            yield current  # type: ignore[misc]  # it is of that kind
        if found not in closed:
            below = parts(current)
            below.reverse()
            waiting += below


def parts(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes that a node holds, but for white space, comments and punctuation: much faster than
    `CSTNode.children`, which visits them."""
    kind = type(node)
    try:
        parts_of = _PARTS[kind]
    except KeyError:
        parts_of = _PARTS[kind] = parts_by_fields(kind)
    return parts_of(node)


def parents_below(root: cst.CSTNode) -> dict[cst.CSTNode, cst.CSTNode]:
    """All nodes below a node, each with the one that it is a part of."""
    parents: dict[cst.CSTNode, cst.CSTNode] = {}
    waiting = [root]
    while waiting:
        current = waiting.pop()
        for part in parts(current):
            parents[part] = current
            if type(part) not in LEAVES:
                waiting.append(part)
    return parents


# The parts of those kinds that are met most. Of the others the fields are looked through.
_PARTS: dict[type[cst.CSTNode], Callable[[Any], list[cst.CSTNode]]] = {
    cst.Annotation: lambda node: [node.annotation],
    cst.Arg: lambda node: [node.value] if node.keyword is None else [node.value, node.keyword],
    cst.Assign: lambda node: [*node.targets, node.value],
    cst.AssignTarget: lambda node: [node.target],
    cst.Attribute: lambda node: [node.value, node.attr],
    cst.BinaryOperation: lambda node: [node.left, node.operator, node.right],
    cst.BooleanOperation: lambda node: [node.left, node.operator, node.right],
    cst.Call: lambda node: [node.func, *node.args],
    cst.Comparison: lambda node: [node.left, *node.comparisons],
    cst.ComparisonTarget: lambda node: [node.operator, node.comparator],
    cst.Element: lambda node: [node.value],
    cst.Expr: lambda node: [node.value],
    cst.IndentedBlock: lambda node: [*node.body],
    cst.Index: lambda node: [node.value],
    cst.List: lambda node: [*node.elements],
    cst.SimpleStatementLine: lambda node: [*node.body],
    cst.Subscript: lambda node: [node.value, *node.slice],
    cst.SubscriptElement: lambda node: [node.slice],
    cst.Tuple: lambda node: [*node.elements],
    cst.UnaryOperation: lambda node: [node.operator, node.expression],
}


def parts_by_fields(kind: type[cst.CSTNode]) -> Callable[[Any], list[cst.CSTNode]]:
    """The parts of any node of a kind, in the order of its fields."""
    names = [f.name for f in fields(kind) if f.type not in _TEXT and f.name not in _PUNCTUATION]
    names = [n for n in names if not ("whitespace" in n or n.endswith(_BLANK))]
    if not names:
        return lambda node: []
    get: Callable[[cst.CSTNode], Any] = attrgetter(*names)
    is_one = len(names) == 1  # else it gives a tuple

    def parts_of(node: cst.CSTNode) -> list[cst.CSTNode]:
        found: list[cst.CSTNode] = []
        for held in (get(node),) if is_one else get(node):
            kind: type[object] = type(held)
            if kind in _NODES:
                found.append(held)
            elif kind is tuple or kind is list:
                found += held
        return found

    return parts_of


@cache
def _with_subclasses(kind: type[cst.CSTNode]) -> frozenset[type[object]]:
    return frozenset((kind, *_kinds_of(kind)))


@cache
def _without(kind: type[cst.CSTNode]) -> frozenset[type[object]]:
    """The kinds of nodes that hold none of a kind: no expression holds a statement."""
    of_statements = issubclass(kind, (cst.BaseSmallStatement, cst.BaseStatement, cst.BaseSuite))
    return _with_subclasses(cst.BaseExpression) | LEAVES if of_statements else LEAVES


def dotted(node: cst.CSTNode) -> str:
    """`a.b.c` for a name or an attribute chain of names, else ""."""
    name = ""
    while type(node) is cst.Attribute:
        name = f".{node.attr.value}{name}"
        node = node.value
    return node.value + name if type(node) is cst.Name else ""


def last_statement(suite: cst.BaseSuite) -> cst.CSTNode | None:
    """`return x` of a suite that ends in `a = 1; return x`."""
    last = suite.body[-1] if suite.body else None
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last


def answer_of(function: cst.FunctionDef | cst.Lambda) -> cst.BaseExpression | None:
    """What a function gives that does no more than that, but for its docstring: `x > 0` of
    `def is_positive(x): return x > 0`."""
    body = function.body
    if not isinstance(body, (cst.IndentedBlock, cst.SimpleStatementSuite)):
        return body if isinstance(body, cst.BaseExpression) else None
    only = last_statement(body)
    is_told = len(body.body) == 2 and code(body.body[0]).lstrip().startswith(('"', "'"))
    is_alone = len(body.body) == 1 or is_told
    return only.value if is_alone and isinstance(only, cst.Return) else None


def called_name(call: cst.Call) -> str:
    """`to` of `batch.x.to(d)`, `net` of `net(x)`; "" where the callee has no name."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func)


def keywords_of(call: cst.Call) -> dict[str, cst.BaseExpression]:
    """What a call is given by keyword: `{"type": int}` of `add_argument("--gpu", type=int)`."""
    return {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}


def literal_of(node: cst.CSTNode | None) -> str:
    """What a plain string says; "" of anything else, bytes too."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    return value if isinstance(value, str) else ""


def plain_parameters(params: cst.Parameters) -> tuple[cst.Param, ...]:
    """All parameters but `*args` and `**kwargs`, in their order."""
    return (*params.posonly_params, *params.params, *params.kwonly_params)


def is_super_constructor(call: cst.Call) -> bool:
    """The constructor above: `super().__init__(…)`."""
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "__init__":
        return False
    return isinstance(func.value, cst.Call) and called_name(func.value) == "super"


def passed_through(over: cst.CSTNode | None) -> list[cst.BaseExpression]:
    """`t` of `enumerate(t)`, `t` and `u` of `zip(t, u)`: what a loop goes through all the same."""
    if not isinstance(over, cst.Call) or dotted(over.func) not in ("enumerate", "zip", "reversed"):
        return []
    return [argument.value for argument in over.args]


def receiver_of(call: cst.Call) -> cst.BaseExpression:
    """The object of a method's call: `x` of `x.to(d)`; `move` of `move(d)`, where that is bound."""
    return call.func.value if isinstance(call.func, cst.Attribute) else call.func
