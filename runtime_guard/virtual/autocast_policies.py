"""What autocast does to which operation: an accelerator's lists, and the host's.

Which operations either knows is PyTorch's own table.  What it does to an accelerator's is in
``aten/src/ATen/autocast_mode.h``, to the host's in ``autocast_mode.cpp`` beside it.
"""

from __future__ import annotations

from enum import Enum


class Policy(Enum):
    """What autocast does to an operation."""

    LOWER = "lower_precision_fp"
    """The tensors are cast to autocast's dtype."""
    FLOAT32 = "fp32"
    """The tensors are cast to float32."""
    RESULT_FLOAT32 = "fp32_set_opt_dtype"
    """The result is wanted in float32, unless the caller wants another dtype."""
    PROMOTE = "promote"
    """The tensors are cast to the widest of their dtypes."""
    REFUSE = "banned"
    """Raises: float16 would overflow."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FLOAT32 = _names(
    """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow
    softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm nuclear_norm
    cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d
    hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
    margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
    multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp
    upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa
    linalg_matrix_sqrth
    batch_norm
    """
)
"""The last one is in the table of MPS alone, that before it is new in torch 2.14."""
RESULT_FLOAT32 = _names(
    "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum norm"
)
PROMOTE = _names(
    "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add"
)
LOWER_ON_THE_HOST = _names(
    """
    conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d _convolution
    mm bmm matmul linear addmm addbmm baddbmm linalg_vecdot _addmm_activation prelu
    mkldnn_rnn_layer scaled_dot_product_attention _native_multi_head_attention
    """
)
PROMOTE_ON_THE_HOST = _names("stack cat index_copy")


def policy_of(operator: str) -> Policy:
    """What an accelerator's autocast does to an operator of its table, such as ``aten::sum``."""
    name = operator.partition("::")[2].partition(".")[0]
    if name in FLOAT32:
        return Policy.FLOAT32
    if name in RESULT_FLOAT32:
        return Policy.RESULT_FLOAT32
    if name in PROMOTE:
        return Policy.PROMOTE
    return Policy.REFUSE if name == "binary_cross_entropy" else Policy.LOWER


def policy_on_the_host(operator: str) -> Policy:
    """What the host's autocast does to an operator of its table."""
    name = operator.partition("::")[2].partition(".")[0]
    if name in LOWER_ON_THE_HOST:
        return Policy.LOWER
    return Policy.PROMOTE if name in PROMOTE_ON_THE_HOST else Policy.FLOAT32
