"""An expression of other code, written so that it stands for itself in a witness.

In ``n = 4`` and ``Net(n, torch.randn(2, n).cuda(), Config(dim=n))`` the arguments read
``4``, ``torch.rand(2, 4, device=card)`` and ``pkg.config.Config(dim=4)``: names are replaced by
what they stand for, what is imported by its full name, and what is made is made on the card.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeGuard

import torch
from torch.utils._device import _device_constructors

from runtime_guard.drive.names import by_name, is_device
from runtime_guard.drive.uses import dotted
from runtime_guard.drive.values import Options, Tensor, Text, Value

LONGEST = 500
"""Characters of an expression."""


class NotKnown(ValueError):
    """The expression needs what only a run would tell."""


@dataclass(frozen=True)
class Imported:
    """What a name is imported from: a module, or an attribute of one."""

    module: str
    attribute: str = ""


@dataclass
class Scope:
    """What names stand for at some place."""

    imports: dict[str, Imported] = field(default_factory=dict)
    names: dict[str, ast.expr] = field(default_factory=dict)
    """By dotted name; the expressions stand for themselves."""
    returns: dict[str, ast.expr] = field(default_factory=dict)
    """What functions of the file return that take nothing."""
    options: dict[str, dict[str, ast.expr]] = field(default_factory=dict)
    """By the name of a parser of arguments: its options, with what stands for them."""

    def inner(self) -> Scope:
        """For a function inside."""
        return Scope(self.imports, dict(self.names), self.returns, dict(self.options))

    def of_self(self) -> Scope:
        """What is kept on ``self``, for the other methods of the class."""
        kept = {name: made for name, made in self.names.items() if name.startswith("self.")}
        return Scope(self.imports, kept, self.returns, self.options)

    def bind(self, name: str, made: ast.expr) -> None:
        """``name`` stands for ``made`` from here on."""
        self.names[name] = made

    def forget(self, name: str) -> None:
        """Note that nobody knows what ``name`` stands for from here on, an import's neither."""
        self.names.pop(name, None)
        if name in self.imports:
            self.imports = {known: made for known, made in self.imports.items() if known != name}

    def update(self, given: Iterable[tuple[str, ast.expr]]) -> None:
        """Bind what is known of these."""
        for name, expression in list(given):
            try:
                self.bind(name, resolved(expression, self))
            except NotKnown:  # of the same name in the module perhaps
                self.forget(name)


def imports_of(tree: ast.Module, module: str = "") -> dict[str, Imported]:
    """What the file ``module`` imports, by the name it has there."""
    found: dict[str, Imported] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found[alias.asname] = Imported(alias.name)
                else:
                    first = alias.name.partition(".")[0]
                    found[first] = Imported(first)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level]
                source = ".".join([*above, *filter(None, [source])])
            for alias in node.names:
                if source and alias.name != "*":
                    found[alias.asname or alias.name] = Imported(source, alias.name)
    return found


def value_of(expression: ast.expr, scope: Scope) -> Value | None:
    """``expression`` as an argument of a witness; None where that is not known."""
    try:
        made = resolved(expression, scope)
    except NotKnown:
        return None
    return _value(made)


def _value(made: ast.expr) -> Value | None:
    tensor = _tensor(made)
    if tensor is not None:
        return tensor
    if is_options(made):
        known = ((word.arg, _value(word.value)) for word in made.keywords)
        return Options(tuple((name, value) for name, value in known if name and value))
    text = ast.unparse(made)
    if len(text) > LONGEST:
        return None
    return Text(text, tuple(dict.fromkeys(_modules_in(made))))


def resolved(expression: ast.expr, scope: Scope) -> ast.expr:
    """A copy that needs nothing but modules and ``card``.  Raises ``NotKnown``."""
    made: ast.expr = _Resolver(scope).visit(copy.deepcopy(expression))
    return made


def _modules_in(made: ast.expr) -> Iterator[str]:
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and hasattr(node, "module"):
            yield node.module


_BUILTINS = frozenset(
    {"abs", "bool", "complex", "dict", "enumerate", "float", "frozenset", "int", "len", "list"}
    | {"max", "min", "object", "range", "reversed", "round", "set", "slice", "sorted", "str"}
    | {"sum", "tuple", "zip"}
)
_ALLOWED = (
    ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Set,
    ast.Dict, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Slice, ast.Starred,
    ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.comprehension, ast.Lambda, ast.arguments,
    ast.arg, ast.IfExp, ast.BoolOp, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
    ast.expr_context,
)  # fmt: skip


