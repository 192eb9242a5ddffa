"""Attention by the backend that a program chose: which of them CUDA could take, run on the host.

The host's kernels know two of CUDA's four backends.  Where the choice rules these two out, and
CUDA had a kernel, the host's own choice computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from runtime_guard.core.torch_internals import disable_torch_function
from runtime_guard.virtual.moves import device_of

_HALVES = (torch.float16, torch.bfloat16)
_CUDA: Any = torch.backends.cuda


@dataclass(frozen=True)
class Operands:
    """What attention is asked for, and the compute capability of the card."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None
    capability: tuple[int, int]
    causal: bool = False

    @property
    def widths(self) -> set[int]:
        """The sizes of a head."""
        return {tensor.size(-1) for tensor in (self.query, self.key, self.value)}


def _flash(operands: Operands) -> bool:
    query, key, widths = operands.query, operands.key, operands.widths
    return (
        operands.capability >= (8, 0)
        and query.dtype in _HALVES
        and operands.mask is None
        and len(widths) == 1
        and max(widths) <= 256
        and not (operands.causal and query.size(-2) != key.size(-2))
    )


def _efficient(operands: Operands) -> bool:
    wide = operands.query.dtype is not torch.bfloat16 or operands.capability >= (8, 0)
    return wide and operands.query.dtype in (*_HALVES, torch.float32)


def _cudnn(operands: Operands) -> bool:
    return (
        operands.capability >= (8, 0)
        and operands.query.dtype in _HALVES
        and all(width <= 128 and width % 8 == 0 for width in operands.widths)
    )


@dataclass(frozen=True)
class _Backend:
    """A kernel of CUDA's: is it allowed, and does it take these operands?

    ``native/transformers/cuda/sdp_utils.cpp``.
    """

    allowed: Callable[[], bool]
    fits: Callable[[Operands], bool]

    def takes(self, operands: Operands) -> bool:
        return self.allowed() and operands.query.dim() == 4 and self.fits(operands)


_BACKENDS = {
    "can_use_flash_attention": _Backend(_CUDA.flash_sdp_enabled, _flash),
    "can_use_efficient_attention": _Backend(_CUDA.mem_efficient_sdp_enabled, _efficient),
    "can_use_cudnn_attention": _Backend(getattr(_CUDA, "cudnn_sdp_enabled", lambda: False), _cudnn),
}
"""By the question of ``torch.backends.cuda``."""


def check_backends(operands: Operands) -> None:
    """Raise CUDA's error where no backend that is allowed takes the operands."""
    if not any(backend.takes(operands) for backend in _BACKENDS.values()):
        raise RuntimeError("No available kernel. Aborting execution.")


def questions(capability: tuple[int, int]) -> dict[str, Any]:
    """``can_use_flash_attention`` and its kind, of a card of that compute capability."""

    def answer(backend: _Backend) -> Callable[..., bool]:
        def can_use(params: Any, debug: bool = False) -> bool:
            query, mask = params.query, params.attn_mask
            with disable_torch_function():
                on_a_card = device_of(query).type == "cuda"
            asked = (query, params.key, params.value, mask, capability, params.is_causal)
            return on_a_card and backend.takes(Operands(*asked))

        return can_use

    return {name: answer(backend) for name, backend in _BACKENDS.items() if hasattr(_CUDA, name)}


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
