"""Definitions: `def` and `lambda` become functions, their defaults are evaluated."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.value import Value
from devlint.inference.program.declarations import ClassInfo, Function, functions_of
from devlint.inference.program.events import DefaultEvaluated
from devlint.inference.program.frames import Frame, enclose
from devlint.inference.program.values import FunctionValue
from devlint.inference.syntax.text import dotted, plain_parameters


def declare_function(
    frame: Frame, node: cst.FunctionDef, info: ClassInfo | None = None
) -> FunctionValue:
    """A function definition: its defaults are evaluated now, its body later."""
    decorators = []
    for decorator in node.decorators:
        inner = decorator.decorator
        decorators.append(dotted(inner.func if isinstance(inner, cst.Call) else inner))
    function = Function(
        node=node,
        unit=frame.unit,
        around=frame.function,
        info=info,
        guarded=frame.control.guarded,
        defaults=_defaults(frame, node.params),
        decorators=tuple(decorators),
        name=node.name.value,
    )
    if frame.function is not None:
        enclose(function, frame)
    functions_of(frame.unit).append(function)
    return FunctionValue(function)


def lambda_value(frame: Frame, node: cst.Lambda) -> FunctionValue:
    function = Function(
        node=node,
        unit=frame.unit,
        around=frame.function,
        guarded=frame.control.guarded,
        defaults=_defaults(frame, node.params),
    )
    enclose(function, frame)
    functions_of(frame.unit).append(function)
    return FunctionValue(function)


def _defaults(frame: Frame, params: cst.Parameters) -> dict[str, Value]:
    found = {}
    for param in plain_parameters(params):
        if param.default is not None:
            found[param.name.value] = frame.eval(param.default)
            frame.emit(DefaultEvaluated(param.default))
    return found
