"""What functions declare about devices: their annotations and comments, read."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import linecache
import tokenize
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from devlint.contracts import (
    RETURN,
    ContractError,
    Requirement,
    is_contract_comment,
    parse_comment,
    requirement_in,
)
from runtime_guard.core.sites import Site

MAX_DEPTH = 4
"""How deep tensors are looked for in lists, tuples and dicts, and contracts in types."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared of a value, or of the parts of a tuple."""

    requirement: Requirement | None
    parts: tuple[Declared | None, ...] = ()


@dataclass(slots=True)
class Signature:
    """The contracts of one function."""

    name: str
    site: Site
    positional: tuple[str, ...]
    parameters: dict[str, Declared] = field(default_factory=dict)
    result: Declared | None = None

    def __bool__(self) -> bool:
        return bool(self.parameters) or self.result is not None


def declared_by(hint: object, depth: int = MAX_DEPTH) -> Declared | None:
    """The contract in a type: inside ``Optional`` and containers it is of every tensor there."""
    if depth == 0:
        return None
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        requirement = requirement_in(inner[1:])
        if requirement is not None:
            return Declared(requirement)
    found = [declared_by(each, depth - 1) for each in inner if not isinstance(each, (str, list))]
    if origin is tuple and any(found) and Ellipsis not in inner:
        return Declared(None, tuple(found))
    return next((each for each in found if each is not None), None)


def evaluated(hint: Any, namespace: Mapping[str, Any], name: str) -> Any:
    """An annotation as an object.  Raises ``ContractError`` for a contract that has no value."""
    if isinstance(hint, typing.ForwardRef):
        hint = hint.__forward_arg__
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, dict(namespace))
    except ContractError:
        raise
    except Exception as error:
        if "On(" in hint or "SameDevice" in hint:
            raise ContractError(
                f"the annotation of `{name}` can't be evaluated: {error}"
            ) from error
        return None


def _definition(code: types.CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The ``def`` that a code object was compiled from, where its file can be read."""
    return _definitions(code.co_filename).get((code.co_firstlineno, code.co_name))


@functools.lru_cache(maxsize=256)
def _definitions(
    file: str,
) -> dict[tuple[int, str], ast.FunctionDef | ast.AsyncFunctionDef]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    return {
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name): node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


@functools.lru_cache(maxsize=256)
def _comments(file: str) -> dict[int, str]:
    """The contract comments of a file that stand behind something, by line."""
    text = "".join(linecache.getlines(file))
    if not is_contract_comment(text):
        return {}
    found = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line, column = token.start
            behind = token.line[:column].strip()
            if token.type == tokenize.COMMENT and behind and is_contract_comment(token.string):
                found[line] = token.string
    except (tokenize.TokenError, IndentationError):
        return {}
    return found


@functools.lru_cache(maxsize=4096)
def _names_devlint(file: str) -> bool:
    """Whether a file imports contracts, or has comments for us."""
    return any("devlint" in line for line in linecache.getlines(file))


def _has_aliases(namespace: Mapping[str, Any]) -> bool:
    """Whether a name stands for a type with a contract, as ``CudaTensor = Annotated[...]``."""
    return any(  # asks no value for its attributes: a lazy one would wake up
        type(value).__module__ in ("typing", "types") and declared_by(value) is not None
        for value in list(namespace.values())
    )


@functools.lru_cache(maxsize=4096)
def _holds_aliases(holder: types.ModuleType | type) -> bool:
    return _has_aliases(vars(holder))


def _may_have_contracts(file: str, namespace: Mapping[str, Any]) -> bool:
    """A quick look, so that no file is parsed where nothing can be declared.

    A contract stands where devlint is named, or where a type has it that this module knows by its
    name or as an attribute of a module or class.
    """
    return (
        _names_devlint(file)
        or _has_aliases(namespace)
        or any(
            _holds_aliases(value)
            for value in list(namespace.values())
            if type(value) in (types.ModuleType, type)
        )
    )


def _read_comments(
    signature: Signature, file: str, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> None:
    """The comments on the lines of the header: of the function, or of the parameter there."""
    comments = _comments(file)
    if not comments:
        return
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = {each.arg for each in parameters}
    by_line = {each.end_lineno: each.arg for each in parameters}
    body = node.body[0].lineno
    for line in range(node.lineno, max(body, node.lineno + 1)):
        if line not in comments:
            continue
        for name, requirement in parse_comment(comments[line]).items():
            spoken = name or by_line.get(line, "")
            if spoken == RETURN:
                signature.result = Declared(requirement)
            elif spoken in names:
                signature.parameters[spoken] = Declared(requirement)
            else:
                raise ContractError(f"{file}:{line}: there is no parameter `{spoken}`")


def _read(
    code: types.CodeType, hints: Mapping[str, Any], namespace: Mapping[str, Any]
) -> Signature:
    site = Site(code.co_filename, code.co_firstlineno, code.co_firstlineno, code.co_name)
    positional = code.co_varnames[: code.co_argcount]
    signature = Signature(code.co_name, site, positional)
    for name, hint in hints.items():
        declared = declared_by(evaluated(hint, namespace, name))
        if declared is None:
            continue
        if name == RETURN:
            signature.result = declared
        else:
            signature.parameters[name] = declared
    node = _definition(code)
    if node is not None:
        _read_comments(signature, code.co_filename, node)
    return signature


def signature_of(function: types.FunctionType) -> Signature:
    """The contracts of a function.  Raises ``ContractError`` for one that can't be understood."""
    closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
    namespace = {**function.__globals__, **closure}
    return _read(function.__code__, function.__annotations__, namespace)


def signature_in(frame: types.FrameType) -> Signature | None:
    """The contracts of the function that a frame runs; None when it has none."""
    code = frame.f_code
    if not _may_have_contracts(code.co_filename, frame.f_globals):
        return None
    node = _definition(code)
    if node is None:
        return None
    arguments = node.args
    hints: dict[str, str] = {}
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None:
            hints[each.arg] = _text(each.annotation)
    if node.returns is not None:
        hints[RETURN] = _text(node.returns)
    outer = {name: frame.f_locals[name] for name in code.co_freevars if name in frame.f_locals}
    signature = _read(code, hints, {**frame.f_globals, **outer})
    return signature or None


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node)
