"""Calls that a project makes already: its docstrings, its tests, its README, its other code.

    def test_net():
        net = Net(dim=12, heads=4)
        net(torch.randn(2, 12, 16, 16))

says that ``Net`` takes ``dim=12, heads=4`` and its ``forward`` four dimensions.  Only arguments
that can be written down without running the test are taken: literals, calls of PyTorch, of what the
file imports, and local names that stand for such.  Nothing is run here but imports.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from runtime_guard.drive.expressions import (
    LONGEST,
    Imported,
    NotKnown,
    Scope,
    imports_of,
    is_options,
    option_of,
    resolved,
    value_of,
)
from runtime_guard.drive.plan import Entry, Function, functions, module_of
from runtime_guard.drive.uses import dotted
from runtime_guard.drive.values import Value

MOST_FILES = 4000
MOST_PARSED = 40
MOST_EXAMPLES = 12
_SKIPPED = frozenset({"node_modules", "site-packages", "build", "dist", "venv", "third_party"})


@dataclass(frozen=True)
class Call:
    """Arguments by position and by name; None for one that is not known."""

    positional: tuple[Value | None, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()

    @property
    def known(self) -> int:
        """How many arguments are known."""
        return sum(value is not None for value in self.positional) + len(self.named)


@dataclass(frozen=True)
class Example:
    """How an instance was made, where the entry is a method, and how it was called."""

    made: Call | None = None
    called: Call | None = None

    @property
    def known(self) -> int:
        """How many arguments are known."""
        return sum(call.known for call in (self.made, self.called) if call is not None)


@dataclass
class _Page:
    """Code that may have examples."""

    tree: ast.Module
    rank: int
    """0: about the very thing; 1: a test; 2: documentation; 3: other code."""
    imports: dict[str, Imported] = field(default_factory=dict)


def examples_of(file: str, root: str, entry: Entry) -> list[Example]:
    """Calls of ``entry``, which is in ``file``, the most telling ones first."""
    name = (entry.owner or entry.function).rpartition(".")[2]
    ranked: list[tuple[tuple[bool, int, int], Example]] = []
    for page in _pages(file, os.path.realpath(root), entry, name):
        for example in _in_page(page, entry, name):
            if example.known:
                half = bool(entry.owner) and (example.called is None or example.made is None)
                ranked.append(((half, page.rank, -example.known), example))
    ranked.sort(key=lambda pair: pair[0])
    return list(dict.fromkeys(example for _, example in ranked))[:MOST_EXAMPLES]


def _pages(file: str, root: str, entry: Entry, name: str) -> Iterator[_Page]:
    own = _parsed(Path(file))
    if own is not None:
        module, _ = module_of(file, root)
        around = imports_of(own, module)
        around.update(
            (node.name, Imported(module, node.name))
            for node in own.body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        )
        for code in _doctests(own, entry):
            yield _Page(code, 0, {**around, **imports_of(code)})
        yield _Page(own, 3, around)
    asked = re.compile(rf"\b{re.escape(name)}\s*\(".encode())
    count = 0
    for path in _files(root):
        if count == MOST_PARSED:
            return
        if path.samefile(file) or not asked.search(_read(path)):
            continue
        if path.suffix != ".py":
            for code in _fenced(path):
                yield _Page(code, 2, {"torch": Imported("torch"), **imports_of(code)})
            continue
        tree = _parsed(path)
        if tree is None:
            continue
        count += 1
        try:
            module, _ = module_of(str(path), root)
        except ValueError:
            module = ""
        yield _Page(tree, 1 if _is_test(path) else 3, imports_of(tree, module))


def _is_test(path: Path) -> bool:
    return any(part.startswith("test") or part.endswith("_test.py") for part in path.parts[-4:])


@cache
def _files(root: str) -> tuple[Path, ...]:
    """The README, tests, then other Python files."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        found += (Path(folder, name) for name in sorted(names) if name.endswith(".py"))
        if len(found) > MOST_FILES:
            break
    pages = [path for path in sorted(Path(root).glob("README*")) if path.is_file()]
    return (*pages, *sorted(found, key=lambda path: not _is_test(path)))


@cache
def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(_read(path))
    except (SyntaxError, ValueError):
        return None


def _doctests(tree: ast.Module, entry: Entry) -> Iterator[ast.Module]:
    """The ``>>>`` lines of the docstrings of the entry and of its class."""
    owner = entry.owner.rpartition(".")[2]
    for node in ast.walk(tree):
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        if node.name not in (owner, entry.function):
            continue
        text = ast.get_docstring(node) or ""
        try:
            lines = "".join(e.source for e in doctest.DocTestParser().get_examples(text))
            yield ast.parse(lines)
        except (ValueError, SyntaxError):
            continue