class _Resolver(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.bound: set[str] = set()

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, _ALLOWED):
            raise NotKnown(type(node).__name__)
        return super().visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str) and node.value.partition(":")[0] in ("cpu", "cuda"):
            return _card()
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.bound:
            return node
        if node.id in self.scope.names:
            return copy.deepcopy(self.scope.names[node.id])
        if node.id in self.scope.imports:
            return _imported(self.scope.imports[node.id])
        if node.id in _BUILTINS and hasattr(builtins, node.id):
            return node
        if is_device(node.id):
            return _card()
        raise NotKnown(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = dotted(node)
        if name in self.scope.names:
            return copy.deepcopy(self.scope.names[name])
        if node.attr == "cpu":
            raise NotKnown("it is on the host on purpose")
        made: ast.expr = self.generic_visit(node)  # type: ignore[assignment]
        if is_options(node.value):
            given = {word.arg: word.value for word in node.value.keywords}
            if node.attr not in given:
                raise NotKnown(name)
            return copy.deepcopy(given[node.attr])
        return _card() if node.attr == "device" and dotted(made) != "torch.device" else made

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._bound_by(node, [part.target for part in node.generators])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._bound_by(node, [part.target for part in node.generators])

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._bound_by(node, [part.target for part in node.generators])

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        more = [part for part in (node.args.vararg, node.args.kwarg) if part is not None]
        return self._bound_by(node, [ast.Name(part.arg) for part in (*every, *more)])

    def _bound_by(self, node: ast.expr, targets: Iterable[ast.expr]) -> ast.expr:
        names = {
            part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
        }
        new = names - self.bound
        self.bound |= new
        try:
            return self.generic_visit(node)  # type: ignore[return-value]
        finally:
            self.bound -= new

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """With what it makes on the card, and without moves, which that makes needless."""
        function = node.func
        if isinstance(function, ast.Name) and function.id in self.scope.returns:
            if node.args or node.keywords:
                raise NotKnown(function.id)
            return copy.deepcopy(self.scope.returns[function.id])
        if isinstance(function, ast.Attribute) and function.attr in _PARSING:
            return self._parsed(dotted(function.value), function.attr)
        if isinstance(function, ast.Attribute) and _moves(node, function):
            return self.visit(function.value)  # type: ignore[no-any-return]
        node = self.generic_visit(node)  # type: ignore[assignment]
        name = dotted(node.func)
        if name == "torch.device":
            return _card()
        if name.startswith("torch."):
            return _of_torch(name, node)
        for word in node.keywords:
            if word.arg == "device":
                word.value = _card()
        return _put(node) if _makes_a_module(node.func) else node

    def _parsed(self, parser: str, method: str) -> ast.expr:
        """What a parser makes of a command without arguments."""
        if parser not in self.scope.options:
            raise NotKnown(parser)
        made = ast.parse("types.SimpleNamespace()", mode="eval").body
        assert isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute)
        made.func.value.module = "types"  # type: ignore[attr-defined]
        given = copy.deepcopy(self.scope.options[parser])
        made.keywords = [ast.keyword(name, value) for name, value in given.items()]
        return made if method == "parse_args" else ast.Tuple([made, ast.List([], ast.Load())])


_PARSING = frozenset({"parse_args", "parse_known_args"})


def is_options(made: ast.expr) -> TypeGuard[ast.Call]:
    """Is it what a parser of arguments gives?"""
    return isinstance(made, ast.Call) and dotted(made.func) == "types.SimpleNamespace"


