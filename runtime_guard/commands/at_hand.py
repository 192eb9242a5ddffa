"""Is anything on an accelerator at hand where a line is about to run?

    def forward(self, x):
        return x + self.mask        # `x`, and `mask` of `self`: not the module's other parts

Looked at are the values of the names that stand in the line, and their attributes that do.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from types import CodeType, FrameType
from typing import Any

import torch

from runtime_guard.core.placement import placement_of
from runtime_guard.core.torch_internals import disable_torch_function, real_device

MOST = 64
"""Values of one container that are looked at."""


def anything_accelerated(frame: FrameType) -> bool:
    """Is a tensor or a module on an accelerator among the operands of the frame's line?"""
    names, attributes = _names_at(frame.f_code, frame.f_lineno)
    places = (frame.f_locals, frame.f_globals)
    values = [next((p[name] for p in places if name in p), None) for name in names]
    with disable_torch_function():
        return any(_is_accelerated(part) for value in values for part in _parts(value, attributes))


@lru_cache(maxsize=4096)
def _names_at(code: CodeType, line: int) -> tuple[frozenset[str], frozenset[str]]:
    """The variables and the attributes that the code of a line reads."""
    variables, attributes = set(), set()
    at = None
    for instruction in dis.get_instructions(code):
        at = instruction.starts_line or at
        place = getattr(instruction, "positions", None)  # since Python 3.11
        if (at if place is None else place.lineno) == line:
            if instruction.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
                attributes.add(str(instruction.argval))
            elif instruction.opname.startswith("LOAD_"):
                variables.add(str(instruction.argval))
    return frozenset(variables), frozenset(attributes)


def _parts(value: Any, attributes: frozenset[str]) -> Iterator[Any]:
    """What of a value stands in the line: its attributes there, or all of it."""
    if isinstance(value, dict):
        yield from islice(list(value.values()), MOST)
    elif isinstance(value, (list, tuple, set)):
        yield from islice(list(value), MOST)
    elif isinstance(value, torch.nn.Module):
        kept = (vars(value), value._parameters, value._buffers, value._modules)
        named = [held[name] for held in kept for name in attributes if name in held]
        yield from named or [value]
    elif isinstance(value, torch.Tensor):
        yield value
    else:
        held = _attributes_of(value)
        yield from (held[name] for name in attributes if name in held)


def _attributes_of(value: Any) -> dict[str, Any]:
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if isinstance(held, dict) else {}


def _is_accelerated(value: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        value = next(chain(value.parameters(), value.buffers()), None)
    if not isinstance(value, torch.Tensor):
        return False
    placement = placement_of(value)  # `.device` would count as a use of what was moved
    device = real_device(value) if placement is None else placement.device
    return device.type not in ("cpu", "meta")
