"""What a function knows of its parameters before anybody calls it."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found, holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import (
    ASSUMED,
    HOST,
    NONE,
    TRUE,
    Const,
    DeviceValue,
    External,
)
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import Placement, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import SHAPED, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, union
from devlint.inference.interpreter.annotations import Given, declared_value, names_in
from devlint.inference.interpreter.constructed_parts import handed_class
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Parameter
from devlint.inference.program.units import Unit
from devlint.inference.program.usage import left_at_default
from devlint.inference.program.values import Instance


def initial_value(
    frame: Frame,
    param: cst.Param,
    function: Function,
    on_host: bool,
    keyword_only: bool = False,
    shared: Placement = None,
) -> Parameter:
    """The value that stands for what a caller may hand in.

    `shared`: where a framework that calls the function puts what it hands in.
    """
    name = param.name.value
    default = function.defaults.get(name)
    on_host = on_host or holds("host-data-name", name)
    annotation = []
    if param.annotation is not None:
        annotation = names_in(frame, param.annotation.annotation)
    variable = Variable(name, VariableKind.INPUT, True)
    origin = frame.origin(StepKind.PARAMETER, param, note=f"`{name}` is handed in by the caller")

    def parameter(value: Value, own: Variable | None, is_device: bool = False) -> Parameter:
        return Parameter(name, own, value, default, keyword_only, is_device)

    if type(default) is Const and left_at_default(function, name):
        return parameter(default, None)
    if _is_device(function, name, annotation, default):
        chosen = Variable(name, VariableKind.DEVICE, True)
        return parameter(DeviceValue(chosen), chosen, True)
    if holds("accelerator-flag", name) and (type(default) is Const or not annotation):
        known = type(default) is Const and type(default.value) is bool
        return parameter(TRUE if known or annotation == ["bool"] else ASSUMED, None)
    place = None if on_host or frame.constructing else shared or variable
    handed = None if annotation else handed_class(function, name)
    if annotation or handed is not None:
        value: Value | None = None
        if handed is not None:
            value = Instance(handed, module=handed.is_module, place=variable, origin=origin)
        elif param.annotation is not None:
            given = Given(variable, place, origin)
            value = declared_value(frame, param.annotation.annotation, given)
        if value is not None:
            if (
                type(default) is Const
                and default.value is None
                and _may_be_none(function, value, name)
            ):
                value = union((value, NONE))
            return parameter(value, variable)
    elif _keeps_module(function, name) or _is_asked_as_module(function, name):
        module = Instance(None, "", True, variable, origin)
        may_be_none = type(default) is Const and default.value is None
        return parameter(union((module, NONE)) if may_be_none else module, variable)
    if default is not None and _is_plain(default):
        return parameter(HOST, None)
    if type(default) is Sequence and default.items and all(map(_is_plain, default.items)):
        return parameter(Sequence(None, HOST, default.kind), None)  # `size=(3, 4)`: numbers
    if holds("configuration-name", name):
        return parameter(UNKNOWN, None)
    evidence = Evidence(not annotation and _is_documented_tensor(function, name))
    evidence.hints.number = holds("number-name", name)
    value = Tensor(place, origin, SHAPED, evidence)
    if type(default) is Const and default.value is None:
        return parameter(union((value, NONE)), variable)
    return parameter(value, variable)


def _is_documented_tensor(function: Function, name: str) -> bool:
    docstring = function.docstring
    return name in docstring and holds("documented-tensor", docstring, name)


def _may_be_none(function: Function, value: Value, name: str) -> bool:
    """A parameter that may be left out: of a container, the function has to ask whether it was."""
    if type(value) not in (Sequence, Mapping):
        return type(value) is Tensor
    return function.says("optional-test", name)


# What a class asks of an attribute that is a module.


def _keeps_module(function: Function, name: str) -> bool:
    """A constructor keeps a parameter, of which the class asks what only modules have:
    `self.net = net`, and then `self.net.parameters()`."""
    info = function.info
    if info is None or function.name != "__init__":
        return False
    if not function.unit.contains(f" = {name}"):
        return False
    kept = [each.partition(" = ") for each in found("kept-argument", function.text)]
    attribute = next((attribute for attribute, _, argument in kept if argument == name), "")
    return bool(attribute) and info.says("used-as-module", f"self.{attribute}")


class _AskedAsModules:
    """The names that some function of a file asks for their parameters: `net.parameters()`."""

    def __init__(self, unit: Unit) -> None:
        self.names = frozenset(found("module-by-use", unit.source.text))


def _is_asked_as_module(function: Function, name: str) -> bool:
    """The function asks a parameter for what only modules have."""
    if name not in function.unit.kept(_AskedAsModules).names:
        return False
    return function.says("used-as-module", name)


def _is_device(function: Function, name: str, annotation: list[str], default: Value | None) -> bool:
    """By its annotation or its default; or by its name, that of a number only if the function
    brings something there."""
    if any(part.endswith("device") for part in annotation):
        return True
    if type(default) is DeviceValue:
        return True
    if type(default) is Const and type(default.value) is bool:
        return False  # `check_device=False` asks for something
    by_number = holds("device-index-name", name) and function.says("used-as-device", name)
    if not (by_number or holds("device-name", name)):
        return False
    if any("device" in part.lower() for part in annotation):
        return True
    return not annotation or bool({"str", "int", "Optional", "Union", "Any"} & set(annotation))


def _is_plain(default: Value) -> bool:
    if type(default) is Const:
        return default.value is not None
    if type(default) is Sequence and default.items:
        return all(_is_plain(item) for item in default.items)
    return default is HOST or type(default) is External
