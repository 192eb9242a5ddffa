"""Python's own functions, as far as they matter to devices.

`float(loss)` and `print(loss)` wait for the card; `sum(losses)` is where the losses are.

`hasattr(self, "embedder")` asks whether an object has an attribute.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import (
    FALSE,
    HOST,
    NONE,
    TRUE,
    Const,
    External,
    Host,
    are_numbers,
    number_of,
)
from devlint.inference.domain.tensors import MAYBE_SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models.devices import parse_device
from devlint.inference.models.handlers import Handler
from devlint.inference.models.iterables import PYTHON_ITERABLES
from devlint.inference.models.registration import register_by_name
from devlint.inference.models.sizes import parts
from devlint.inference.models.unification.meetings import meet
from devlint.inference.program.constructors import is_set_by_constructor
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.events import HostWaits, NumberTaken
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import ClassValue, Instance, Super
from devlint.inference.syntax.text import shorten


def _super(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    current: Frame | None = frame
    while current is not None and current.instance is None:
        current = current.outer
    if current is not None and current.info is not None and current.instance is not None:
        named = arguments.positional[0][0] if arguments.positional else None
        if type(named) is ClassValue and named.info in current.info.lineage():
            return Super(named.info, current.instance)  # `super(Base, self)` passes by the base
        return Super(current.info, current.instance)
    return UNKNOWN


_ACTIVATION = "torch.nn.functional.relu"


def _getattr(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`getattr(x, "name")`; of a torch module with an unknown name it stays a torch function. An
    activation that is chosen by its name, `getattr(F, name)`, is like any other."""
    if len(arguments.positional) < 2:
        return UNKNOWN
    base, name = arguments.positional[0][0], arguments.positional[1][0]
    if type(base) is External and base.name == "torch" and type(node.args[1].value) is cst.Name:
        name = _default_of(frame, node.args[1].value.value, name)
    if type(name) is not Const or not isinstance(name.value, str):
        is_activation = type(base) is External and base.name == "torch.nn.functional"
        return External(_ACTIVATION) if is_activation else UNKNOWN
    literal = isinstance(node.args[1].value, cst.SimpleString)
    if type(base) is External and parse_device(name.value) is not None and not literal:
        return UNKNOWN  # the backend of whatever accelerator there is

    attribute = (
        cst.Attribute(node.args[0].value, cst.Name(name.value))
        if (name.value.isidentifier())
        else None
    )
    if attribute is None:
        return UNKNOWN
    unseen = (type(base) is Tensor and not base.is_sure) or (
        type(base) is Instance and base.info is None
    )
    if unseen and len(arguments.positional) > 2:
        return UNKNOWN  # `getattr(batch, "masks", None)`: it may have none, and of any type
    return frame.interpreter.attribute_of(frame, attribute, base, name.value)


def _setattr(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`setattr(self, "name", value)`; the name may be one of several that are written down."""
    given = [value for value, _ in arguments.positional]
    if len(given) == 3 and given[0] is frame.instance and frame.info is not None:
        for name in alternatives(given[1]):
            if type(name) is Const and isinstance(name.value, str):
                register_by_name(frame.info, frame, name.value, given[2], node)
    return NONE


def _default_of(frame: Frame, name: str, value: Value) -> Value:
    """What a parameter is where nobody says another: `getattr(torch, window)(length)`."""
    default = frame.function.defaults.get(name) if frame.function is not None else None
    return default if type(default) is Const and type(value) is not Const else value


def _reads_number(call: str) -> Handler:
    def read(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        for value, argument in arguments.positional[:1]:
            for tensor in alternatives(value):
                if type(tensor) is Tensor:
                    frame.emit(HostWaits(node, call, tensor, argument))
            if type(value) is Host and not value.array:
                return value  # an array has one element, or it raises
            if type(value) is Const and call == "int()" and type(value.value) is int:
                return value
        return HOST

    return read


def _print(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    for value, argument in arguments.positional:
        for tensor in alternatives(value):
            if type(tensor) is Tensor:
                frame.emit(HostWaits(node, "print()", tensor, argument))
    return NONE


def _str(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    for value, argument in arguments.positional[:1]:
        for tensor in alternatives(value):
            if type(tensor) is Tensor:
                frame.emit(HostWaits(node, "str()", tensor, argument))
    return HOST


def _len(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.positional[0][0] if arguments.positional else UNKNOWN
    return Host(value) if type(value) is Tensor else HOST


def _sum(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return HOST
    value, argument = arguments.positional[0]
    inner = frame.interpreter.element_of(frame, value, argument)
    if any(type(v) is Tensor for v in alternatives(inner)):
        terms = parts(value, argument)  # `sum([x, y])`
        operands = terms if len(terms) > 1 else [(inner, argument)]
        return meet(frame, node, "sum", operands, True, MeetingKind.OPERATION)
    return number_of([value])


def _extreme(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """Python's `max` and `min` compare tensors one by one: a sync each."""
    if len(arguments.positional) == 1:
        value, argument = arguments.positional[0]
        inner = frame.interpreter.element_of(frame, value, argument)
        frame.emit(NumberTaken(node, shorten(node.func), inner, argument))
        return inner if type(inner) is Tensor else number_of([value])
    found = [v for v, _ in arguments.positional if type(v) is Tensor]
    if not found:
        return number_of(v for v, _ in arguments.positional)
    numbers = any(type(v) is Const or type(v) is Host for v, _ in arguments.positional)
    first = found[0]
    for value, argument in arguments.positional:
        frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))
    if numbers and not first.is_sure:
        return HOST  # beside a number it is rather one, too
    return first.with_place(first.place, first.origin, add=MAYBE_SCALAR)


