"""Device contracts on real tensors: what ``devlint.contracts`` declares, checked as a program runs.

``check_contracts`` checks one function or class wherever it is called; inside a
``DeviceGuard(on_contract=...)`` every function of the user's that has a contract is checked.
Nothing is looked at otherwise: a contract by itself costs nothing.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import linecache
import sys
import threading
import tokenize
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import torch

from devlint.contracts import (
    RETURN,
    SELF,
    ContractError,
    On,
    Requirement,
    SameDevice,
    is_contract_comment,
    parse_comment,
    requirement_in,
)
from runtime_guard.core.sites import Site, is_users
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind
from runtime_guard.recording.explanation import explain_operands, with_explanation
from runtime_guard.recording.observers import DevicePolicyWarning

__tracebackhide__ = True  # pytest shows the user's frames only

MAX_DEPTH = 4
"""How deep tensors are looked for in lists, tuples and dicts."""

Target = TypeVar("Target", bound=Callable[..., Any])


class BrokenContract(RuntimeError):
    """A value is on another device than its annotation or comment declares."""


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


# ----------------------------------------------------------------- reading


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


def _evaluated(hint: Any, namespace: Mapping[str, Any], name: str) -> Any:
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
        declared = declared_by(_evaluated(hint, namespace, name))
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


def _signature_in(frame: types.FrameType) -> Signature | None:
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


# ----------------------------------------------------------------- checking


def _tensors(value: object, depth: int = MAX_DEPTH) -> Iterator[torch.Tensor]:
    """The tensors in a value; a module stands for its parameters and buffers."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, torch.nn.Module):
        yield from value.parameters()
        yield from value.buffers()
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item, depth - 1)
    elif depth and isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _tensors(item, depth - 1)


def _check(
    said: str, value: object, declared: Declared, arguments: Mapping[str, Any], site: Site
) -> None:
    if declared.parts:
        if isinstance(value, tuple) and len(value) == len(declared.parts):
            for number, (item, part) in enumerate(zip(value, declared.parts, strict=True)):
                if part is not None:
                    _check(f"part {number} of {said}", item, part, arguments, site)
        return
    requirement = declared.requirement
    for tensor in _tensors(value):
        device = tensor.device
        if device.type == "meta":
            continue  # it is nowhere yet
        if isinstance(requirement, On):
            if not requirement.accepts(device.type, device.index):
                wanted = f"on {requirement.device}"
                _object(said, tensor, device, wanted, requirement.device, [], requirement, site)
                return
        elif isinstance(requirement, SameDevice):
            for name in requirement.names:
                other = _device_of(arguments.get(name))
                if other is not None and other != device and other.type != "meta":
                    wanted = f"on the same device as `{name}`, which is on {other}"
                    others = list(_tensors(arguments[name]))[:1]
                    _object(said, tensor, device, wanted, str(other), others, requirement, site)
                    return


def _device_of(value: object) -> torch.device | None:
    """Where a tensor, the first of several, a module or a device is."""
    if isinstance(value, torch.device):
        return value if value.type == "cpu" or value.index is not None else None
    return next((tensor.device for tensor in _tensors(value)), None)


def _object(
    said: str,
    tensor: torch.Tensor,
    device: torch.device,
    wanted: str,
    target: str,
    others: list[torch.Tensor],
    requirement: Requirement,
    site: Site,
) -> None:
    sentence = f"Expected {said} to be {wanted}, but found it on {device}!"
    operands = [tensor, *others]
    explanation = explain_operands(operands, [said.split("`")[1] if "`" in said else said, "other"])
    explanation += f"; declared {requirement} at {site}"
    observers.problem(
        Kind.CONTRACT,
        said,
        sentence,
        source=str(device),
        target=target,
        operands=operands,
        declared=(site,),
    )
    policy = observers.contract_policy()
    if policy == "raise":
        raise BrokenContract(with_explanation(sentence, explanation))
    if policy == "warn":
        warnings.warn(f"{sentence} {explanation}", DevicePolicyWarning, stacklevel=4)


def _check_arguments(signature: Signature, arguments: Mapping[str, Any]) -> None:
    for name, declared in signature.parameters.items():
        if name in arguments:
            said = f"parameter `{name}` of `{signature.name}`"
            _check(said, arguments[name], declared, arguments, signature.site)


def _check_result(signature: Signature, result: object, arguments: Mapping[str, Any]) -> None:
    if signature.result is not None:
        said = f"the result of `{signature.name}`"
        _check(said, result, signature.result, arguments, signature.site)


