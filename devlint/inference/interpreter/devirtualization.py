"""Devirtualization: a method that one class in sight has, of an object whose class is not."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.module_places import placed
from devlint.inference.program.declarations import classes_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import dotted
from devlint.inference.syntax.words import names_module


def method_of_only_class(frame: Frame, base: Value, func: cst.Attribute) -> FunctionValue | None:
    """A method of what a caller hands in as a model, of which one class of the file has one of this
    name: `model.init_hidden(n)`."""
    name, knowledge = func.attr.value, frame.unit.context.knowledge
    if not classes_of(frame.unit) or name in knowledge.methods or name in MOVING_METHODS:
        return None
    if not _is_open_model(base, func.value):
        return None
    assert isinstance(base, (Instance, Tensor))
    place, origin = placed(frame, base) if type(base) is Instance else (base.place, base.origin)
    found = {
        function: info
        for info in classes_of(frame.unit)
        if info.is_module and (function := info.method(name)) is not None
    }
    if len(found) != 1:
        return None
    ((function, info),) = found.items()
    if function.is_property or function.is_abstract:
        return None
    bound = Instance(info, "", True, place, origin)
    return FunctionValue(function, None if function.is_static else bound)


def _is_open_model(value: Value, node: cst.BaseExpression) -> bool:
    """A module of a class out of sight, by its use or by its name; no part of another one."""
    if type(value) is Instance:
        return value.module and value.info is None and not value.library and value.parent is None
    if type(value) is not Tensor or value.evidence is None or value.evidence.is_tensor:
        return False
    is_named = names_module(dotted(node).rpartition(".")[2])
    return value.place is not None and (value.evidence.effects.in_place or is_named)
