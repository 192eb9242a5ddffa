"""Methods that change a tensor in place, and what its name holds from then on."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import COPYING, EMPTY, Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models import gradients
from devlint.inference.models.places import on_accelerator
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostCopies
from devlint.inference.syntax.text import dotted, receiver_of


def copy_without_waiting(
    frame: Frame, node: cst.Call, tensor: Tensor, arguments: Arguments
) -> None:
    """`host.copy_(t, non_blocking=True)`: what the host's name holds has not landed yet."""
    source, waits = arguments.get(0, "src"), arguments.get(1, "non_blocking")
    path = dotted(receiver_of(node))
    if not path or type(source) is not Tensor or type(waits) is not Const or not waits.value:
        return
    if tensor.place == CPU and on_accelerator(source) >= 1:
        step = Provenance(
            StepKind.MOVED, node, frame.unit.source, tensor.origin, before=source.place
        )
        frame.state.hold(path, tensor.with_place(tensor.place, step, add=COPYING))
        frame.kept(HostCopies).landing.add(node)


def require_grad(frame: Frame, node: cst.Call, tensor: Tensor, wanted: Value) -> Value:
    """A leaf that requires grad; `x.requires_grad_()` on a line of its own changes `x`."""
    result = gradients.leaf(tensor, wanted)
    path = dotted(receiver_of(node))
    if path:
        frame.state.hold(path, result)
    return result


def resized(frame: Frame, node: cst.Call, tensor: Tensor) -> Value:
    """`buffer.resize_(n)`: what was empty takes part from here on."""
    filled = tensor.with_place(tensor.place, tensor.origin, drop=EMPTY)
    path = dotted(receiver_of(node))
    if path:
        frame.state.env[path] = filled
        frame.state.note_part(path)
    wrote(frame, node)
    return filled


def wrote(frame: Frame, node: cst.Call) -> None:
    """An in-place method changes what its receiver's name holds."""
    path = dotted(receiver_of(node))
    if path:
        frame.touch(path)