# ----------------------------------------------------------------- the decorator


def check_contracts(target: Target) -> Target:
    """Decorate a function, or a class with all its methods and declared attributes.

    Its contracts are checked at each call, return and assignment to an attribute.  A broken one
    raises ``BrokenContract``; inside a ``DeviceGuard`` that says otherwise (``on_contract``), it is
    recorded.  Raises ``TypeError`` for what is neither.
    """
    if isinstance(target, type):
        _check_class(target)
        return cast(Target, target)
    if not isinstance(target, types.FunctionType):
        raise TypeError(f"check_contracts: expected a function or a class, not {target!r}")
    return cast(Target, _checked(target))


def _checked(function: types.FunctionType) -> Callable[..., Any]:
    read: list[Signature] = []  # once it is called: annotations may name what comes later

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not read:
            read.append(signature_of(function))
        signature = read[0]
        if not signature:
            return function(*args, **kwargs)
        arguments = {**dict(zip(signature.positional, args, strict=False)), **kwargs}
        _check_arguments(signature, arguments)
        result = function(*args, **kwargs)
        _check_result(signature, result, arguments)
        return result

    wrapper.__devlint_checked__ = True  # type: ignore[attr-defined]
    return wrapper


def _check_class(owner: type) -> None:
    for name, value in list(vars(owner).items()):
        if isinstance(value, types.FunctionType):
            setattr(owner, name, _checked(value))
        elif isinstance(value, (staticmethod, classmethod)):
            inner = value.__func__
            if isinstance(inner, types.FunctionType):
                setattr(owner, name, type(value)(_checked(inner)))
    if vars(owner).get("__annotations__"):
        _watch_attributes(owner)


def _watch_attributes(owner: type) -> None:
    """Check what is assigned to the attributes that the class body declares."""
    module = sys.modules.get(owner.__module__)
    namespace = vars(module) if module is not None else {}
    declared: dict[str, Declared] = {}
    for name, hint in vars(owner)["__annotations__"].items():
        found = declared_by(_evaluated(hint, namespace, name))
        if found is not None and not isinstance(found.requirement, SameDevice):
            declared[name] = found
    if not declared:
        return
    line = inspect.getsourcelines(owner)[1] if module is not None else 0
    site = Site(str(getattr(module, "__file__", "<unknown>")), line, line, owner.__name__)
    before: Any = owner.__setattr__

    def assign(self: object, name: str, value: object) -> None:
        if name in declared:
            said = f"attribute `{name}` of `{owner.__name__}`"
            _check(said, value, declared[name], {SELF: self}, site)
        before(self, name, value)

    owner.__setattr__ = assign  # type: ignore[method-assign, assignment]


# ----------------------------------------------------------------- the guard


class Watch:
    """Checks the contracts of every function of the user's, by the interpreter's profile hook.

    It sees calls and returns of this thread, and of threads that start while it is there.  Of a
    generator or a coroutine only a decorated one is checked.
    """

    def __init__(self) -> None:
        # By identity: code objects of different files may be equal. Each entry keeps its own.
        self._known: dict[int, tuple[types.CodeType, Signature | None]] = {}
        self._before: list[tuple[Any, Any]] = []

    def __enter__(self) -> None:
        self._before.append((sys.getprofile(), threading.getprofile()))
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    def __exit__(self, *_: object) -> None:
        before, in_threads = self._before.pop()
        sys.setprofile(before)
        threading.setprofile(in_threads)

    def _see(self, frame: types.FrameType, event: str, result: object) -> None:
        if event not in ("call", "return"):
            return
        entry = self._known.get(id(frame.f_code))
        if entry is None:
            code = frame.f_code
            entry = self._known[id(code)] = (code, self._contracts(frame))
        signature = entry[1]
        if signature is None:
            return
        arguments = frame.f_locals
        if event == "call":
            _check_arguments(signature, arguments)
        elif result is not None:
            _check_result(signature, result, arguments)

    def _contracts(self, frame: types.FrameType) -> Signature | None:
        code = frame.f_code
        flags = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
        if code.co_flags & flags or not is_users(code.co_filename):
            return None
        try:
            return _signature_in(frame)
        except ContractError as error:
            warnings.warn(f"{code.co_name}: {error}", DevicePolicyWarning, stacklevel=3)
            return None


__all__ = ["BrokenContract", "Watch", "check_contracts", "signature_of"]
