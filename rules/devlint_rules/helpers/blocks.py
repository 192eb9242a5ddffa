"""Statements around a fact, found by walking blocks only: expressions are left alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from devlint.inference.facts import Facts
from devlint.inference.syntax.text import parts


@dataclass(frozen=True, slots=True)
class Block:
    """The statements of one body, and what each of its lines starts with."""

    statements: Sequence[cst.CSTNode]
    indent: str


def blocks(facts: Facts) -> Iterator[Block]:
    """Every block of the file under check, outer ones first."""
    tree = getattr(facts.source, "tree", None)
    if not isinstance(tree, cst.Module):
        return
    waiting = [Block(tree.body, "")]
    while waiting:
        block = waiting.pop()
        yield block
        for statement in block.statements:
            for body in _bodies(statement):
                if isinstance(body, cst.IndentedBlock):
                    indent = tree.default_indent if body.indent is None else body.indent
                    waiting.append(Block(body.body, block.indent + indent))


def _bodies(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The bodies of a compound statement, those of its `else` and `except` parts among them."""
    parts = [statement]
    while parts:
        part = parts.pop()
        body = getattr(part, "body", None)
        if isinstance(body, cst.BaseSuite):
            yield body
        for name in ("orelse", "finalbody"):
            other = getattr(part, name, None)
            if isinstance(other, cst.CSTNode):
                parts.append(other)
        for name in ("handlers", "cases"):
            parts.extend(getattr(part, name, ()))


def assignment_to(facts: Facts, target: cst.CSTNode) -> cst.Assign | None:
    """The plain assignment whose only target is this node."""
    for block in blocks(facts):
        for line in block.statements:
            if not isinstance(line, cst.SimpleStatementLine):
                continue
            for small in line.body:
                if isinstance(small, cst.Assign) and [t.target for t in small.targets] == [target]:
                    return small
    return None


def line_before(facts: Facts, statement: cst.CSTNode) -> tuple[cst.BaseSmallStatement, str] | None:
    """The last small statement on the line before a statement, in the same block, and its indent.

    None where something else is there, or where a comment follows on that line.
    """
    for block in blocks(facts):
        for before, current in zip(block.statements, block.statements[1:], strict=False):
            if current is statement:
                if not isinstance(before, cst.SimpleStatementLine):
                    return None
                if before.trailing_whitespace.comment is not None:
                    return None
                return before.body[-1], block.indent
    return None


def statements_before(facts: Facts, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of the same block above the one that a node is in, the nearest first."""
    tree = getattr(facts.source, "tree", None)
    inner = node
    for step in path_to(tree, node) if isinstance(tree, cst.Module) else ():
        if isinstance(step, (cst.IndentedBlock, cst.Module)):
            index = next(i for i, each in enumerate(step.body) if each is inner)
            yield from reversed(step.body[:index])
            return
        inner = step


def is_written(facts: Facts, node: cst.CSTNode) -> bool:
    """Whether the tensor that a node stands for is changed in place right there: `x.add_(y)`,
    `x += y`, `x[0] = y`, `out=x`. A copy that is moved would be changed in its stead."""
    tree = getattr(facts.source, "tree", None)
    inner = node
    for step in path_to(tree, node) if isinstance(tree, cst.Module) else ():
        if isinstance(step, cst.Attribute) and step.value is inner:
            if step.attr.value.endswith("_") and not step.attr.value.endswith("__"):
                return True
        elif isinstance(step, cst.AugAssign):
            return step.target is inner
        elif isinstance(step, cst.AssignTarget):
            return inner is not node  # a part of it, while a name is only bound anew
        elif isinstance(step, cst.Arg) and step.keyword is not None:
            return step.keyword.value == "out"
        elif not (isinstance(step, cst.Subscript) and step.value is inner):
            return False
        inner = step
    return False


def path_to(tree: cst.CSTNode, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes around a node, innermost first."""
    parents = _parents(tree)
    path = []
    while node in parents:
        node = parents[node]
        path.append(node)
    return path


@lru_cache(maxsize=1)  # the file under check
def _parents(tree: cst.CSTNode) -> dict[cst.CSTNode, cst.CSTNode]:
    parents: dict[cst.CSTNode, cst.CSTNode] = {}
    waiting = [tree]
    while waiting:
        current = waiting.pop()
        for part in parts(current):
            parents[part] = current
            waiting.append(part)
    return parents
