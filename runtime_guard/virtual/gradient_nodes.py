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
_ZEROS = "devlint devices of gradients that are missing"
_ENOUGH = 200
"""After so many nodes the search is given up."""


def note_outputs(outputs: Iterable[torch.Tensor]) -> None:
    """The node that gave ``outputs`` has inputs elsewhere than these are."""
    for output in outputs:
        node: Any = output.grad_fn
        if node is not None:
            node.metadata.setdefault(_NOTE, {})[output.output_nr] = _where(output)


class _Missing:
    """Pre hook of a node: the devices of its outputs that have no gradient, in their order."""

    __slots__ = ("devices", "found")

    def __init__(self, devices: dict[int, torch.device]) -> None:
        self.devices = devices
        self.found: list[torch.device | None] = []

    def __call__(self, gradients: tuple[Any, ...]) -> None:
        missing = (position for position, one in enumerate(gradients) if one is None)
        self.found[:] = map(self.devices.get, missing)


def note_missing(node: Any) -> None:
    """``node`` is of a custom function, whose outputs were noted.

    Its ``backward`` is given zeros for those that nobody has used, which C++ makes of sizes alone
    (``PyNode::apply`` in ``torch/csrc/autograd/python_function.cpp``).
    """
    hook = _Missing(node.metadata[_NOTE])
    node.metadata[_ZEROS] = hook.found
    node.register_prehook(hook)


def device_of_zeros(node: Any) -> torch.device | None:
    """Where the next of these zeros belongs; None where there is none to be made."""
    missing = node.metadata.get(_ZEROS)
    return missing.pop(0) if missing else None


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
