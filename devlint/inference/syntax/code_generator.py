"""Source code from syntax trees, by LibCST's own generator with less to do.

It calls two hooks at each node and enters a context at each expression: to note its position, which
nobody asks for here but of a few nodes, and to put its parentheses around it, which most have not.
Four of five nodes are white space, names and marks, which need none of it. What is generated for
LibCST itself is generated as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import libcst as cst
from libcst._nodes.expression import BaseExpression
from libcst._nodes.internal import CodegenState
from libcst._nodes.op import _BaseOneTokenOp

NOTHING: AbstractContextManager[None] = nullcontext()


class Generator(CodegenState):
    """Generates the code of nodes. wanted: those whose positions are noted, by `id`."""

    __slots__ = ("wanted",)

    wanted: Mapping[int, cst.CSTNode]

    def __init__(
        self, indent: str, newline: str, wanted: Mapping[int, cst.CSTNode] | None = None
    ) -> None:
        super().__init__(indent, newline)
        self.wanted = wanted or {}

    def record_syntactic_position(  # type: ignore[override]  # cheaper than a generator
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> AbstractContextManager[None]:
        return NOTHING


def code_of(node: cst.CSTNode) -> str:
    """The code of a node, indented as if it were a module."""
    state = Generator(" " * 4, "\n")
    node._codegen(state)
    return "".join(state.tokens)


_generate = cst.CSTNode._codegen
_put_in_parentheses = BaseExpression._parenthesize


# Each asks by itself whether somebody wants its position: a call more costs half of what is saved.


def _node(node: cst.CSTNode, state: CodegenState, **options: Any) -> None:
    if isinstance(state, Generator) and id(node) not in state.wanted:
        node._codegen_impl(state, **options)
    else:
        _generate(node, state, **options)


def _white_space(space: cst.SimpleWhitespace, state: CodegenState) -> None:
    if isinstance(state, Generator) and id(space) not in state.wanted:
        if space.value:
            state.tokens.append(space.value)
    else:
        _generate(space, state)


def _name(name: cst.Name, state: CodegenState) -> None:
    if (
        isinstance(state, Generator)
        and id(name) not in state.wanted
        and not name.lpar
        and not name.rpar
    ):
        state.tokens.append(name.value)
    else:
        _generate(name, state)


def _mark(mark: _BaseOneTokenOp, state: CodegenState) -> None:
    if isinstance(state, Generator) and id(mark) not in state.wanted:
        mark.whitespace_before._codegen(state)
        state.tokens.append(mark._get_token())
        mark.whitespace_after._codegen(state)
    else:
        _generate(mark, state)


def _parenthesize(expression: BaseExpression, state: CodegenState) -> AbstractContextManager[None]:
    """What LibCST's method does, at once where there are no parentheses."""
    if expression.lpar or expression.rpar:
        return _put_in_parentheses(expression, state)
    return state.record_syntactic_position(expression)


cst.CSTNode._codegen = _node  # type: ignore[method-assign, assignment]
cst.SimpleWhitespace._codegen = _white_space  # type: ignore[method-assign, assignment]
cst.Name._codegen = _name  # type: ignore[method-assign, assignment]
_BaseOneTokenOp._codegen = _mark  # type: ignore[method-assign, assignment]
BaseExpression._parenthesize = _parenthesize  # type: ignore[method-assign, assignment]
