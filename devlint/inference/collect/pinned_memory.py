"""Pinned memory that is asked for in any case: only an accelerator's allocator has it.

`torch.empty(n, pin_memory=True)` and `x.pin_memory()` raise where there is no accelerator; a
`DataLoader(…, pin_memory=True)` only warns. By a flag that is handed on or asked for others choose,
and so they do who call a function that is named for it: `pin_memory_batch(batch)`. And what takes a
tensor from elsewhere to the host, `x.cpu().pin_memory()`, has an accelerator that it came from.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.mentions import note
from devlint.inference.conventions import holds
from devlint.inference.domain.host import External
from devlint.inference.domain.placement import CPU, Device
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.devices import place_of
from devlint.inference.program.control_dependences import branches_around
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import every
from devlint.inference.syntax.words import words
from devlint.knowledge import Result

_NAME = "pin_memory"
_MAKES = (Result.DEVICE, Result.LIKE)


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.contains(_NAME)


def of_call(frame: Frame, event: Called) -> None:
    """Note a call that pins in any case. `callee` is the receiver of a method, else what is
    called."""
    node, callee, arguments = event
    func = node.func
    name = func.attr.value if type(func) is cst.Attribute else ""
    if _pins(frame, callee, name, arguments) and not _has_choice(frame, node):
        note(frame, node, "pin")


def _pins(frame: Frame, callee: Value, name: str, arguments: Arguments) -> bool:
    if type(callee) is Tensor and not (callee.is_sure and _is_of_host(callee)):
        return False  # a batch of its own kind, or refused: only what is on the host can be pinned
    if name == _NAME:
        return type(callee) is Tensor and not _came_down(callee)
    if not _is_true(arguments) or _is_elsewhere(frame, arguments):
        return False
    if type(callee) is Tensor:
        return name.startswith("new_")
    if type(callee) is not External:
        return False
    full_name = f"{callee.name}.{name}" if name else callee.name
    known = frame.unit.context.knowledge.functions.get(full_name)
    return full_name.startswith("torch.") and known is not None and known.result in _MAKES


def _is_of_host(tensor: Tensor) -> bool:
    return not (type(tensor.place) is Device and tensor.place.is_accelerator)


def _came_down(tensor: Tensor) -> bool:
    """It was brought to the host from where it may have been elsewhere."""
    steps = tensor.origin.chain() if tensor.origin is not None else ()
    return any(step.kind is StepKind.MOVED and step.before != CPU for step in steps)


def _is_true(arguments: Arguments) -> bool:
    """`pin_memory=True`, as it is written."""
    given = arguments.node(-1, _NAME)
    return type(given) is cst.Name and given.value == "True"


def _is_elsewhere(frame: Frame, arguments: Arguments) -> bool:
    """It is made on an accelerator, whose memory nobody pins; or it is told to be on the host, made
    like a tensor that may be elsewhere: `torch.empty_like(x, device="cpu", pin_memory=True)`."""
    device = arguments.keywords.get("device")
    place = place_of(frame, device[0]) if device is not None else frame.default_device
    if device is not None and place == CPU:
        return any(_takes_from_tensor(value, node) for value, node in arguments.all())
    return type(place) is Device and place.is_accelerator


def _takes_from_tensor(value: Value, node: cst.CSTNode) -> bool:
    """A tensor, or its shape or dtype: `x.size()`, `x.dtype`."""
    return (type(value) is Tensor and value.is_sure) or any(
        each.attr.value in _OF_TENSORS for each in every(node, cst.Attribute)
    )


_OF_TENSORS = ("shape", "size", "dtype", "numel")


def _has_choice(frame: Frame, node: cst.CSTNode) -> bool:
    """`if self.pin:` around it, or a function that is named for it."""
    function = frame.function
    while function is not None:
        if holds("pinning-name", function.name):
            return True
        function = function.around
    around = branches_around(frame, node)
    return any(
        isinstance(choice, (cst.If, cst.IfExp))
        and branch is choice.body
        and holds("pinning-name", words(choice.test))
        for choice, branch in around
    )
