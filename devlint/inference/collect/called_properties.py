"""Properties of a tensor that are called: `x.is_cuda()`, `x.device()`.

Each is a value, `True` or a `torch.device`, and to call it raises `TypeError`. The law: what is
asked is a tensor, by what the function does with it, and no class of its own that has such methods.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.invalid_devices import note_mistake
from devlint.inference.conventions import found
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Mistake
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import FunctionReturns
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted, every, shorten

_PROPERTIES = ("is_cuda", "is_cpu", "device")


def of_function(frame: Frame, event: FunctionReturns) -> None:
    """Note the properties that a function calls."""
    function = event.function
    if not any(function.contains(f".{name}()") for name in _PROPERTIES):
        return
    for call in every(function.node, cst.Call):
        func = call.func
        if (
            isinstance(func, cst.Attribute)
            and func.attr.value in _PROPERTIES
            and not call.args
            and dotted(func.value)
            and _is_tensor(frame, function, func.value)
        ):
            note_mistake(frame, call, Mistake.CALLED, shorten(call), shorten(func))


def _is_tensor(frame: Frame, function: Function, owner: cst.BaseExpression) -> bool:
    """By where it comes from, or by what else the function does with it: no more than with one."""
    if not all(map(_is_shown, alternatives(frame.eval(owner)))):
        return False
    known = frame.unit.context.knowledge.methods
    called = found("called-method-of", function.text, dotted(owner))
    return all(method in known or method in _PROPERTIES for method in called)


def _is_shown(value: Value) -> bool:
    """A tensor; what is only known to have been moved, `graphs.compile(texts).to(device)`, may be
    anything that has a `to`."""
    if type(value) is not Tensor or not value.is_sure:
        return False
    return value.origin is None or value.origin.root.kind is not StepKind.MOVED
