"""Operations that accelerators have and the host's kernels have not, or have otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Kernel = Callable[..., torch.Tensor]


def histogram_of_integers(
    tensor: torch.Tensor, bins: int = 100, min: Any = 0, max: Any = 0
) -> torch.Tensor:
    """``torch.histc`` of integers: CUDA has it (``getBin`` in ``native/cuda/SummaryOps.cu``)."""
    values = tensor.reshape(-1).to(torch.int64)
    low, high = int(min), int(max)
    if low == high and values.numel():
        low, high = int(values.min()), int(values.max())
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise RuntimeError("max must be larger than min")
    inside = values[(values >= low) & (values <= high)]
    bin_of = torch.div((inside - low) * bins, high - low, rounding_mode="trunc")
    counts = torch.bincount(bin_of.clamp_(max=bins - 1), minlength=bins)
    return counts.to(tensor.dtype)


def _of_integers(args: tuple[Any, ...]) -> bool:
    return not args[0].is_floating_point() and args[0].dtype is not torch.bool


KERNELS: dict[str, tuple[Callable[[tuple[Any, ...]], bool], Kernel]] = {
    "histc": (_of_integers, histogram_of_integers),
}
"""By operator: for which arguments, and what computes it on the host."""


def kernel_of(name: str, func: Any, args: tuple[Any, ...]) -> Any:
    """What computes the operator ``name`` for an accelerator; ``func`` where the host has it."""
    applies, kernel = KERNELS[name]
    if not applies(args):
        return func

    def compute(*args: Any, out: torch.Tensor | None = None, **kwargs: Any) -> torch.Tensor:
        result = kernel(*args, **kwargs)
        return result if out is None else out.resize_(result.shape).copy_(result)

    return compute
