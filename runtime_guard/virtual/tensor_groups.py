"""Tensors by device and dtype, as optimizers and ``clip_grad_norm_`` ask C++ for them."""

from __future__ import annotations

import torch

from runtime_guard.core.placement import CPU
from runtime_guard.core.torch_internals import disable_torch_function
from runtime_guard.virtual.moves import device_of

Group = tuple[list[list[torch.Tensor | None]], list[int]]


def grouped(
    lists: list[list[torch.Tensor | None]], with_indices: bool = False
) -> dict[tuple[torch.device, torch.dtype], Group]:
    """Tensors that belong together, by device and dtype of those in the first list.

    What optimizers and ``clip_grad_norm_`` ask C++ for, which knows no virtual devices
    (``aten/src/ATen/native/ForeachUtils.h``; an optimizer's steps may be on the host).
    """
    with disable_torch_function():  # thousands of `.dtype` in one step of a large model
        return _grouped(lists, with_indices)


def _grouped(
    lists: list[list[torch.Tensor | None]], with_indices: bool
) -> dict[tuple[torch.device, torch.dtype], Group]:
    groups: dict[tuple[torch.device, torch.dtype], Group] = {}
    for position, first in enumerate(lists[0]):
        assert first is not None
        device, dtype = key = (device_of(first), first.dtype)
        members, indices = groups.setdefault(key, ([[] for _ in lists], []))
        if with_indices:
            indices.append(position)
        for group, tensors in zip(members, lists, strict=True):
            if not tensors:
                continue
            tensor = tensors[position]
            group.append(tensor)
            if tensor is None:
                continue
            step = tensor.dtype in (torch.float32, torch.float64)
            if not (tensor.dtype is dtype or step) or not (
                (where := device_of(tensor)) is device or (where is CPU and step)
            ):
                raise RuntimeError(
                    "Tensors of the same index must be on the same device and the same dtype "
                    "except `step` tensors that can be CPU and float32/64 notwithstanding"
                )
    return groups