def _power(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    values = [value for value, _ in arguments.positional]
    return number_of(values) if are_numbers(values) else UNKNOWN


def _quotient(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    number = _power(frame, node, arguments)
    return UNKNOWN if number is UNKNOWN else Sequence([number, number], None, "tuple")


def _absolute(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.positional[0][0] if arguments.positional else UNKNOWN
    return value if type(value) is Tensor else number_of([value])


def _every(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """Python's `any` and `all` ask a tensor's elements one by one."""
    for value, argument in arguments.positional[:1]:
        frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))
    return HOST


def _host(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return HOST


_PLAIN_BASES = frozenset({"torch.nn.Module", "builtins.object"})
_OF_MODULES = frozenset({"training", "forward", "parameters", "to", "state_dict", "named_modules"})


def has_attribute(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`hasattr(self, "x")`: never, where all of the class is in sight and nothing sets it; always,
    once the object is made, where the constructor does."""
    owner, name = arguments.get(0, "obj"), arguments.get(1, "name")
    if type(owner) is not Instance or owner.info is None or type(name) is not Const:
        return HOST
    if not frame.constructing and is_set_by_constructor(owner.info, str(name.value)):
        return TRUE
    return HOST if may_have(owner.info, str(name.value)) else FALSE


def may_have(info: ClassInfo, name: str) -> bool:
    """An object has an attribute, or a part of its class is out of sight, which may set it."""
    lineage = info.lineage()
    bases = [base for each in lineage for base in each.bases if type(base) is not ClassInfo]
    is_open = any(type(b) is not External or b.name not in _PLAIN_BASES for b in bases)
    return is_open or any(_may_set(each, name) for each in lineage)


def _may_set(info: ClassInfo, name: str) -> bool:
    """The class or its file gives an object such an attribute, or one under a name made up."""
    text = info.unit.source.text
    asked = text.count(f'hasattr(self, "{name}"') + text.count(f"hasattr(self, '{name}'")
    named = text.count(f'"{name}"') + text.count(f"'{name}'")
    return (
        name in info.writers
        or name in info.members
        or name in info.methods
        or name.startswith("_")
        or name in _OF_MODULES
        or named > asked
        or "setattr(" in text
        or bool(found("attribute-assigned", text, name))
    )


_BUILTINS: dict[str, Handler] = {
    **PYTHON_ITERABLES,
    "len": _len,
    "int": _reads_number("int()"),
    "float": _reads_number("float()"),
    "bool": _reads_number("bool()"),
    "complex": _reads_number("complex()"),
    "round": _reads_number("round()"),
    "print": _print,
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "abs": _absolute,
    "pow": _power,
    "divmod": _quotient,
    "super": _super,
    "getattr": _getattr,
    "setattr": _setattr,
    "isinstance": _host,
    "hasattr": has_attribute,
    "callable": _host,
    "str": _str,
    "repr": _str,
    "id": _host,
    "hash": _host,
    "type": _host,
    "open": _host,
    "any": _every,
    "all": _every,
}


def call_builtin(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """One of Python's own functions."""
    handler = _BUILTINS.get(name)
    return UNKNOWN if handler is None else handler(frame, node, arguments)
