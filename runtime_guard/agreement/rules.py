"""Which operands PyTorch lets meet: its own rules, op by op, as data and one pure function.

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from runtime_guard.agreement.device_checks import STRUCTURED, UNSTRUCTURED


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


def _names(text: str) -> list[str]:
    return text.split()


POINTWISE = frozenset(
    # point-wise by their kernels (a TensorIterator with CPU scalars allowed), not tagged as such
    _names(
        """
    where rsub floor_divide floor_divide_ lerp lerp_ addcmul addcmul_ addcdiv addcdiv_
    masked_fill masked_fill_ float_power fmod fmod_ copysign copysign_ heaviside_ eq_ ne_ ge_
    le_ gt_ lt_ __ilshift__ __irshift__ normal_ bernoulli bernoulli_ mse_loss smooth_l1_loss
    dist binomial
    """
    )
)
COPIES = frozenset(
    # the two sides may live anywhere: at::native::copy_ is the transfer itself
    _names(
        """
    copy_ copy _to_copy _copy_from _copy_from_and_resize _foreach_copy_ _foreach_copy
    copy_sparse_to_sparse_ _copy_tensor_data
    """
    )
)
SHAPE_ONLY = frozenset(
    # the other tensor only lends its shape, or its one value, which is read by item()
    _names(
        """
    resize_as_ resize_as resize_as_sparse_ resize_as_sparse expand_as view_as reshape_as
    set_data _has_same_storage_numel is_same_size result_type
    fill fill_ _has_compatible_shallow_copy_type sym_size sym_stride sym_numel sym_storage_offset
    size stride numel is_set_to
    """
    )
)
INDEXING = frozenset(
    _names(
        """
    index index_put index_put_ _index_put_impl_ _unsafe_index _unsafe_index_put
    _unsafe_masked_index _unsafe_masked_index_put_accumulate
    """
    )
)
INDEX_WRITES = frozenset(_names("index_put index_put_ _index_put_impl_ _unsafe_index_put"))
"""Indexing that copies its indices to the tensor's device, wherever they are."""
COMPOSITES = frozenset(
    # run the same kernel on every device, made of other operations only: what their operands may
    # be is a matter of the operations in it (convolutions, for one, reach into memory instead)
    _names(
        """
    _euclidean_dist _trilinear addr_ allclose as_strided_scatter bernoulli
    binary_cross_entropy_with_logits copy diagonal_scatter dist embedding embedding_renorm
    fill huber_loss_backward index_fill ldexp ldexp_ linalg_lstsq linalg_pinv logical_and
    logical_and_ logical_or logical_or_ logical_xor logical_xor_ masked_fill masked_scatter
    mv put rrelu_with_noise_backward select_scatter slice_scatter smooth_l1_loss_backward
    soft_margin_loss soft_margin_loss_backward xlogy
    """
    )
)
HOST_ARGUMENTS: dict[str, frozenset[str]] = {
    # arguments that must or may be on the host, whatever the others are
    "_pack_padded_sequence": frozenset({"lengths"}),
    "_pad_packed_sequence": frozenset({"batch_sizes"}),
    "_ctc_loss": frozenset({"input_lengths", "target_lengths", "targets"}),
    "ctc_loss": frozenset({"input_lengths", "target_lengths"}),
    "_cudnn_rnn": frozenset({"dropout_state"}),
    "tensor_split": frozenset({"tensor_indices_or_sections"}),
    "_fused_adam_": frozenset({"lr"}),
    "_fused_adamw_": frozenset({"lr"}),
    "_fused_sgd_": frozenset({"lr"}),
    "_fused_adagrad_": frozenset({"lr"}),
    "_nested_view_from_buffer": frozenset({"nested_size", "nested_strides", "offsets"}),
    # the dummy of a jagged tensor is on the meta device
    "_nested_view_from_jagged": frozenset({"dummy"}),
    "_nested_view_from_jagged_copy": frozenset({"dummy"}),
    "_nested_view_from_buffer_copy": frozenset({"nested_size", "nested_strides", "offsets"}),
    "_scaled_dot_product_flash_attention_backward": frozenset({"philox_seed", "philox_offset"}),
    "_scaled_dot_product_efficient_attention_backward": frozenset({"philox_seed", "philox_offset"}),
}
OTHERWISE = frozenset(
    {
        "histc",
        "batch_norm_stats",
        "batch_norm_gather_stats_with_counts",
        "batch_norm_elemt",
        "batch_norm_backward_reduce",
        "batch_norm_backward_elemt",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_efficient_attention_backward",
    }
)
"""Operations with other kernels on an accelerator than on the host (and all of ``c10d``)."""
HOST_KERNELS = frozenset(
    # operations that PyTorch has a kernel of for the host only
    _names(
        """
    histogram _histogramdd_bin_edges _histogramdd_from_bin_cts _histogramdd_from_bin_tensors
    _spdiags to_mkldnn
    """
    )
)
READ_BY_ITEM = frozenset({("index_fill_", "value")})
"""0-dim arguments that may be on any device."""
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
    "complex": "wrapper_CUDA_out_complex_out",
    "polar": "wrapper_CUDA_out_polar_out",
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