def _fenced(path: Path) -> Iterator[ast.Module]:
    """The blocks of Python in a README."""
    text = _read(path).decode("utf-8", "replace")
    for block in re.findall(r"^```(?:python|py)[^\n]*\n(.*?)^```", text, re.M | re.S):
        try:
            yield ast.parse(textwrap.dedent(block))
        except SyntaxError:
            continue


def _in_page(page: _Page, entry: Entry, name: str) -> Iterator[Example]:
    """The calls in all functions of a page, and in its own lines."""
    top = Scope(page.imports)
    for node in page.tree.body:
        if isinstance(node, ast.FunctionDef):
            top.returns.update(_returned(node, top))
    yield from _Reader(top, entry, name).read(page.tree.body)
    held: dict[str, _Reader] = {}
    for place, node in functions(page.tree):
        if node.name in ("setUp", "setup_method", "setup", "__init__"):
            reader = _Reader(top.inner(), entry, name)
            _hide_parameters(node, reader.scope)
            for _ in reader.read(node.body):
                pass
            held[place.owner] = reader
    for place, node in functions(page.tree):
        if place == entry:
            continue
        before = held.get(place.owner)
        scope = top.inner() if before is None else before.scope.of_self()
        _hide_parameters(node, scope)
        for argument in node.args.args:
            if argument.arg in scope.returns:  # a fixture of that name
                scope.bind(argument.arg, scope.returns[argument.arg])
        scope.update(_parameters(node, scope))
        reader = _Reader(scope, entry, name)
        if before is not None:
            reader.instances.update(before.instances_of_self())
        yield from reader.read(node.body)


def _hide_parameters(node: Function, scope: Scope) -> None:
    """A parameter hides what is imported under its name: ``def grid(F): …``."""
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        scope.forget(argument.arg)


def _returned(function: ast.FunctionDef, scope: Scope) -> Iterator[tuple[str, ast.expr]]:
    """What a function returns that takes nothing, as pytest's fixtures mostly do."""
    if len(function.args.args) > len(function.args.defaults):
        return
    inner = scope.inner()
    inner.update(_parameters(function, inner))
    reader = _Reader(inner, Entry(), "")
    for statement in function.body:
        if isinstance(statement, ast.Return) and statement.value is not None:
            with contextlib.suppress(NotKnown):
                yield function.name, resolved(statement.value, inner)
            return
        for _ in reader.read([statement]):
            pass


def _parameters(node: Function, scope: Scope) -> Iterator[tuple[str, ast.expr]]:
    """Parameters whose value is known: by default, or the first that pytest is to give them."""
    arguments = node.args.args
    for argument, default in zip(reversed(arguments), reversed(node.args.defaults), strict=False):
        if not (isinstance(default, ast.Constant) and default.value is None):
            yield argument.arg, default
    for mark in node.decorator_list:
        if not (isinstance(mark, ast.Call) and dotted(mark.func).endswith(".parametrize")):
            continue
        if len(mark.args) < 2 or not isinstance(mark.args[0], ast.Constant):
            continue
        rows = mark.args[1]
        if not isinstance(rows, (ast.List, ast.Tuple)) or not rows.elts:
            continue
        names = [part.strip() for part in str(mark.args[0].value).split(",")]
        first = rows.elts[0]
        if isinstance(first, ast.Call) and dotted(first.func) == "pytest.param":
            values = first.args
        elif len(names) > 1 and isinstance(first, (ast.Tuple, ast.List)):
            values = first.elts
        else:
            values = [first]
        yield from zip(names, values, strict=False)


