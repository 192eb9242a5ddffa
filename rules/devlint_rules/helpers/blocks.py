"""Statements around a fact, found by walking blocks only: expressions are left alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import libcst as cst

from devlint.inference.facts import Facts
from devlint.inference.syntax.text import parents_below


class Block(NamedTuple):
    """The statements of one body, and what each of its lines starts with."""

    statements: Sequence[cst.CSTNode]
    indent: str


@lru_cache(maxsize=1)  # the file under check
def _blocks(tree: cst.Module) -> tuple[Block, ...]:
    """Every block of a file, outer ones first."""
    found = []
    waiting = [Block(tree.body, "")]
    while waiting:
        block = waiting.pop()
        found.append(block)
        for statement in block.statements:
            for body in _bodies(statement):
                if isinstance(body, cst.IndentedBlock):
                    indent = tree.default_indent if body.indent is None else body.indent
                    waiting.append(Block(body.body, block.indent + indent))
    return tuple(found)


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
    return _assignments(facts.source.tree)[0].get(target)


def assignment_of(facts: Facts, value: cst.CSTNode) -> cst.Assign | None:
    """The assignment of what this node gives."""
    return _assignments(facts.source.tree)[1].get(value)


Assignments = dict[cst.CSTNode, cst.Assign]


@lru_cache(maxsize=1)  # the file under check
def _assignments(tree: cst.Module) -> tuple[Assignments, Assignments]:
    """The assignments of a file by target, where that is the only one, and by value."""
    by_target: Assignments = {}
    by_value: Assignments = {}
    for block in _blocks(tree):
        for line in block.statements:
            for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.Assign):
                    by_value[small.value] = small
                    if len(small.targets) == 1:
                        by_target[small.targets[0].target] = small
    return by_target, by_value


def line_before(facts: Facts, statement: cst.CSTNode) -> tuple[cst.BaseSmallStatement, str] | None:
    """The last small statement on the line before a statement, in the same block, and its indent.

    None where something else is there, or where a comment follows on that line.
    """
    block, index = _places(facts.source.tree).get(statement, (None, 0))
    before = block.statements[index - 1] if block is not None and index else None
    if block is None or not isinstance(before, cst.SimpleStatementLine):
        return None
    if before.trailing_whitespace.comment is not None:
        return None
    return before.body[-1], block.indent


@lru_cache(maxsize=1)  # the file under check
def _places(tree: cst.Module) -> dict[cst.CSTNode, tuple[Block, int]]:
    """The statements of a file, each with its block and its number there."""
    return {
        statement: (block, index)
        for block in _blocks(tree)
        for index, statement in enumerate(block.statements)
    }


def statements_before(facts: Facts, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of the same block above the one that a node is in, the nearest first."""
    tree, inner = facts.source.tree, node
    for step in path_to(tree, node):
        if isinstance(step, (cst.IndentedBlock, cst.Module)):
            block, index = _places(tree)[inner]
            for before in range(index - 1, -1, -1):
                yield block.statements[before]
            return
        inner = step


def is_written(facts: Facts, node: cst.CSTNode) -> bool:
    """Whether the tensor that a node stands for is changed in place right there: `x.add_(y)`,
    `x += y`, `x[0] = y`, `out=x`. A copy that is moved would be changed in its stead."""
    inner = node
    for step in path_to(facts.source.tree, node):
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


def tested_by(facts: Facts, node: cst.CSTNode) -> cst.If | cst.While | None:
    """The statement in whose condition a node stands: `if x.any():`, `while x.item() < 1:`."""
    inner = node
    for step in path_to(facts.source.tree, node):
        if isinstance(step, (cst.If, cst.While)) and step.test is inner:
            return step
        if isinstance(step, cst.BaseCompoundStatement):
            return None
        inner = step
    return None


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
    return parents_below(tree)
