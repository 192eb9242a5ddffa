"""Attention by the backend that a program chose: which of them CUDA could take, run on the host.

The host's kernels know two of CUDA's four backends.  Where the choice rules these two out, and
CUDA had a kernel, the host's own choice computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_HALVES = (torch.float16, torch.bfloat16)
_CUDA: Any = torch.backends.cuda


def _flash(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any) -> bool:
    sizes = {t.size(-1) for t in (query, key, value)}
    return query.dtype in _HALVES and mask is None and len(sizes) == 1 and max(sizes) <= 256


def _efficient(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any) -> bool:
    return query.dtype in (*_HALVES, torch.float32)


def _cudnn(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any) -> bool:
    return query.dtype in _HALVES and all(
        t.size(-1) <= 128 and t.size(-1) % 8 == 0 for t in (query, key, value)
    )


_BACKENDS: tuple[tuple[Callable[[], bool], Callable[..., bool]], ...] = (
    (_CUDA.flash_sdp_enabled, _flash),
    (_CUDA.mem_efficient_sdp_enabled, _efficient),
    (getattr(_CUDA, "cudnn_sdp_enabled", lambda: False), _cudnn),
)
"""Is it allowed, and does it take these operands?  ``native/transformers/cuda/sdp_utils.cpp``."""


def check_backends(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any) -> None:
    """Raise CUDA's error where no backend that is allowed takes the operands."""
    for allowed, takes in _BACKENDS:
        if allowed() and query.dim() == 4 and takes(query, key, value, mask):
            return
    raise RuntimeError("No available kernel. Aborting execution.")


def takes_anything() -> bool:
    """Is the backend allowed that takes whatever it is given?"""
    return bool(_CUDA.math_sdp_enabled())


@contextmanager
def hosts_choice() -> Iterator[None]:
    """In the block the host may take any of its kernels."""
    before = _CUDA.flash_sdp_enabled()
    _CUDA.enable_math_sdp(True)
    _CUDA.enable_flash_sdp(True)
    try:
        yield
    finally:
        _CUDA.enable_math_sdp(False)
        _CUDA.enable_flash_sdp(before)
