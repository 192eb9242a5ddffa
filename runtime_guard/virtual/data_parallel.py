"""``torch.nn.parallel.comm``: what ``DataParallel`` asks of the cards of one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from runtime_guard.core.placement import CPU


def comm_api() -> dict[str, Callable[..., Any]]:
    """``torch.nn.parallel.comm``: the collectives of ``DataParallel``, as copies and sums."""

    def device(index: Any) -> torch.device:
        return torch.device("cpu") if index in (-1, CPU) else torch.device(index)

    def broadcast(tensor: torch.Tensor, devices: Any = None, *, out: Any = None) -> Any:
        if out is not None:
            for copy in out:
                copy.copy_(tensor)
            return tuple(out)
        return tuple(tensor.to(device(d)) for d in devices)

    def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 0) -> Any:
        return [[t.to(device(d)) for t in tensors] for d in devices]

    def reduce_add(inputs: Any, destination: Any = None) -> torch.Tensor:
        target = inputs[0].device if destination is None else device(destination)
        total: torch.Tensor = inputs[0].to(target)
        for tensor in inputs[1:]:
            total = total + tensor.to(target)
        return total

    def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 0) -> Any:
        return tuple(reduce_add(group, destination) for group in zip(*inputs, strict=True))

    def scatter(
        tensor: torch.Tensor,
        devices: Any = None,
        chunk_sizes: Any = None,
        dim: int = 0,
        streams: Any = None,
        *,
        out: Any = None,
    ) -> Any:
        count = len(devices if devices is not None else out)
        chunks = (
            tensor.chunk(count, dim)
            if chunk_sizes is None
            else torch.split(tensor, chunk_sizes, dim)
        )
        if out is not None:
            for copy, chunk in zip(out, chunks, strict=False):
                copy.copy_(chunk)
            return tuple(out)
        return tuple(c.to(device(d), copy=True) for c, d in zip(chunks, devices, strict=False))

    def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
        if out is not None:
            return torch.cat([t.to(out.device) for t in tensors], dim, out=out)
        target = tensors[0].device if destination is None else device(destination)
        return torch.cat([t.to(target) for t in tensors], dim)

    return {
        "broadcast": broadcast,
        "broadcast_coalesced": broadcast_coalesced,
        "reduce_add": reduce_add,
        "reduce_add_coalesced": reduce_add_coalesced,
        "scatter": scatter,
        "gather": gather,
    }
