"""Forward-mode differentiation: where tangents are.

One that is not laid out as its primal is copied by C++ below every hook, on its device
(``AutogradMeta::set_fw_grad`` in ``torch/csrc/autograd/autograd_meta.cpp``).  Such a copy is told
from the host's tensors where an operation or the program first sees it.  It is where its primal
is: a tangent that is given to ``make_dual`` may be elsewhere, all others are computed of these two.
"""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.placement import UNTAGGED, Placement, placement_of, storage_of, tag
from runtime_guard.core.tensors import tensors_of
from runtime_guard.core.torch_internals import (
    disable_torch_function,
    forward_ad,
    functions_in_cpp,
)
from runtime_guard.virtual.function_mode import Args, FunctionMode, Kwargs


def tag_operands(
    args: tuple[Any, ...], call: tuple[Any, ...] | None, beside: Placement | None
) -> None:
    """An operand that nobody has seen, in a function that was called with other tensors, was made
    in C++: it is ``beside`` them."""
    unseen = [t for t in tensors_of(args) if placement_of(t) is None and not t.is_meta]
    if not unseen or beside is None:
        return
    given = [storage_of(tensor) for tensor in tensors_of(call)]
    for tensor in unseen:
        storage = storage_of(tensor)
        if all(storage is not other for other in given):
            tag(tensor, beside.of_result())


def tag_tangents(primals: Any) -> None:
    """The program is about to see the tangents of ``primals``, or its function for them is."""
    level = forward_ad._current_level
    if level < 0:
        return
    with disable_torch_function():
        for primal in tensors_of(primals):
            _beside(primal, functions_in_cpp._unpack_dual(primal, level=level)[1])


def make_dual(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``forward_ad.make_dual(primal, tangent)``"""
    dual = mode.run(func, args, kwargs, beside=(args[1],))
    level = kwargs["level"] if "level" in kwargs else args[2]
    kept = functions_in_cpp._unpack_dual(dual, level=level)[1]
    if kept is not None and placement_of(kept) is None and not kept.is_meta:
        tag(kept, placement_of(args[1]) or UNTAGGED)
    return dual


def unpack_dual(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``forward_ad.unpack_dual(dual)``"""
    primal, tangent = result = mode.run(func, args, kwargs)
    _beside(primal, tangent)
    return result


def _beside(primal: torch.Tensor, tangent: torch.Tensor | None) -> None:
    placement = placement_of(primal)
    if tangent is not None and placement is not None and placement_of(tangent) is None:
        tag(tangent, placement.of_result())
