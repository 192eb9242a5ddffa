"""CUDA's libraries on a virtual machine: what programs ask of cuDNN, cuFFT, NVTX and attention.

Nothing is behind them: a question is answered as a card of the profile would answer, a cache is
empty, nobody listens.
"""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.patches import Patches
from runtime_guard.core.torch_internals import RELEASE, disable_torch_function
from runtime_guard.virtual import attention
from runtime_guard.virtual.machine import Machine, unsupported
from runtime_guard.virtual.moves import device_of
from runtime_guard.virtual.stand_ins import nothing, zero

VERSION = "13.0" if RELEASE >= (2, 11) else "12.8"
"""What ``torch.version.cuda`` says on a virtual CUDA machine where the build has no answer: that of
the release's build for CUDA on PyPI.  torchvision's wheel there compares it with its own."""
CUDNN_VERSION = 91002
"""Likewise ``torch.backends.cudnn.version()``: that of PyTorch 2.9's."""
CUFFT_PLANS = 4096
"""How many plans cuFFT's cache holds where a program says nothing (``CuFFTPlanCache.h``)."""


def patch_libraries(patches: Patches, machine: Machine) -> None:
    """Those that a virtual machine with CUDA says it has."""
    if not (torch.version.cuda or getattr(torch.version, "hip", None)):
        patches.set(torch.version, "cuda", VERSION)
    patches.set(torch.backends.cuda, "is_built", lambda: True)
    if hasattr(torch.backends.cuda, "is_flash_attention_available"):
        patches.set(torch.backends.cuda, "is_flash_attention_available", lambda: True)
    patches.update(torch.backends.cuda, attention.questions(machine.profiles["cuda"].capability))
    patches.set(torch.backends.cudnn, "is_acceptable", _is_acceptable)
    # weights of a recurrent layer stay as they are: there is no kernel that wants them in one piece
    patches.set(torch, "_use_cudnn_rnn_flatten_weight", lambda: False)
    if not torch._C._has_cudnn:
        patches.set(torch.backends.cudnn, "is_available", lambda: True)
        patches.set(torch.backends.cudnn, "version", lambda: CUDNN_VERSION)
    _patch_plans(patches, machine.counts["cuda"])
    patches.update(torch.cuda.nvtx, _nvtx())
    for name in ("start", "stop"):
        patches.set(torch.cuda.profiler, name, nothing())
    for dummy in _dummies():
        what = f"torch._C.{dummy.__name__}"
        patches.set(dummy, "__new__", unsupported(what, "there is no device behind it"))


def _is_acceptable(tensor: torch.Tensor) -> bool:
    """``torch.backends.cudnn.is_acceptable``."""
    with disable_torch_function():
        on_a_card = device_of(tensor).type == "cuda"
    allowed = torch._C._get_cudnn_enabled() and on_a_card
    return allowed and tensor.dtype in torch.backends.cudnn.CUDNN_TENSOR_DTYPES


def _patch_plans(patches: Patches, count: int) -> None:
    """cuFFT's caches of plans, one for each card, with nothing in them."""
    at_most = [CUFFT_PLANS] * count
    cuda: Any = torch.backends.cuda
    patches.set(cuda, "cufft_plan_cache", cuda.cuFFTPlanCacheManager())
    cache = vars(cuda.cuFFTPlanCache)
    patches.set(cache["size"], "getter", zero())
    patches.set(cache["max_size"], "getter", at_most.__getitem__)
    patches.set(cache["max_size"], "setter", at_most.__setitem__)
    patches.set(torch, "_cufft_clear_plan_cache", nothing())


def _nvtx() -> dict[str, Any]:
    """``torch.cuda.nvtx`` with nobody listening."""
    return {
        "range_push": zero(),
        "range_pop": zero(),
        "range_start": zero(),
        "range_end": nothing(),
        "mark": nothing(),
    }


def _dummies() -> list[type]:
    """What PyTorch's Python has in place of parts that this build is without."""
    return [
        value
        for value in vars(torch._C).values()
        if isinstance(value, type)
        and getattr(vars(value).get("__init__"), "__qualname__", "").startswith("_dummy_type.")
    ]