SYNCS: dict[str, str] = {
    # operations after which the host has waited for the device, beside copies to the host
    "_local_scalar_dense": "reads one value",
    "nonzero": "its result's shape depends on the values",
    "masked_select": "its result's shape depends on the values",
    "_unique": "its result's shape depends on the values",
    "_unique2": "its result's shape depends on the values",
    "unique_dim": "its result's shape depends on the values",
    "unique_consecutive": "its result's shape depends on the values",
    "unique_dim_consecutive": "its result's shape depends on the values",
    "bincount": "its result's shape depends on the values",
    "histc": "reads the least and the greatest value",
    "equal": "returns a Python bool",
    "is_nonzero": "reads one value",
    "allclose": "returns a Python bool",
    "_linalg_check_errors": "reads whether the decomposition failed",
    # those that end with that check in C++, out of sight
    "_linalg_eigh": "reads whether the decomposition failed",
    "_linalg_svd": "reads whether the decomposition failed",
    "cholesky": "reads whether the decomposition failed",
    "cholesky_inverse": "reads whether the decomposition failed",
    "linalg_eig": "reads whether the decomposition failed",
    "linalg_lstsq": "reads whether the decomposition failed",
    "linalg_pinv": "reads whether the decomposition failed",
    "linalg_matrix_exp": "how it goes on depends on the norms",
    "repeat_interleave": "its result's shape depends on the values",
    "_to_sparse": "its result's shape depends on the values",
    "_coalesce": "its result's shape depends on the values",
    "_nested_tensor_from_mask_left_aligned": "reads the mask",
}


def _has_range(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """`torch.histc(x, 10, 0, 1)`: the range is given (``_histc_cuda_template``)."""
    least, greatest = (
        args[at] if len(args) > at else kwargs.get(name, 0) for at, name in ((2, "min"), (3, "max"))
    )
    return bool(least != greatest)


NO_SYNC_WITH: dict[str, Callable[[Sequence[Any], Mapping[str, Any]], bool]] = {
    # what arguments must say to spare the host the waiting
    "repeat_interleave": lambda args, kwargs: bool(kwargs.get("output_size")),
    "histc": _has_range,
}
READS: dict[str, tuple[str, str]] = {
    # arguments that the operation reads in C++, out of sight: the host waits if they are not there
    "fill_": ("value", "reads its value"),
    "index_fill": ("value", "reads its value"),
    "index_fill_": ("value", "reads its value"),
    "masked_fill": ("value", "reads its value"),
    "masked_fill_": ("value", "reads its value"),
    "normal": ("std", "reads whether a deviation is negative"),
    "searchsorted": ("sorter", "reads whether the sorter is within bounds"),
}
CALLED = {
    # operations that users know by another name
    "_local_scalar_dense": "item",
    "_unique": "unique",
    "_unique2": "unique",
    "_coalesce": "coalesce",
    "_to_sparse": "to_sparse",
    "_linalg_check_errors": "linalg",
    "_linalg_eigh": "eigh",
    "_linalg_svd": "svd",
}


def waits_to_read(name: str, device: torch.device, read: torch.device) -> bool:
    """Does the host wait for an argument of ``READS`` on ``read``, where the first is on
    ``device``?"""
    if read.type in ("cpu", "meta"):
        return False
    return name != "fill_" or device != read  # the value of one device is copied there


@cache
def base_name(func: Any) -> str:
    """``add_`` of ``aten.add_.Tensor``; the operator's name without namespace and overload."""
    name: str = func._schema.name.rpartition("::")[2]
    return name


@cache
def allows_cpu_scalar(func: Any) -> bool:
    """Does the operation accept a 0-dim CPU input beside an accelerator's tensor?"""
    name = base_name(func)
    if is_checked(func):
        return False
    return torch.Tag.pointwise in func.tags or name in POINTWISE


@cache
def overload_name(func: Any) -> str:
    """``add_.Tensor`` of ``aten.add_.Tensor``, as ``native_functions.yaml`` writes it."""
    return f"{base_name(func)}.{func._schema.overload_name}".rstrip(".")


@cache
def is_checked(func: Any) -> bool:
    """Does a generated check around its CUDA kernel want all its tensors on one device?"""
    name = overload_name(func)
    return name in STRUCTURED or name in UNSTRUCTURED


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
    if not is_checked(func) and (torch.Tag.pointwise in func.tags or name in POINTWISE):
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
