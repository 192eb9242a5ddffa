"""Which operands PyTorch lets meet: its own rules, in one pure function, and what it says.

Nothing here looks at a tensor; operands come as ``Operand`` records.  Sources of the rules:

* the code that ``torchgen`` writes around CUDA kernels (``torchgen/dest/register_dispatch_key.py``,
  ``c10::impl::common_device_check_failure``): all tensor arguments on one device, no exception for
  0-dim tensors, unless ``native_functions.yaml`` says ``device_check: NoCheck``.  Which functions
  that are is ``device_checks``, generated from that file;
* ``aten/src/ATen/TensorIterator.cpp`` (``compute_types``): a 0-dim CPU *input* is accepted beside
  an accelerator when the iterator allows CPU scalars, and only one of them;
* ``aten/src/ATen/native/TensorAdvancedIndexing.cpp`` and ``cuda/IndexKernel.cpp``: reading, CPU
  indices are accepted into an accelerator's tensor, the reverse is not; writing, ``make_info``
  copies indices to the tensor's device, wherever they are;
* ``torch/_subclasses/fake_tensor.py`` and ``fake_impls.py`` for the devices of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from runtime_guard.agreement.device_checks import STRUCTURED
from runtime_guard.agreement.operators import (
    COPIES,
    HOST_ARGUMENTS,
    INDEX_WRITES,
    INDEXING,
    ITERATED,
    POINTWISE,
    READ_BY_ITEM,
    SHAPE_ONLY,
    allows_cpu_scalar,
    base_name,
    is_checked,
    overload_name,
)


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor argument of an operation, as far as device rules look at it."""

    name: str
    """The schema's argument name, with an index for an element of a list: ``tensors[1]``."""
    device: torch.device
    dim: int
    numel: int
    written: bool = False
    """True for ``self`` of an in-place operation and for ``out=``."""
    mask: bool = False
    """True for a boolean tensor."""
    type_name: str = "FloatTensor"
    """The legacy name of its dtype."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """PyTorch refuses these operands: what it says, and which two of them contradict each other."""

    message: str
    first: int
    second: int
    error: type[Exception] = RuntimeError


HOST_ONLY: dict[tuple[str, str], str] = {
    # arguments that an accelerator's tensor is refused for
    ("_pack_padded_sequence", "lengths"): "'lengths' argument should be a 1D CPU int64 tensor, but "
    "got {dim}D {device} Long tensor",
    ("tensor_split", "tensor_indices_or_sections"): "tensor_split expected "
    "tensor_indices_or_sections to be on cpu, but it's on {device}",
}
OWN_TEXTS: dict[str, str] = {
    # operations without a generated check, or whose callers check before it, in their own words
    "grid_sampler_2d": "grid_sampler(): expected input and grid to be on same device, but input is "
    "on {input} and grid is on {grid}",
    "grid_sampler_3d": "grid_sampler(): expected input and grid to be on same device, but input is "
    "on {input} and grid is on {grid}",
    "masked_fill": "expected self and mask to be on the same device, but got mask on {mask} and "
    "self on {self}",
    "masked_fill_": "expected self and mask to be on the same device, but got mask on {mask} and "
    "self on {self}",
}
CONVOLUTIONS = frozenset({"convolution", "convolution_overrideable", "_convolution"})
KERNEL_OF = {
    # composite kernels whose check is that of the kernel below them
    "embedding": "wrapper_CUDA__index_select",
    "stack": "wrapper_CUDA_cat",
    "complex": "wrapper_CUDA_out_complex_out",
    "polar": "wrapper_CUDA_out_polar_out",
    # what CUDA takes for it, of float32 at least
    "_scaled_dot_product_flash_attention_for_cpu": (
        "wrapper_CUDA___scaled_dot_product_efficient_attention"
    ),
}
ARGUMENT_OF = {
    # what such a kernel calls an argument
    ("_scaled_dot_product_flash_attention_for_cpu", "attn_mask"): "attn_bias",
}

LEGACY_NAMES = {
    torch.float32: "FloatTensor",
    torch.float64: "DoubleTensor",
    torch.float16: "HalfTensor",
    torch.bfloat16: "BFloat16Tensor",
    torch.uint8: "ByteTensor",
    torch.int8: "CharTensor",
    torch.int16: "ShortTensor",
    torch.int32: "IntTensor",
    torch.int64: "LongTensor",
    torch.bool: "BoolTensor",
}


def decide(func: Any, operands: Sequence[Operand]) -> int | Refusal:
    """The index of the operand whose device the results get, or PyTorch's refusal.

    ``operands`` are all tensor arguments in schema order.  Raises nothing.
    """
    name = base_name(func)
    if name in COPIES or name in SHAPE_ONLY:
        return 0
    if name in INDEXING:
        return _decide_indexing(name, operands)
    if name.startswith("_foreach_"):
        return _decide_foreach(func, operands)
    host = HOST_ARGUMENTS.get(name)
    scalars_allowed = allows_cpu_scalar(func)
    common = _common_index(operands, scalars_allowed, host)
    if is_checked(func):  # torchgen's check begins with `out`
        common = next((i for i, o in enumerate(operands) if o.written and o.name != "self"), common)
    device = operands[common].device
    if host is not None:
        for position, operand in enumerate(operands):
            text = HOST_ONLY.get((name, operand.name))
            if text is not None and operand.device.type != "cpu":
                sentence = text.format(dim=operand.dim, device=operand.device)
                return Refusal(sentence, common, position)
    cpu_scalars = 0
    for position, operand in enumerate(operands):
        if operand.device == device or (name, operand.name) in READ_BY_ITEM:
            continue
        if host is not None and operand.name.partition("[")[0] in host:
            if operand.device.type in ("cpu", "meta"):
                continue
        elif operand.device.type == "cpu":
            if scalars_allowed and operand.dim == 0 and not operand.written:
                cpu_scalars += 1
                if cpu_scalars > 1 and name != "where":
                    return Refusal(
                        "Trying to pass too many CPU scalars to non-CPU kernel!", common, position
                    )
                continue
            if name in ("masked_fill", "masked_fill_") and operand.name == "value":
                continue  # a 0-dim value is read by item()
        return _refuse(func, name, operands, common, position)
    return common


def _common_index(
    operands: Sequence[Operand], scalars_allowed: bool, host: frozenset[str] | None
) -> int:
    """The operand that the others have to agree with.

    TensorIterator takes the first that is not on the host; the generated wrappers take the first.
    """
    candidates = [
        position
        for position, operand in enumerate(operands)
        if host is None or operand.name.partition("[")[0] not in host
    ]
    if scalars_allowed:
        for position in candidates:
            if operands[position].device.type != "cpu":
                return position
    return candidates[0] if candidates else 0


def _decide_indexing(name: str, operands: Sequence[Operand]) -> int | Refusal:
    device = operands[0].device
    for position, operand in enumerate(operands[1:], 1):
        if operand.device == device:
            continue
        if operand.name.startswith(("indices", "mask")):
            if operand.device.type == "cpu" or name in INDEX_WRITES:
                continue
            return Refusal(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({device})",
                0,
                position,
            )
        # a 0-dim value is moved, a single host value fills a mask (_index_put_impl_)
        if operand.dim == 0 or (operand.device.type == "cpu" and _fills_a_mask(operand, operands)):
            continue
        return Refusal(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{device} and {operand.device}!"
            if name != "_index_put_impl_"
            else f"expected device {device} but got device {operand.device} for value tensor",
            0,
            position,
        )
    return 0


def fills_a_mask(operands: Sequence[Operand]) -> bool:
    """Is it ``x[mask] = number``?  CUDA runs ``masked_fill_`` then, and nobody waits."""
    value = next((o for o in operands if o.name in ("values", "value")), None)
    return (
        value is not None and value.device.type == "cpu" and _fills_a_mask(value, operands)
    ) and all(o.device == operands[0].device for o in operands if o.mask)


def _fills_a_mask(value: Operand, operands: Sequence[Operand]) -> bool:
    indices = [o for o in operands if o.name.startswith("indices")]
    return value.numel == 1 and len(indices) == 1 and indices[0].mask


def _decide_foreach(func: Any, operands: Sequence[Operand]) -> int | Refusal:
    """Lists meet position by position; a lone 0-dim CPU tensor is a scalar for all of them."""
    first_of: dict[str, int] = {}
    for position, operand in enumerate(operands):
        index = operand.name.partition("[")[2]
        at = first_of.setdefault(index, position)
        if operands[at].device == operand.device:
            continue
        if operand.device.type == "cpu" and operand.dim == 0:
            continue
        if not index and operand.dim == 0:
            continue
        return _refuse(func, base_name(func), operands, at, position)
    return 0


def _refuse(
    func: Any, name: str, operands: Sequence[Operand], common: int, position: int
) -> Refusal:
    expected, found = operands[common], operands[position]
    if name in CONVOLUTIONS and expected.device.type != found.device.type:
        return Refusal(_convolution_text(expected, found), common, position)
    own = OWN_TEXTS.get(name)
    if own is not None:
        devices = {o.name: o.device for o in operands}
        try:
            return Refusal(own.format(**devices), common, position)
        except KeyError:
            pass
    if not is_checked(func) and (
        torch.Tag.pointwise in func.tags or name in POINTWISE or name in ITERATED
    ):
        accelerator, other = (
            (expected, found) if expected.device.type != "cpu" else (found, expected)
        )
        return Refusal(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{accelerator.device} and {other.device}!",
            common,
            position,
        )
    kernel = KERNEL_OF.get(name) or _wrapper_name(func, name)
    argument = found.name.partition("[")[0]
    argument = ARGUMENT_OF.get((name, argument), argument)
    return Refusal(
        f"Expected all tensors to be on the same device, but got {argument} is on {found.device}, "
        f"different from other tensors on {expected.device} (when checking argument in method "
        f"{kernel})",
        common,
        position,
    )


def _convolution_text(expected: Operand, found: Operand) -> str:
    """``check_input_same_type_as_parameters`` in ``aten/src/ATen/native/Convolution.cpp``."""

    def legacy(operand: Operand) -> str:
        kind = "" if operand.device.type == "cpu" else f"{operand.device.type}."
        return f"torch.{kind}{operand.type_name}"

    text = f"Input type ({legacy(expected)}) and {found.name} type ({legacy(found)}) should be the "
    if expected.device.type == "cpu":
        return text + "same or input should be a MKLDNN tensor and weight is a dense tensor"
    return text + "same"


def _wrapper_name(func: Any, name: str) -> str:
    """What torchgen calls the function that it writes around a CUDA kernel."""
    overload = func._schema.overload_name
    suffix = "_out" if any(r.alias_info for r in func._schema.returns) and name[-1] != "_" else ""
    if overload_name(func) in STRUCTURED:
        return f"wrapper_CUDA_{name}{suffix}" + (f"_{overload}" if overload else "")
    return f"wrapper_CUDA_{overload}_{name}{suffix}"
