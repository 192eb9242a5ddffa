"""Objects of classes that the project derives from `torch.Tensor`, and gives no constructor.

`Cov(size=(2, 2), device=d)` is the legacy constructor, which refuses every device but the host's.
"""

from __future__ import annotations

from devlint.inference.collect import legacy_types
from devlint.inference.models.tensor_classes import TENSOR, is_constructed_as_tensor
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import ClassValue


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at: one refuses a device, or all is well."""
    return unit.contains("device=")


def of_call(frame: Frame, event: Called) -> None:
    """A class is called."""
    node, callee, arguments = event
    if type(callee) is ClassValue and is_constructed_as_tensor(callee.info):
        legacy_types.of_constructor(frame, node, TENSOR, arguments)
        noted = frame.unit.kept(Mentions).notes.get(node)
        if noted is not None:
            noted.of_class = callee.info.name
