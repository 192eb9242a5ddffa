"""The graph that ``make_fx`` draws while virtual tensors are computed with.

PyTorch draws what it sees, which is the host at every operation that chooses a device.  Run later,
the graph has to choose the device that the result was on.
"""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.placement import CPU, plain_part
from runtime_guard.core.torch_internals import PROXY, copy_below, is_tracing
from runtime_guard.virtual.machine import UnsupportedVirtually

_CONSTANT = torch.ops.aten.lift_fresh_copy.default
"""What is drawn of ``torch.tensor([1.0])``: a copy of a constant, which is the host's."""


def draw_on(result: Any, device: torch.device) -> None:
    """Let the operation that gave ``result`` name ``device`` in the graph, where one is drawn."""
    mode = is_tracing(PROXY)
    if mode is None or not isinstance(result, torch.Tensor):
        return
    inner = plain_part(result)
    drawn = mode.tracer.tensor_tracker.get(result if inner is None else inner)
    if drawn is None:
        return
    node = drawn.proxy.node
    if node.target is _CONSTANT:
        node.target = copy_below
    if any(argument.name == "device" for argument in node.target._schema.arguments):
        node.kwargs = {**node.kwargs, "device": device}
    elif device is not CPU:
        raise UnsupportedVirtually(
            f"make_fx on virtual devices: {node.target} would be drawn on the host"
        )
