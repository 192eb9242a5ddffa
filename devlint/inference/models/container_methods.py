"""Methods of lists and dicts."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import HOST, NONE
from devlint.inference.domain.tensors import Tensor, tensor_like
from devlint.inference.domain.value import UNKNOWN, Value, is_untold, join
from devlint.inference.models.elements import under_key
from devlint.inference.models.held_tensors import is_chosen_here
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Parameters

CONTAINERS = frozenset({Sequence, Mapping, Parameters})


def call_container(
    frame: Frame, node: cst.Call, base: Value, name: str, arguments: Arguments
) -> Value:
    """A method of a list or dict."""
    if type(base) is Sequence:
        return _call_list(frame, node, base, name, arguments)
    if type(base) is Mapping:
        return _call_dict(frame, node, base, name, arguments)
    return UNKNOWN


def _call_list(
    frame: Frame, node: cst.Call, base: Sequence, name: str, arguments: Arguments
) -> Value:
    func = node.func
    if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name):
        frame.touch(func.value.value)
    if name in ("append", "add", "appendleft"):
        if arguments.positional:
            value = frame.stored(arguments.positional[0][0])
            frame.write(base, base.adding(value, is_chosen_here(frame, value)))
        return NONE
    if name == "insert" and len(arguments.positional) > 1:
        frame.write(base, base.adding(frame.stored(arguments.positional[1][0])))
        return NONE
    if name == "extend":
        for value, argument in arguments.positional:
            element = frame.interpreter.element_of(frame, value, argument)
            base = base.adding(frame.stored(element))
        frame.write(base, base)
        return NONE
    if name in ("pop", "popleft"):
        return base.any()
    if name == "copy":
        items = None if base.items is None else list(base.items)
        return Sequence(items, base.element, base.kind)
    if name in ("index", "count"):
        return HOST
    return NONE if name in ("sort", "reverse", "clear", "remove") else UNKNOWN


def _call_dict(
    frame: Frame, node: cst.Call, base: Mapping, name: str, arguments: Arguments
) -> Value:
    if name == "items":
        return Sequence(None, Sequence([HOST, base.any()], None, "tuple"), "iterator")
    if name == "values":
        return Sequence(None, base.any(), "iterator")
    if name == "keys":
        return HOST
    if name in ("get", "pop", "setdefault"):
        key = arguments.get(0, "key") or UNKNOWN
        held = under_key(frame, node, base.get(key), key)
        default = arguments.get(1, "default")
        if default is not None and not is_untold(held):
            return join(held, default)
        if default is not None and name == "setdefault":
            frame.write(base, base.putting({}, default))
            return default
        return held
    if name == "update":
        updated = base
        for value, _ in arguments.positional:
            if type(value) is Mapping:
                updated = updated.putting(value.entries, value.element)
            elif type(value) is Tensor:
                updated = updated.putting({}, tensor_like(value))
        named = {name: value for name, (value, _) in arguments.keywords.items()}
        frame.write(base, updated.putting(named))
        return NONE
    if name == "copy":
        return Mapping(dict(base.entries), base.element)
    return UNKNOWN