def option_of(call: ast.Call) -> tuple[str, ast.expr] | None:
    """``parser.add_argument("--no-cuda", action="store_true")`` -> ``no_cuda``, ``False``.

    What has no default is the first of its choices, or what its name and its type say."""
    words = {word.arg: word.value for word in call.keywords}
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if not flags:
        return None
    long = [flag for flag in flags if flag.startswith("--")] or flags
    name = long[0].lstrip("-").replace("-", "_")
    if isinstance(given := words.get("dest"), ast.Constant):
        name = str(given.value)
    if not name.isidentifier():
        return None
    action = words.get("action")
    if "default" in words:
        return name, words["default"]
    if isinstance(action, ast.Constant) and action.value in ("store_true", "store_false"):
        return name, ast.Constant(action.value == "store_false")
    choices = words.get("choices")
    if isinstance(choices, (ast.List, ast.Tuple)) and choices.elts:
        return name, choices.elts[0]
    required = isinstance(words.get("required"), ast.Constant) or not flags[0].startswith("-")
    kind = dotted(words["type"]) if "type" in words else "str"
    if not required or kind not in ("int", "float", "str"):
        return name, ast.Constant(None)
    fitting = (v.source for v in by_name(name) if isinstance(v, Text))
    plain = (text for text in fitting if (text[:1] == '"') == (kind == "str") and text[:1] != "t")
    text = next(plain, {"int": "8", "float": "0.5"}.get(kind, '"witness-file"'))
    return name, ast.parse(text, mode="eval").body


def _moves(node: ast.Call, function: ast.Attribute) -> bool:
    """Is it ``x.cuda()`` or ``x.to(device)``, and not ``x.to(torch.half)``?"""
    if function.attr not in ("cuda", "to") or dotted(function).startswith("torch."):
        return False
    asked = [*node.args, *(word.value for word in node.keywords if word.arg == "dtype")]
    return function.attr == "cuda" or not any(map(_is_dtype, asked))


def _of_torch(name: str, node: ast.Call) -> ast.expr:
    short = name.removeprefix("torch.")
    if short in _factories():
        node.keywords = [word for word in node.keywords if word.arg != "device"]
        node.keywords.append(ast.keyword("device", ast.Name("card")))
        return node
    if short.endswith("Tensor") or short in ("from_numpy", "load"):
        word = ast.keyword("device", ast.Name("card"))
        return ast.Call(ast.parse("torch.as_tensor", mode="eval").body, [node], [word])
    return _put(node) if _makes_a_module(node.func) else node


@cache
def _factories() -> frozenset[str]:
    """Functions of torch that take a ``device``."""
    return frozenset(
        f.__name__ for f in _device_constructors() if hasattr(torch, getattr(f, "__name__", " "))
    )


def _card() -> ast.expr:
    return ast.parse("torch.device(card)", mode="eval").body


def _put(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(node, "to"), [ast.Name("card")], [])


def _is_dtype(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(
        getattr(torch, node.attr, None), torch.dtype
    )


def _imported(what: Imported) -> ast.expr:
    """``pkg.config.Config``, marked with the module that it needs."""
    module, _, _ = what.module.partition(".")
    if what.module == "torch" and not what.attribute:
        return ast.Name("torch")
    path = ".".join(filter(None, (what.module, what.attribute)))
    made = ast.parse(path, mode="eval").body
    needed = what.module
    if what.attribute and _is_module(path):
        needed = path
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and module != "torch":
            node.module = needed  # type: ignore[attr-defined]
    return made


@cache
def _found(path: str) -> Any:
    """What a dotted name stands for; None for what cannot be imported."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
            for name in parts[count:]:
                found = getattr(found, name)
        except Exception:  # an import runs anybody's code
            continue
        return found
    return None


def _is_module(path: str) -> bool:
    return isinstance(_found(path), type(torch))


def _makes_a_module(function: ast.expr) -> bool:
    path = dotted(function)
    if "." not in path:
        return False
    found = _found(path)
    return isinstance(found, type) and issubclass(found, torch.nn.Module)


def _tensor(made: ast.expr) -> Tensor | None:
    """Random tensors as such, so that other sizes can be tried."""
    if not isinstance(made, ast.Call) or any(word.arg != "device" for word in made.keywords):
        return None
    name = dotted(made.func)
    try:
        values = [ast.literal_eval(argument) for argument in made.args]
    except ValueError:
        return None
    if name in ("torch.randn", "torch.rand"):
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = list(values[0])
        if all(isinstance(size, int) for size in values):
            return Tensor("float", tuple(values))
    elif name == "torch.randint" and len(values) in (2, 3):
        *ends, sizes = values
        from_zero = len(ends) == 1 or ends[0] == 0
        sized = isinstance(sizes, (tuple, list))
        if from_zero and sized and all(isinstance(n, int) for n in (*ends, *sizes)):
            return Tensor("long", tuple(sizes), ends[-1])
    return None
