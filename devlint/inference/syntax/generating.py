"""Source code from syntax trees, by LibCST's own generator with less to do.

It enters a context at each expression: to note its position, which nobody asks for here, and to put
its parentheses around it, which most have not. That takes half of its time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import libcst as cst
from libcst._nodes.expression import BaseExpression
from libcst._nodes.internal import CodegenState

NOTHING: AbstractContextManager[None] = nullcontext()


class Generator(CodegenState):
    """Generates the code of nodes, and notes no positions."""

    __slots__ = ()

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
    state = Generator(default_indent=" " * 4, default_newline="\n")
    node._codegen(state)
    return "".join(state.tokens)


_put_in_parentheses = BaseExpression._parenthesize


def _parenthesize(expression: BaseExpression, state: CodegenState) -> AbstractContextManager[None]:
    """What LibCST's method does, at once where there are no parentheses."""
    if expression.lpar or expression.rpar:
        return _put_in_parentheses(expression, state)
    return state.record_syntactic_position(expression)


BaseExpression._parenthesize = _parenthesize  # type: ignore[method-assign, assignment]
