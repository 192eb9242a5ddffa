"""``check_contracts``: one function, or all of a class, checked wherever it is called."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from devlint.contracts import SELF, SameDevice
from runtime_guard.contracts.checks import check, check_arguments, check_result
from runtime_guard.contracts.declarations import (
    Declared,
    Signature,
    declared_by,
    evaluated,
    signature_of,
)
from runtime_guard.core.sites import Site

__tracebackhide__ = True  # pytest shows the user's frames only

Target = TypeVar("Target", bound=Callable[..., Any])


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
        check_arguments(signature, arguments)
        result = function(*args, **kwargs)
        check_result(signature, result, arguments)
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
        found = declared_by(evaluated(hint, namespace, name))
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
            check(said, value, declared[name], {SELF: self}, site)
        before(self, name, value)

    owner.__setattr__ = assign  # type: ignore[method-assign, assignment]
