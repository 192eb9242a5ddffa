"""Calls of functions of libraries, as the knowledge describes them."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.models import constructors
from devlint.inference.models.library_functions import apply_call
from devlint.inference.models.library_modules import construct_library
from devlint.inference.models.tensor_methods import call_tensor_method
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments


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
    return None


def _unbound_method(
    frame: Frame, node: cst.Call, method: str, arguments: Arguments
) -> Value | None:

    first = arguments.positional[0][0]
    if type(first) is not Tensor:
        return UNKNOWN
    rest = Arguments(arguments.positional[1:], arguments.keywords, arguments.open)
    return call_tensor_method(frame, node, first, method, rest)
