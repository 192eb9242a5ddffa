"""The tensors among values that are handed around."""

from __future__ import annotations

from typing import Any

import torch


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors of a value, and of the lists and tuples in it."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []
