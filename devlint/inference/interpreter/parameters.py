"""What a function knows of its parameters before anybody calls it."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found, holds, may_hold
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import (
    ARRAY,
    ASSUMED,
    DTYPE,
    HOST,
    NONE,
    TRUE,
    Const,
    DeviceValue,
    External,
)
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import INDIRECT, SHAPED, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, union
from devlint.inference.interpreter import contracts
from devlint.inference.interpreter.constructed_parts import handed_class
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Parameter
from devlint.inference.program.units import Unit
from devlint.inference.program.usage import left_at_default
from devlint.inference.program.values import ClassValue, Instance
from devlint.inference.syntax.text import dotted

_ARRAY_TYPES = frozenset(
    {"np.ndarray", "numpy.ndarray", "ndarray", "npt.NDArray", "NDArray", "numpy.typing.NDArray"}
)
_HOST_TYPES = _ARRAY_TYPES | frozenset(
    {"int", "float", "bool", "str", "bytes", "complex", "Path", "pathlib.Path", "dtype"}
    | {"torch.dtype", "torch.Size", "Number", "slice"}
)


_TENSOR_TYPES = frozenset(
    {"Tensor", "torch.Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor"}
    | {"torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor", "torch.IntTensor"}
    | {"torch.nn.Parameter", "nn.Parameter", "torch.HalfTensor", "OptTensor", "Adj"}
)


_WRAPPERS = frozenset(
    {"Optional", "Union", "typing.Optional", "typing.Union", "Final", "Annotated"}
    | {"typing.Annotated", "typing_extensions.Annotated"}
)


_DICTS = frozenset({"dict", "Dict", "Mapping", "typing.Dict", "typing.Mapping"})


_LISTS = frozenset({"List", "list", "Sequence", "Tuple", "tuple", "Iterable", "typing.List"})


_MAPPINGS = frozenset({"Dict", "dict", "Mapping", "MutableMapping", "typing.Dict"})


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
        annotation = _names(frame, param.annotation.annotation)
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
    handed = None if annotation else handed_class(function, name)
    if annotation or handed is not None:
        value = (
            _from_annotation(frame, annotation, variable, origin, on_host, shared)
            if handed is None
            else Instance(handed, module=handed.is_module, place=variable, origin=origin)
        )
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
    place = None if on_host or frame.constructing else shared or variable
    evidence = Evidence()
    evidence.hints.number = holds("number-name", name)
    value = Tensor(place, origin, SHAPED, evidence)
    if type(default) is Const and default.value is None:
        return parameter(union((value, NONE)), variable)
    return parameter(value, variable)


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
    if not may_hold("kept-argument", function.unit.source.text, name):
        return False
    kept = found("kept-argument", function.text, name)[:1]
    return any(info.says("used-as-module", f"self.{each}") for each in kept)


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


def _from_annotation(
    frame: Frame,
    annotation: list[str],
    variable: Variable,
    origin: Provenance,
    on_host: bool,
    shared: Placement,
) -> Value | None:
    heads = [a for a in annotation if a not in _WRAPPERS and a != "None"]
    if not heads:
        return None
    place = None if on_host or frame.constructing else shared or variable
    if heads[0] in _LISTS:
        if len(heads) > 1 and heads[1] in _TENSOR_TYPES:
            return Sequence(None, Tensor(place, origin, 0, Evidence(True)), "list")
        if len(heads) > 2 and heads[1] in _LISTS and set(heads[2:]) <= _TENSOR_TYPES:
            inner = Sequence(None, Tensor(place, origin, 0, Evidence(True)), "tuple")
            return Sequence(None, inner, "list")
        if _HOST_TYPES & set(heads) and set(heads) <= _HOST_TYPES | _LISTS:
            return Sequence(None, HOST, "list")
        return Tensor(place, origin, 0, Evidence())
    if heads[0] in _MAPPINGS and len(heads) == 3 and heads[2] in _TENSOR_TYPES:
        return Mapping({}, Tensor(place, origin, 0, Evidence(True)))
    tensors = [a for a in heads if a in _TENSOR_TYPES]
    if tensors and len(tensors) == len(heads):
        return Tensor(place, origin, SHAPED, Evidence(True))
    if tensors:
        evidence = Evidence()
        evidence.hints.either = True
        return Tensor(place, origin, SHAPED, evidence)
    if all(a.endswith("dtype") for a in heads):
        return DTYPE
    if heads[0] in _ARRAY_TYPES:
        return ARRAY  # what follows is the type of its elements
    if all(a in _HOST_TYPES for a in heads):
        return union((HOST, ARRAY)) if _ARRAY_TYPES & set(heads) else HOST
    if heads[0] in _DICTS:  # its entries need not be together
        return Tensor(place, origin, INDIRECT, Evidence())
    if set(heads) <= _HOST_TYPES | _LISTS:
        return union((HOST, Sequence(None, HOST, "list")))  # a number, or one for each dimension
    if len(heads) == 1:
        known = frame.lookup(heads[0]) if "." not in heads[0] else None
        if type(known) is ClassValue:
            info = known.info
            return Instance(info, module=info.is_module, place=variable, origin=origin)
        if heads[0] in ("nn.Module", "torch.nn.Module", "Module"):
            return Instance(None, "", True, variable, origin)
        if type(known) is External and _is_object_of_torch(known.name):
            evidence = Evidence()
            evidence.mark_host()
            return Tensor(place, origin, 0, evidence)
    return None


def declared_value(
    frame: Frame, annotation: cst.BaseExpression, variable: Variable, origin: Provenance
) -> Value | None:
    """The value of this type that stands for what others may hand in."""
    return _from_annotation(frame, _names(frame, annotation), variable, origin, False, None)


def _is_object_of_torch(name: str) -> bool:
    """`torch.distributions.Normal`: no tensor, though it may hold some."""
    last = name.rpartition(".")[2]
    return (
        name.startswith("torch.")
        and last[:1].isupper()
        and not last.endswith(("Tensor", "Parameter", "Buffer"))
    )


def says_host(frame: Frame, annotation: cst.Annotation | None) -> bool:
    """An annotation that admits no tensor: `int`, `Optional[str]`, `np.ndarray`."""
    if annotation is None:
        return False
    names = _names(frame, annotation.annotation)
    heads = [a for a in names if a not in _WRAPPERS and a != "None"]
    return bool(heads) and all(a in _HOST_TYPES for a in heads)


def _names(frame: Frame, node: cst.BaseExpression, depth: int = 4) -> list[str]:
    """The names in an annotation, outermost first; what a type is annotated with is none."""
    if depth == 0:
        return []
    path = dotted(node)
    if path:
        alias = contracts.alias_of(frame, node)
        return [path] if alias is None else _names(alias.frame, alias.node, depth - 1)
    if isinstance(node, cst.SimpleString):
        text = node.value.strip("'\"")
        if "[" in text or "|" in text:
            quoted = contracts.quoted_type(frame, node)
            if quoted is not None:
                return _names(frame, quoted, depth - 1)
        return "".join(c if c.isalnum() or c in "._" else " " for c in text).split()
    found: list[str] = []
    if isinstance(node, cst.Subscript):
        found += _names(frame, node.value, depth - 1)
        only_first = found[-1:] in (["Annotated"], ["typing.Annotated"])
        for element in node.slice[:1] if only_first else node.slice:
            if isinstance(element.slice, cst.Index):
                found += _names(frame, element.slice.value, depth - 1)
    elif isinstance(node, cst.BinaryOperation):
        found += _names(frame, node.left, depth - 1)
        found += _names(frame, node.right, depth - 1)
    elif isinstance(node, (cst.Tuple, cst.List)):
        for item in node.elements:
            found += _names(frame, item.value, depth - 1)
    return found
