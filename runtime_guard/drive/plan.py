"""What is to be called for a finding: the function around its line, and the module it is in.

A finding in the body of ``Net.forward`` of ``pkg/net.py`` is driven by ``pkg.net.Net(...)(x)``; one
in a function within a function by the outer one; one at the top of a file by importing it.  Callers
in the same file stand behind, for what cannot be called by itself.  Nothing is imported here.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
MAX_CALLERS = 3
"""Of one function."""
MAX_ENTRIES = 7


class NoPlan(ValueError):
    """There is nothing to call; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A way in: a function, a method of a class, or neither: then the import alone."""

    owner: str = ""
    """The class, by its dotted name in the module; empty for a function."""
    function: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, (self.owner, self.function))) or "the import"


@dataclass(frozen=True)
class Plan:
    """The module, where Python finds it, and the ways in, the nearest first."""

    file: str
    module: str
    paths: tuple[str, ...]
    """What has to be on ``sys.path``."""
    entries: tuple[Entry, ...]


def plan(file: str, line: int, root: str) -> Plan:
    """How to reach ``line`` of ``file`` of the project ``root``.

    Raises ``NoPlan``, and ``OSError`` for a file that cannot be read.
    """
    with open(file, encoding="utf-8") as stream:
        text = stream.read()
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NoPlan(f"this Python cannot read the file: {error.msg}") from None
    module, paths = module_of(file, root)
    return Plan(file, module, paths, tuple(_entries(tree, line)))


def module_of(file: str, root: str) -> tuple[str, tuple[str, ...]]:
    """``src/pkg/net.py`` -> ``pkg.net``, with ``src`` to be on the path, and the root behind it."""
    folder, name = os.path.split(os.path.realpath(file))
    stem = name.removesuffix(".py")
    parts = [] if stem == "__init__" else [stem]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    if not parts or not all(part.isidentifier() for part in parts):
        raise NoPlan(f"{name} has no name that could be imported")
    paths = dict.fromkeys((folder, os.path.realpath(root)))
    return ".".join(parts), tuple(paths)


def _entries(tree: ast.Module, line: int) -> Iterator[Entry]:
    chain = list(_around(tree, line))
    if any(isinstance(node, ast.If) and _is_main(node.test) for node in chain):
        raise NoPlan("it runs in a program only: give its command")
    classes: list[str] = []
    for node in chain:
        if isinstance(node, ast.ClassDef):
            classes.append(node.name)
        elif isinstance(node, Function):
            yield from _with_callers(tree, Entry(".".join(classes), node.name))
            return
    yield Entry()


def _around(node: ast.AST, line: int) -> Iterator[ast.AST]:
    """The statements around ``line``, from outside in; decorators belong to what they decorate."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            continue
        first = getattr(child, "lineno", 0) or 0
        last = getattr(child, "end_lineno", None) or first
        if isinstance(child, ast.match_case):
            first, last = child.pattern.lineno, child.body[-1].end_lineno or 0
        if first <= line <= last:
            yield child
            yield from _around(child, line)
            return


def _is_main(test: ast.expr) -> bool:
    return "__name__" in ast.unparse(test) and "__main__" in ast.unparse(test)


def _with_callers(tree: ast.Module, entry: Entry) -> list[Entry]:
    """``entry``, its callers, and theirs; what a constructor makes is called, too."""
    defined = {known for known, _ in functions(tree)}
    found = [entry, *_of_heirs(tree, entry, defined)]
    for known in found:
        if len(found) >= MAX_ENTRIES:
            break
        near = list(_callers(tree, known))
        if known.function == "__init__":
            near = [Entry(known.owner, "forward"), Entry(known.owner, "__call__"), *near]
        found += [other for other in near if other in defined and other not in found]
    return found[:MAX_ENTRIES]


def _of_heirs(tree: ast.Module, entry: Entry, defined: set[Entry]) -> Iterator[Entry]:
    """The same method of the classes of the file that inherit it: a base is often made to be filled
    in."""
    bases = {entry.owner}
    for node in tree.body:
        if not (entry.owner and isinstance(node, ast.ClassDef)):
            continue
        heir = Entry(node.name, entry.function)
        if heir not in defined and bases & {ast.unparse(base) for base in node.bases}:
            bases.add(node.name)
            if len(bases) <= MAX_CALLERS:
                yield heir


def _callers(tree: ast.Module, entry: Entry) -> Iterator[Entry]:
    """Functions and methods of the file that call ``entry`` by its name, or its class."""
    found = 0
    name = entry.function
    if name == "__init__":
        name = entry.owner.rpartition(".")[2]
    for caller, node in functions(tree):
        if caller == entry or found == MAX_CALLERS:
            continue
        if any(_calls(call, name) for call in ast.walk(node) if isinstance(call, ast.Call)):
            found += 1
            yield caller


def functions(node: ast.AST, classes: tuple[str, ...] = ()) -> Iterator[tuple[Entry, Function]]:
    """All functions of a module and methods of its classes; not those within functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from functions(child, (*classes, child.name))
        elif isinstance(child, Function):
            yield Entry(".".join(classes), child.name), child
        elif isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from functions(child, classes)


def _calls(call: ast.Call, name: str) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == name
    return (
        isinstance(function, ast.Attribute)
        and function.attr == name
        and isinstance(function.value, ast.Name)
        and function.value.id in ("self", "cls")
    )
