"""Python functions of torch, run with the function mode active in their bodies.

A function that asks ``has_torch_function`` hands itself to the mode; a copy of it without that
question lets the mode see what its body calls.
"""

from __future__ import annotations

import sys
import types as python_types
from collections.abc import Callable, Iterable
from typing import Any

import torch

from runtime_guard.core.torch_internals import (
    FunctionHook,
    function_mode_count,
    function_mode_stack,
)

OVERRIDE_CHECKS = frozenset(
    {"has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"}
)
DEVICE_KEYWORDS = ("device", "generator", "pin_memory")


class _LiveGlobals(dict[str, Any]):
    """A module's globals as they are now, with the override checks answering no.

    In its private functions, too: ``_unique_impl`` of torch 2.4 asks the mode about ``unique``,
    whose body is what runs.
    """

    def __init__(self, globals_: dict[str, Any]) -> None:
        super().__init__()
        self._globals = globals_
        self["__builtins__"] = globals_.get("__builtins__", __builtins__)
        for name in OVERRIDE_CHECKS:
            if name in globals_:
                self[name] = _never

    def __missing__(self, key: str) -> Any:
        value = self._globals[key]
        if type(value) is python_types.FunctionType and key.startswith("_"):
            return body_of(value) or value
        return value


def _never(*_: object) -> bool:
    return False


_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter, type(None), int, float, bool})


def override_checks(module: Any, handlers: Iterable[Any]) -> dict[str, Callable[..., bool]]:
    """What stands for ``has_torch_function`` and its siblings in a module of torch.

    For our mode alone its functions need not hand themselves over, which costs more than most of
    them do: what they call asks us.  Those that have a handler do, and where a subclass or another
    mode has to be asked all do.
    """
    codes = {id(code) for code in map(_code_of, handlers)}
    answered = set(handlers)
    hands_over: dict[int, bool] = {}
    """Code by its identity: does it hand over a function that has a handler?"""

    def asks_handler(code: Any) -> bool:
        known = hands_over.get(id(code))
        if known is None:  # `torch.meshgrid` is handed over by a helper
            named = [vars(module).get(name) for name in code.co_names]
            known = hands_over[id(code)] = id(code) in codes or any(
                type(function) is python_types.FunctionType and function in answered
                for function in named
            )
        return known

    def check(real: Callable[..., bool], packed: bool) -> Callable[..., bool]:
        def asks(*tensors: Any) -> bool:
            if (
                function_mode_count() == 1
                and _PLAIN.issuperset(map(type, tensors[0] if packed else tensors))
                and not asks_handler(sys._getframe(1).f_code)
            ):
                return not isinstance(function_mode_stack()[0], FunctionHook)
            return real(*tensors)

        return asks

    return {
        name: check(getattr(module, name), name == "has_torch_function")
        for name in OVERRIDE_CHECKS
        if hasattr(module, name)
    }


_bodies: dict[Any, Any] = {}


def _closure_of_body(func: Any) -> Any:
    """The closure of ``func``, for its body.

    ``F.max_pool2d`` and its siblings choose between two functions in their closure, each of which
    would ask the mode about the very function that is running.
    """
    if func.__globals__.get("__name__") != "torch._jit_internal":
        return func.__closure__
    contents = [cell.cell_contents for cell in func.__closure__ or ()]
    return tuple(
        python_types.CellType((body_of(c) or c) if type(c) is python_types.FunctionType else c)
        for c in contents
    )


def body_of(func: Any) -> Any | None:
    """A copy of a Python function of torch without its ``has_torch_function`` check.

    So its body can run with the mode active: ``F.multi_head_attention_forward``, ``repr`` or
    ``Tensor.backward`` (with it hooks, custom functions, checkpoints) see the virtual machine too.
    None for functions that have no such check.
    """
    body = _bodies.get(func, _bodies)
    if body is _bodies:
        body = None
        closure = _closure_of_body(func)
        if closure is not func.__closure__ or (
            OVERRIDE_CHECKS.intersection(func.__code__.co_names)
            and OVERRIDE_CHECKS.intersection(func.__globals__)
        ):
            body = python_types.FunctionType(
                func.__code__,
                _LiveGlobals(func.__globals__),
                func.__name__,
                func.__defaults__,
                closure,
            )
            body.__kwdefaults__ = func.__kwdefaults__
        _bodies[func] = body
    return body


LAYERS = frozenset({"torch.nn.functional"})
"""Whose functions call nothing of the program's: ``Tensor.backward`` calls its hooks."""
_asks: dict[Any, bool] = {}


def asks_about_devices(func: Any, handled: frozenset[str]) -> bool:
    """Does the body of a Python function of torch use a name that a handler answers to, itself or
    in a function that it calls?

    ``F.layer_norm`` and ``F.dropout`` do not: they pass on to C++, and nothing is lost if what they
    call is seen as operations only.
    """
    known = _asks.get(func)
    if known is None:
        _asks[func] = False  # until it is known: functions call themselves
        known = _asks[func] = (
            func.__closure__ is not None
            or any("Callable" in str(kind) for kind in func.__annotations__.values())
            or _code_asks(func.__code__, func.__globals__, handled)
        )
    return known


def _code_asks(code: Any, globals_: dict[str, Any], handled: frozenset[str]) -> bool:
    if not handled.isdisjoint(code.co_names):
        return True
    for constant in code.co_consts:
        if isinstance(constant, tuple) and not handled.isdisjoint(constant):
            return True  # the names of keywords
        if isinstance(constant, python_types.CodeType) and _code_asks(constant, globals_, handled):
            return True
    names = set(code.co_names) - OVERRIDE_CHECKS - {"handle_torch_function"}
    called = (globals_.get(name) or getattr(torch, name, None) for name in names)
    return any(
        asks_about_devices(function, handled)
        for function in called
        if type(function) is python_types.FunctionType
    )


def _code_of(function: Any) -> Any:
    """The code of a function in Python, or of a property's ``__get__``; None of those in C++."""
    described = getattr(function, "__self__", None)
    return getattr(
        described.fget if isinstance(described, property) else function, "__code__", None
    )


def names_of(handlers: Iterable[Any]) -> frozenset[str]:
    """What code calls the functions and attributes that have a handler."""
    names = set(DEVICE_KEYWORDS)
    for function in handlers:
        name = getattr(function, "__name__", str(function))
        if name in ("__get__", "__set__"):
            described: Any = function.__self__
            getter: Any = described.fget if isinstance(described, property) else described
            name = getter.__name__
        names.add(name)
    return frozenset(names)
