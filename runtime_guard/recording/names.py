"""What the user calls a tensor: a variable, what one holds, or the text of an operator's side.

``self.weights``, ``batch["ids"]``, ``self.model.head.bias``, ``weight.grad``; in
``x * mask.float()`` the side that has no name is called ``mask.float()``.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

import torch

from runtime_guard.core.sites import expression_of
from runtime_guard.core.torch_internals import disable_torch_function

_MOST = 100
"""What holds more than this is data, and is not searched."""
_DEEPEST = 2
_AT_MOST = 20_000
"""So many values of a frame are looked at: a message has to be told in the end."""
_LONGEST = 60
"""A text beyond this is no name any more."""
_WRITTEN = frozenset({str, bytes, int, float, bool, type(None)})
_SLOTS = ("_parameters", "_buffers", "__dict__")
_OWN = frozenset(vars(torch.nn.Module()))
"""The attributes in which a module keeps its state and its hooks."""


def names_of(tensors: Sequence[torch.Tensor], frames: Sequence[FrameType]) -> list[str | None]:
    """What the user's innermost frames call each of ``tensors``, the operands of one operation.

    Beside an operator what is written there counts when no name stands for the very object, and at
    last a name of another tensor object on the same storage (a view, a transposed weight).
    """
    names = [_name_in(frames, tensor, _is_same) for tensor in tensors]
    if None in names and len(names) == 2 and frames:
        sides = sides_of_operator(frames[0]) or (None, None)
        names = [name or side for name, side in zip(names, sides, strict=True)]
    return [
        name or _name_in(frames, tensor, _shares_storage)
        for name, tensor in zip(names, tensors, strict=True)
    ]


def _name_in(
    frames: Sequence[FrameType], tensor: torch.Tensor, same: Callable[[Any, torch.Tensor], bool]
) -> str | None:
    for frame in frames[:3]:
        for name, value in itertools.islice(_names(frame), _AT_MOST):
            if same(value, tensor):
                return name
    return None


def _names(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """What a frame's variables are, then what they hold, then what that holds."""
    for depth in range(_DEEPEST + 1):
        for name, value in variables(frame).items():
            yield from _below(name, value, depth)


def variables(frame: FrameType) -> dict[str, Any]:
    """The local variables of a frame."""
    try:
        return dict(frame.f_locals)
    except Exception:
        return {}


def _is_a(value: Any, *kinds: type) -> bool:
    """By its type alone: ``isinstance`` asks an object for its class, too, and a proxy answers by
    running code."""
    return issubclass(type(value), kinds)


def _is_same(candidate: Any, tensor: torch.Tensor) -> bool:
    return candidate is tensor


def _shares_storage(candidate: Any, tensor: torch.Tensor) -> bool:
    if not _is_a(candidate, torch.Tensor):
        return False
    try:
        return candidate.untyped_storage() is tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False


def _below(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """What lies ``depth`` steps below ``value``, which is ``name``; all of a module's state is one
    step away."""
    if depth == 0:
        yield name, value
    elif depth == 1 and _is_a(value, torch.nn.Module):
        yield from ((f"{name}.{path}", item) for path, item in _in_module(value))
    else:
        for step, item in _held(value):
            yield from _below(name + step, item, depth - 1)


def _in_module(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for prefix, child in module.named_modules():
        for slot in _SLOTS:
            held = vars(child) if slot == "__dict__" else vars(child).get(slot, {})
            for key, value in held.items():
                yield (f"{prefix}.{key}" if prefix else str(key)), value


def _held(value: Any) -> Iterator[tuple[str, Any]]:
    """What ``value`` holds, each with the step that leads there."""
    if _is_a(value, torch.Tensor):
        with disable_torch_function():
            if value.is_leaf and value.grad is not None:
                yield ".grad", value.grad
    elif _is_a(value, dict):
        if len(value) <= _MOST:
            yield from ((f"[{k!r}]", item) for k, item in list(value.items()) if _is_plain(k))
    elif _is_a(value, list, tuple):
        if len(value) <= _MOST:
            fields = getattr(type(value), "_fields", ())
            names = itertools.chain((f".{field}" for field in fields), itertools.repeat(""))
            for position, (name, item) in enumerate(zip(names, list(value), strict=False)):
                yield name or f"[{position}]", item
    elif not _is_a(value, type, ModuleType):
        own = _OWN if _is_a(value, torch.nn.Module) else ()
        yield from ((f".{key}", item) for key, item in _attributes(value) if key not in own)


def _is_plain(key: Any) -> bool:
    """Can a key be written?  An optimizer's state has tensors for keys."""
    if type(key) is tuple:
        return all(map(_is_plain, key))
    return type(key) in _WRITTEN


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """The attributes of an object itself, without running any code of its class."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return list(found.items()) if type(found) is dict and len(found) <= _MOST else []


def sides_of_operator(frame: FrameType) -> tuple[str, str] | None:
    """What is written on both sides of the operator that ``frame`` is at, for operators that are
    one point-wise operation: ``x * mask.float()``, ``x += y``, ``x < y``."""
    place = expression_of(frame)
    if place is None:
        return None
    text = _text(frame, *place)
    try:
        (statement,) = ast.parse(f"({text})").body
    except (SyntaxError, ValueError):
        try:
            (statement,) = ast.parse(text).body
        except (SyntaxError, ValueError):
            return None
    sides = _sides(statement.value if isinstance(statement, ast.Expr) else statement)
    texts = [" ".join(ast.unparse(side).split()) for side in sides or ()]
    if len(texts) != 2 or max(map(len, texts)) > _LONGEST:
        return None
    return texts[0], texts[1]


def _text(frame: FrameType, line: int, column: int, end_line: int, end_column: int) -> str:
    """The source of a place; columns count bytes."""
    lines = [
        linecache.getline(frame.f_code.co_filename, number, frame.f_globals).encode()
        for number in range(line, end_line + 1)
    ]
    lines[-1] = lines[-1][: end_column - 1]
    lines[0] = lines[0][column - 1 :]
    return textwrap.dedent(b"".join(lines).decode(errors="replace")).strip()


def _sides(node: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.AugAssign) and not isinstance(node.op, ast.MatMult):
        return node.target, node.value
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return node.left, node.comparators[0]
    return None
