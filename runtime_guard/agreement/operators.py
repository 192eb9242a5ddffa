"""Operators by name, as data: which kinds of them there are, and which of them wait for the device.

The tags of PyTorch's schemas say most of it; what stands here they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import torch

from runtime_guard.agreement.device_checks import STRUCTURED, UNSTRUCTURED


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
ITERATED = frozenset({"binary_cross_entropy"})
"""Point-wise on an accelerator (a TensorIterator there), with no scalar of the host allowed."""
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
    size stride numel is_set_to _new_zeros_with_same_feature_meta
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
