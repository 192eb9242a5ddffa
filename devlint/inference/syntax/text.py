"""Source text of nodes, as messages quote it, and what stands in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeVar

import libcst as cst

Node = TypeVar("Node", bound=cst.CSTNode)


_EMPTY = cst.Module([])


_BLANK = ("lines", "header", "footer")  # how fields of blank lines and comments end


LIMIT = 48


def code(node: cst.CSTNode) -> str:
    """The source text of a node; of a parameter its name."""
    if isinstance(node, cst.Param):
        node = node.name  # LibCST writes a parameter only as a part of its list
    return _EMPTY.code_for_node(node)


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
    if isinstance(node, kind):
        yield node
    for part in parts(node):
        yield from every(part, kind)


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes that a node holds, but for white space and comments: much faster than
    `CSTNode.children`, which visits them."""
    for name in _fields(type(node)):
        held = getattr(node, name)
        if isinstance(held, cst.CSTNode):
            yield held
        elif isinstance(held, (tuple, list)):
            yield from (each for each in held if isinstance(each, cst.CSTNode))


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    names = kind.__dataclass_fields__
    return tuple(n for n in names if not ("whitespace" in n or n.endswith(_BLANK)))


def dotted(node: cst.CSTNode) -> str:
    """`a.b.c` for a name or an attribute chain of names, else ""."""
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


def receiver_of(call: cst.Call) -> cst.BaseExpression:
    """The object of a method's call: `x` of `x.to(d)`; `move` of `move(d)`, where that is bound."""
    return call.func.value if isinstance(call.func, cst.Attribute) else call.func
