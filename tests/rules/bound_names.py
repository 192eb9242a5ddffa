"""The names that a piece of advice reads, and those that have a value at a line: by Python's own
`ast`, apart from how the rules look for them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import devlint_rules

_QUOTED = re.compile(r"`([^`]+)`")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@cache
def _generic() -> frozenset[str]:
    """What stands in a rule's own words, as an example of what to write: `x.device`."""
    folder = Path(devlint_rules.__file__).parent
    texts = (
        node.value
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return frozenset(quoted for text in texts for quoted in _QUOTED.findall(text))


def proposed(advice: str) -> Iterator[ast.Module]:
    """The code that advice gives for this very place, as far as it can be parsed."""
    for quoted in _QUOTED.findall(advice):
        if quoted in _generic():
            continue
        try:
            yield ast.parse(quoted.replace("(…)", "()").replace("…, ", "").replace("…", "0"))
        except SyntaxError:
            continue


def read_in(code: ast.Module) -> set[str]:
    """The names that need a value: but for those that the code itself binds first."""
    own = {n.id for n in ast.walk(code) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    read = {n.id for n in ast.walk(code) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return read - own


def bound_at(tree: ast.Module, line: int) -> set[str]:
    """The names with a value at a line: of the functions around it, and of the file."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        and node.lineno <= line <= (node.end_lineno or line)
    ]
    functions = [node for node in around if isinstance(node, _FUNCTIONS)]
    return set(dir(builtins)).union(*map(_bound_by, (tree, *functions)))


def _bound_by(scope: ast.AST) -> Iterator[str]:
    arguments = getattr(scope, "args", None)
    if arguments is not None:
        yield from (each.arg for each in ast.walk(arguments) if isinstance(each, ast.arg))
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        if not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)