class _Reader:
    """Goes through the statements of one scope in their order."""

    def __init__(self, scope: Scope, entry: Entry, name: str) -> None:
        self.scope = scope
        self.entry = entry
        self.name = name
        self.instances: dict[str, Call] = {}
        self.groups: dict[str, str] = {}
        """Parsers by the names of groups of their options."""

    def instances_of_self(self) -> dict[str, Call]:
        """What is kept on ``self``, for the other methods of the class."""
        return {n: call for n, call in self.instances.items() if n.startswith("self.")}

    def read(self, body: list[ast.stmt]) -> Iterator[Example]:
        """The examples in these statements; names are bound on the way."""
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            blocks = [
                part
                for _, part in ast.iter_fields(statement)
                if isinstance(part, list) and part and isinstance(part[0], ast.stmt)
            ]
            for node in ast.iter_child_nodes(statement):
                if not isinstance(node, ast.stmt):
                    yield from self._calls(node)
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                self._bind(statement)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self._option(statement.value)
            for block in blocks:
                yield from self.read(block)
            for handler in getattr(statement, "handlers", ()):
                yield from self.read(handler.body)

    def _bind(self, statement: ast.Assign | ast.AnnAssign) -> None:
        if statement.value is None:
            return
        single = isinstance(statement, ast.AnnAssign)
        targets = [statement.target] if single else statement.targets  # type: ignore[union-attr]
        for target in targets:
            self._name(target, statement.value)

    def _option(self, call: ast.Call) -> None:
        """``parser.add_argument("--width", type=int, default=8)``"""
        parser, _, method = dotted(call.func).rpartition(".")
        if method != "add_argument" or not (option := option_of(call)):
            return
        name, given = option
        parser = self.groups.get(parser, parser)
        with contextlib.suppress(NotKnown):
            known = {name: resolved(given, self.scope)}
            self.scope.options[parser] = {**self.scope.options.get(parser, {}), **known}

    def _name(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, ast.Tuple) else []
            for at, part in enumerate(target.elts):
                if len(parts) == len(target.elts):
                    self._name(part, parts[at])
                elif isinstance(part, ast.Starred) or not isinstance(value, ast.Call):
                    self.scope.forget(dotted(part))
            if isinstance(value, ast.Call):
                self._unpack(target, value)
            return
        name = dotted(target)
        if not name:
            return
        if isinstance(value, ast.Call):
            holder, _, called = dotted(value.func).rpartition(".")
            if called == "ArgumentParser":
                self.scope.options[name] = {}
            elif called in ("add_argument_group", "add_mutually_exclusive_group"):
                self.groups[name] = self.groups.get(holder, holder)
        made = self._making(value)
        if made is not None:
            self.instances[name] = made
        else:
            self.instances.pop(name, None)
        try:
            self.scope.bind(name, resolved(value, self.scope))
        except NotKnown:
            self.scope.forget(name)
        else:
            self._keep_in_options(name)

    def _keep_in_options(self, name: str) -> None:
        """``args.cuda = not args.no_cuda``: an option like those of the parser."""
        holder, _, attribute = name.rpartition(".")
        kept = self.scope.names.get(holder)
        if kept is not None and is_options(kept):
            others = [word for word in kept.keywords if word.arg != attribute]
            new = ast.keyword(attribute, self.scope.names[name])
            self.scope.bind(holder, ast.Call(kept.func, [], [*others, new]))

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.Call) -> None:
        """``x, y = pair(8)``: ``x`` is ``pair(8)[0]``, so that it is known where that is."""
        spread = any(isinstance(part, ast.Starred) for part in target.elts)
        try:
            made = None if spread else resolved(value, self.scope)
        except NotKnown:
            made = None
        if isinstance(made, ast.Tuple) and len(made.elts) == len(target.elts):
            self._all_of(target, list(made.elts))
        elif made is None or len(ast.unparse(made)) > LONGEST:
            self._all_of(target, [None] * len(target.elts))
        else:
            self._all_of(
                target,
                [
                    ast.Subscript(made, ast.Constant(at), ast.Load())
                    for at in range(len(target.elts))
                ],
            )

    def _all_of(self, target: ast.Tuple | ast.List, made: Sequence[ast.expr | None]) -> None:
        for part, value in zip(target.elts, made, strict=True):
            if value is None:
                self.scope.forget(dotted(part))
            elif name := dotted(part):
                self.scope.bind(name, value)

    def _making(self, node: ast.expr) -> Call | None:
        """The constructor's call in ``Net(8).to(device).eval()``."""
        while isinstance(node, ast.Call):
            if dotted(node.func).rpartition(".")[2] == self.name:
                return self._arguments(node) if self.entry.owner else None
            if not isinstance(node.func, ast.Attribute):
                return None
            node = node.func.value
        return self.instances.get(dotted(node))

    def _calls(self, node: ast.AST) -> Iterator[Example]:
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            callee = dotted(call.func)
            last = callee.rpartition(".")[2]
            if not self.entry.owner:
                if last == self.name:
                    yield Example(called=self._arguments(call))
                continue
            if last == self.name:
                yield Example(made=self._arguments(call))
            method = self.entry.function
            if method == "forward" or method == "__call__":
                made = self._making(call.func)
                if made is not None:
                    yield Example(made, self._arguments(call))
            elif isinstance(call.func, ast.Attribute) and call.func.attr == method:
                yield Example(self._making(call.func.value), self._arguments(call))

    def _arguments(self, call: ast.Call) -> Call:
        positional: list[Value | None] = []
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                break
            positional.append(value_of(argument, self.scope))
        named = (
            (keyword.arg, value_of(keyword.value, self.scope))
            for keyword in call.keywords
            if keyword.arg is not None
        )
        return Call(
            tuple(positional), tuple((name, value) for name, value in named if value is not None)
        )
