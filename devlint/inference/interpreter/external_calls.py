"""Calls of functions and classes of libraries, by their dotted names."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import ARRAY, HOST, External, Host, are_numbers, number_of
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, UNREAD, Value, alternatives
from devlint.inference.interpreter.unknown_calls import call_unknown, may_move, untold_result
from devlint.inference.models import builtins, constructors, generators, gradients, python_functions
from devlint.inference.models.library_functions import apply_call
from devlint.inference.models.library_modules import construct_library, made_by_class
from devlint.inference.models.operands import is_number
from devlint.inference.models.other_frameworks import is_of_other_framework
from devlint.inference.models.registration import hand_over_parameters
from devlint.inference.models.tensor_methods import call_tensor_method
from devlint.inference.program.events import HostReads, NumberTaken, UnknownCalled
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import REFUSED
from devlint.inference.syntax.text import shorten


def call_external(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """A function or class of a library, by its dotted name."""
    if name.startswith(REFUSED):
        hand_over_parameters(arguments)
        frame.emit(UnknownCalled(node, arguments))
        # a function of the project that was not read: it may do anything
        last = name.rpartition(".")[2]
        return UNREAD if holds("class-name", last) else untold_result(last)
    if is_of_other_framework(name):
        frame.emit(UnknownCalled(node, arguments))
        return External(name)
    generators.check_data(frame, node, name, arguments)
    handler = builtins.FUNCTIONS.get(name)
    if handler is not None:
        return handler(frame, node, arguments)
    if name.startswith("logging."):
        _log(frame, node, arguments)
    if name.startswith("builtins."):
        return python_functions.call_builtin(frame, node, name[9:], arguments)
    result = call_library(frame, node, name, arguments)
    last = name.rpartition(".")[2]
    root = name.partition(".")[0]
    values = [value for value, _ in arguments.all()]
    if (root == "math" or (root == "numpy" and last in _OF_NUMBERS)) and are_numbers(values):
        return number_of(values)
    if root == "numpy" and last in _OF_NUMBERS and not _holds_array(arguments):
        return HOST if all(is_number(value) for value, _ in arguments.all()) else UNKNOWN
    if result is not None:
        return gradients.after_call(frame, last, None, arguments, result)
    if root == "numpy":
        for value, argument in arguments.all():
            frame.emit(HostReads(node, shorten(node.func), value, argument))
        return ARRAY
    if holds("class-name", last):
        if not name.startswith("torch.optim."):
            hand_over_parameters(arguments)
        if root != "torch":
            may_move(frame, last, arguments)  # a trainer puts its model somewhere
        return construct_library(frame, node, name, arguments)
    return call_unknown(frame, node, External(name), arguments)


# Functions of NumPy that turn a number into a number.
_OF_NUMBERS = frozenset(
    {"log", "log2", "log10", "exp", "sqrt", "radians", "deg2rad", "degrees", "rad2deg", "sin"}
    | {"cos", "tan", "arctan", "arctan2", "abs", "prod", "ceil", "floor", "power", "tanh"}
)


def _holds_array(arguments: Arguments) -> bool:
    return any(
        (type(v) is Host and v.array) or type(v) is Tensor or type(v) is Sequence
        for value, _ in arguments.all()
        for v in alternatives(value)
    )


def _log(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    """`logging.info("loss %s", t)`: what is put into the message is read."""
    for value, argument in arguments.positional[1:]:
        frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))


def call_library(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value | None:
    """The result of a library's function or constructor; None when nothing is known of it."""
    knowledge = frame.unit.context.knowledge
    known = knowledge.function(name)
    if known is not None:
        return apply_call(frame, node, name, known, arguments)
    module = knowledge.module(name)
    if module is not None:
        return construct_library(frame, node, name, arguments)
    kind = knowledge.class_(name)
    if kind is not None:
        return constructors.construct(frame, node, name, kind, arguments)
    owner, _, method = name.rpartition(".")
    if owner == "torch.Tensor" and arguments.positional:
        return _unbound_method(frame, node, method, arguments)
    inherited = knowledge.method_of(owner, method) if owner else None
    if inherited is not None:
        return apply_call(frame, node, name, inherited, arguments)
    return made_by_class(frame, node, owner, method, arguments)


def _unbound_method(
    frame: Frame, node: cst.Call, method: str, arguments: Arguments
) -> Value | None:

    first = arguments.positional[0][0]
    if type(first) is not Tensor:
        return UNKNOWN
    rest = Arguments(arguments.positional[1:], arguments.keywords, arguments.open)
    return call_tensor_method(frame, node, first, method, rest)
