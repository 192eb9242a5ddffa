"""Operations that accelerators have and the host's kernels have not, or have otherwise."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from runtime_guard.virtual.collectives import BY_ELEMENTS

Kernel = Callable[..., Any]


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


def _over_channels(tensor: torch.Tensor, value: torch.Tensor | None) -> Any:
    """One value per channel, as it meets a tensor of (batch, channels, …)."""
    return 1 if value is None else value.view(1, -1, *[1] * (tensor.dim() - 2))


def _but_channels(tensor: torch.Tensor) -> list[int]:
    return [dim for dim in range(tensor.dim()) if dim != 1]


def batch_statistics(tensor: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """``batch_norm_stats``: mean and inverse deviation of a card's part of the batch."""
    var, mean = torch.var_mean(tensor.float(), _but_channels(tensor), unbiased=False)
    return mean, torch.rsqrt(var + eps)


def joint_statistics(
    tensor: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    momentum: float,
    eps: float,
    counts: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """``batch_norm_gather_stats_with_counts``: those of all cards (Welford's formula)."""
    weights = counts.view(-1, 1).to(mean.dtype)
    total = weights.sum()
    joint = (weights * mean).sum(0) / total
    squares = (weights * (invstd**-2 - eps + (mean - joint) ** 2)).sum(0)
    if running_mean is not None:
        running_mean.lerp_(joint.to(running_mean.dtype), momentum)
    if running_var is not None:
        running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
    return joint, torch.rsqrt(squares / total + eps)


def normalized(
    tensor: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    """``batch_norm_elemt``."""
    scaled = (tensor - _over_channels(tensor, mean)) * _over_channels(tensor, invstd)
    scaled = scaled * _over_channels(tensor, weight)
    shifted: torch.Tensor = scaled if bias is None else scaled + _over_channels(tensor, bias)
    return shifted.to(tensor.dtype)


def summed_gradients(
    grad: torch.Tensor,
    tensor: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: torch.Tensor | None,
    *wanted: bool,
) -> tuple[torch.Tensor | None, ...]:
    """``batch_norm_backward_reduce``: what the cards add up."""
    dims, grad = _but_channels(tensor), grad.float()
    total = grad.sum(dims)
    moment = (grad * (tensor - _over_channels(tensor, mean))).sum(dims)
    of_input, of_weight, of_bias = wanted
    dtype = total.dtype if weight is None else weight.dtype
    return (
        total if of_input else None,
        moment if of_input else None,
        (moment * invstd).to(dtype) if of_weight else None,
        total.clone().to(dtype) if of_bias else None,
    )


def gradient_of_normalized(
    grad: torch.Tensor,
    tensor: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: torch.Tensor | None,
    total: torch.Tensor,
    moment: torch.Tensor,
    counts: torch.Tensor,
) -> torch.Tensor:
    """``batch_norm_backward_elemt``."""
    share = 1.0 / counts.sum()
    centred = (tensor - _over_channels(tensor, mean)) * _over_channels(
        tensor, invstd**2 * moment * share
    )
    result = grad - _over_channels(tensor, total * share) - centred
    result = result * _over_channels(tensor, invstd) * _over_channels(tensor, weight)
    assert isinstance(result, torch.Tensor)
    return result.to(tensor.dtype)


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None = None,
    compute_log_sumexp: bool = True,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[torch.Tensor, ...]:
    """``_scaled_dot_product_efficient_attention``; its random state stands for none."""
    out, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout_p, is_causal, attn_mask=bias, scale=scale
    )
    return out, sums, torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)


def gradient_of_attention(
    grad: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    out: torch.Tensor,
    sums: torch.Tensor,
    philox_seed: torch.Tensor,
    philox_offset: torch.Tensor,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[torch.Tensor | None, ...]:
    """``_scaled_dot_product_efficient_attention_backward``, without a gradient for ``bias``."""
    gradients = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, out, sums, dropout_p, is_causal, attn_mask=bias, scale=scale
    )
    return *gradients, None


def _always(args: tuple[Any, ...]) -> bool:
    return True


KERNELS: dict[str, tuple[Callable[[tuple[Any, ...]], bool], Kernel]] = {
    "histc": (_of_integers, histogram_of_integers),
    "batch_norm_stats": (_always, batch_statistics),
    "batch_norm_gather_stats_with_counts": (_always, joint_statistics),
    "batch_norm_elemt": (_always, normalized),
    "batch_norm_backward_reduce": (_always, summed_gradients),
    "batch_norm_backward_elemt": (_always, gradient_of_normalized),
    "_scaled_dot_product_efficient_attention": (_always, attention),
    "_scaled_dot_product_efficient_attention_backward": (_always, gradient_of_attention),
}
"""By operator: for which arguments, and what computes it on the host."""


def _by_elements(collective: Kernel, func: Any, *args: Any, **kwargs: Any) -> Any:
    return collective(func, args, kwargs)


def kernel_of(name: str, func: Any, args: tuple[Any, ...]) -> Any:
    """What computes the operator ``name`` for an accelerator; ``func`` where the host has it."""
    if name in BY_ELEMENTS:
        return functools.partial(_by_elements, BY_ELEMENTS[name], func)
    if name not in KERNELS:
        return func
    applies, kernel = KERNELS[name]
    if not applies(args):
        return func

    def compute(*args: Any, out: torch.Tensor | None = None, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        return result if out is None else out.resize_(result.shape).copy_(result)

    return compute
