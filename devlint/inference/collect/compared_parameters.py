"""Parameters that are compared with the name of a device: is that a `torch.device` or a text?

    class Batches:
        def __init__(self, ids, device):
            if device != "cpu":             # always true, of a `torch.device`
                ids = ids.pin_memory()

    Batches(ids, torch.device("cuda"))

Nothing in the function says, so the calls do: each of a function in sight tells what it hands in,
and all have to hand in a `torch.device`. An attribute that only the constructor sets, to its
parameter, holds what that was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.inference.call_contexts import Fed, Feed, Given
from devlint.inference.collect.call_contexts import handed_on, parameter_given
from devlint.inference.domain.host import NONE, DeviceValue, text_of
from devlint.inference.domain.placement import Variable
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.summaries.arguments import CallBound
from devlint.inference.syntax.text import dotted, plain_parameters


def note(frame: Frame, event: CallBound) -> None:
    """A call of a function in sight: whether its device is a `torch.device`."""
    function, binding = event
    if frame.function is function or frame.unit.is_test or function.summary is None:
        return
    for parameter in function.summary.parameters:
        value, node = binding.given.get(parameter.name, (NONE, None))
        if parameter.is_device and node is not None:
            feeds = (Feed(function.key, parameter.name, *it) for it in _kinds(frame, value))
            frame.unit.facts.feeds.update(feeds)


def _kinds(frame: Frame, value: Value) -> Iterator[tuple[Fed, Given | None]]:
    for each in alternatives(value):
        if each is NONE:
            continue  # which no text equals, either
        if type(each) is not DeviceValue:
            yield Fed.NAME, None
        elif each.sure:
            yield Fed.OBJECT, None
        else:
            through = handed_on(frame, each.place) if type(each.place) is Variable else None
            yield (Fed.NAME, None) if through is None else (Fed.CALLER, through)


def compared(function: Function, path: str) -> Given | None:
    """The parameter that a path is, `device`, or that the constructor keeps there, `self.device`,
    if no text stands in for it and the function asks for no type."""
    owner, _, name = path.rpartition(".")
    if owner == "self" and function.info is not None:
        kept = _kept(function, name)
        return None if kept is None else _given(*kept)
    return None if owner else _given(function, name)


def _kept(function: Function, attribute: str) -> tuple[Function, str] | None:
    """The constructor and its parameter that an attribute holds, if nothing else sets it."""
    info = function.info
    built = info.methods.get("__init__") if info is not None else None
    if info is None or built is None or len(info.lineage()) > 1:
        return None
    names = {dotted(value) for _, value in info.assigned.get(attribute, ())}
    return (built, names.pop()) if len(names) == 1 else None


def _given(function: Function, name: str) -> Given | None:
    parameter = next((p for p in function.parameters if p.name == name and p.is_device), None)
    if parameter is None or parameter.variable is None or text_of(parameter.default or NONE):
        return None
    if function.contains(f"isinstance({name}") or _is_annotated(function, name):
        return None
    found = parameter_given(function, parameter.variable, of_local=True)
    return None if found is None else replace(found, is_device=True, waits=True, compared=True)


def _is_annotated(function: Function, name: str) -> bool:
    given = plain_parameters(function.node.params)
    return any(p.annotation is not None for p in given if p.name.value == name)
