"""Nodes of autograd's graph: on which device each of them computes gradients.

A node computes where its result was.  PyTorch knows that by the result's device, which here is
always the host.  But below each node there is a leaf, and between the two the device changes only
where a tensor was moved, or in a function of the user's: those are noted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from runtime_guard.core.placement import CPU, intern_device, placement_of
from runtime_guard.core.torch_internals import real_device

_NOTE = "devlint devices of the outputs"
_ENOUGH = 200
"""After so many nodes the search is given up."""


def note_outputs(outputs: Iterable[torch.Tensor]) -> None:
    """The node that gave ``outputs`` has inputs elsewhere than these are."""
    for output in outputs:
        node: Any = output.grad_fn
        if node is not None:
            node.metadata.setdefault(_NOTE, {})[output.output_nr] = _where(output)


def device_of_node(node: Any) -> torch.device | None:
    """Where ``node`` computes; None where nothing near it says so.

    A 0-dim tensor of the host may have met an accelerator's: it says nothing.
    """
    nodes, seen = [node], {node}
    scalar: torch.device | None = None
    for current in nodes:
        for below, number in current.next_functions:
            if below is None:
                continue
            noted = below.metadata.get(_NOTE)
            if noted is not None:
                found: torch.device | None = noted.get(number)
                if found is not None:
                    return found
                continue
            leaf = getattr(below, "variable", None)
            if leaf is not None:
                device = _where(leaf)
                if leaf.dim() or device is not CPU:
                    return device
                scalar = device
            elif below not in seen and len(nodes) < _ENOUGH:
                seen.add(below)
                nodes.append(below)
    return scalar


def _where(tensor: torch.Tensor) -> torch.device:
    placement = placement_of(tensor)
    return placement.device if placement is not None else intern_device(real_device(tensor))
