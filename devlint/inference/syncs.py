"""Where the host waits for the device, and where it reads device memory."""

from __future__ import annotations

import libcst as cst

from devlint.inference.frame import Frame
from devlint.inference.meetings import tensors_in
from devlint.inference.notes import HostReadNote, LateReadNote, SyncNote, on_accelerator
from devlint.inference.values import COPYING, Tensor, Value, alternatives


def sync(frame: Frame, node: cst.CSTNode, call: str, value: Value, value_node: cst.CSTNode) -> None:
    """The host waits for a value that lives on a device."""
    for tensor in alternatives(value):
        if type(tensor) is not Tensor:
            continue
        if tensor.traits & COPYING:
            late_read(frame, node, tensor, value_node)
        if on_accelerator(tensor) >= 0:
            frame.notes.append(SyncNote(node, call, tensor, value_node, frame.loop, frame.cold > 0))
            return


def test_of(frame: Frame, node: cst.CSTNode, value: Value, keyword: str) -> None:
    """`if t:`, `while t:`, `assert t`: bool() of a tensor."""
    if type(value) is Tensor and value.evidence is None:
        sync(frame, node, keyword, value, node)


def read_by_host(
    frame: Frame, node: cst.CSTNode, sink: str, value: Value, value_node: cst.CSTNode
) -> None:
    """Something that reads host memory gets a value: it fails if that is on an accelerator."""
    found = tensors_in(value)
    branches = len(alternatives(value))
    for tensor in found:
        if tensor.traits & COPYING:
            late_read(frame, node, tensor, value_node)
        rank = on_accelerator(tensor)
        if rank >= 0:
            if branches > 1:
                rank = min(rank, 1)
            frame.notes.append(HostReadNote(node, sink, tensor, value_node, rank, frame.caught > 0))
            return


def late_read(frame: Frame, node: cst.CSTNode, tensor: Tensor, value_node: cst.CSTNode) -> None:
    """The host reads a copy that may not have landed."""
    if tensor.origin is None:
        return
    for step in tensor.origin.chain():
        if step.node in frame.unsynchronized:
            frame.unsynchronized.discard(step.node)
            frame.notes.append(LateReadNote(step.node, node, tensor, value_node))
            return
