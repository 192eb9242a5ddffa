"""Around which CUDA kernels PyTorch generates a check that all tensors are on one device.

Written by scripts/generate_device_checks.py; do not edit.  Left out are functions that can have but
one tensor.  The two sets differ in how the check names the kernel in its message.
"""

TORCH = "2.13.0"
"""The release of PyTorch whose ``native_functions.yaml`` this is."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


STRUCTURED = _names(
    """
    _addmm_activation _addmm_activation.out _convert_indices_from_coo_to_csr.out
    _convert_indices_from_csr_to_coo _convert_indices_from_csr_to_coo.out _linalg_det.result
    _linalg_eigh.eigenvalues _linalg_slogdet.sign _linalg_solve_ex _linalg_solve_ex.result
    _linalg_svd.U _log_softmax.out _log_softmax_backward_data _log_softmax_backward_data.out
    _softmax.out _softmax_backward_data _softmax_backward_data.out _upsample_bicubic2d_aa.out
    _upsample_bicubic2d_aa_backward.grad_input _upsample_bilinear2d_aa.out
    _upsample_bilinear2d_aa_backward.grad_input _upsample_nearest_exact1d.out
    _upsample_nearest_exact1d_backward.grad_input _upsample_nearest_exact2d.out
    _upsample_nearest_exact2d_backward.grad_input _upsample_nearest_exact3d.out
    _upsample_nearest_exact3d_backward.grad_input acosh.out adaptive_max_pool2d.out
    adaptive_max_pool2d_backward adaptive_max_pool2d_backward.grad_input adaptive_max_pool3d.out
    adaptive_max_pool3d_backward adaptive_max_pool3d_backward.grad_input addmm addmm.out addmm_
    addmv addmv.out addmv_ amax.out amin.out argmax.out argmin.out asinh.out atanh.out
    avg_pool2d.out avg_pool2d_backward avg_pool2d_backward.grad_input avg_pool3d.out
    avg_pool3d_backward avg_pool3d_backward.grad_input baddbmm baddbmm.out baddbmm_ bmm bmm.out cat
    cat.out clamp.Tensor clamp_.Tensor clamp_max.Tensor clamp_max_.Tensor clamp_min.Tensor
    clamp_min_.Tensor elu_backward elu_backward.grad_input exp2.out fractional_max_pool2d
    fractional_max_pool2d.output fractional_max_pool2d_backward
    fractional_max_pool2d_backward.grad_input fractional_max_pool3d fractional_max_pool3d.output
    gather gather.out gcd gcd.out gcd_ gelu_backward gelu_backward.grad_input glu.out
    hardshrink_backward hardshrink_backward.grad_input hardsigmoid_backward
    hardsigmoid_backward.grad_input hash_tensor.out i0.out igamma igamma.out igamma_ igammac
    igammac.out igammac_ index_add index_add.out index_add_ index_copy index_copy.out index_copy_
    index_reduce index_reduce.out index_reduce_ isin.Scalar_Tensor isin.Scalar_Tensor_out
    isin.Tensor_Scalar isin.Tensor_Scalar_out isin.Tensor_Tensor isin.Tensor_Tensor_out isneginf.out
    isposinf.out lcm lcm.out lcm_ leaky_relu_backward leaky_relu_backward.grad_input
    linalg_cholesky_ex.L linalg_cross linalg_cross.out linalg_inv_ex.inverse
    linalg_ldl_factor_ex.out linalg_ldl_solve linalg_ldl_solve.out linalg_lu.out
    linalg_lu_factor_ex.out linalg_lu_solve linalg_lu_solve.out linalg_qr.out linalg_vector_norm.out
    logaddexp logaddexp.out logaddexp2 logaddexp2.out logit_backward logit_backward.grad_input
    lu_unpack lu_unpack.out max_pool2d_with_indices.out max_pool2d_with_indices_backward
    max_pool2d_with_indices_backward.grad_input mish.out mm mm.out nextafter nextafter.out
    nextafter_ nll_loss_backward nll_loss_backward.grad_input nll_loss_forward
    nll_loss_forward.output reflection_pad1d.out reflection_pad1d_backward
    reflection_pad1d_backward.grad_input reflection_pad3d.out reflection_pad3d_backward
    reflection_pad3d_backward.grad_input replication_pad1d.out replication_pad1d_backward
    replication_pad1d_backward.grad_input replication_pad2d.out replication_pad3d.out scatter.reduce
    scatter.reduce_out scatter.src scatter.src_out scatter.value scatter.value_out
    scatter.value_reduce scatter.value_reduce_out scatter_.reduce scatter_.src scatter_.value
    scatter_.value_reduce scatter_add scatter_add.out scatter_add_ scatter_reduce.two
    scatter_reduce.two_out scatter_reduce_.two sgn.out sigmoid_backward sigmoid_backward.grad_input
    signbit.out silu.out silu_backward silu_backward.grad_input sinc.out slow_conv_transpose2d
    slow_conv_transpose2d.out softplus_backward softplus_backward.grad_input softshrink_backward
    softshrink_backward.grad_input sort.values_stable special_airy_ai.out special_bessel_j0.out
    special_bessel_j1.out special_bessel_y0.out special_bessel_y1.out special_entr.out
    special_erfcx.out special_i0e.out special_i1.out special_i1e.out special_log_ndtr.out
    special_modified_bessel_i0.out special_modified_bessel_i1.out special_modified_bessel_k0.out
    special_modified_bessel_k1.out special_ndtri.out special_scaled_modified_bessel_k0.out
    special_scaled_modified_bessel_k1.out special_spherical_bessel_j0.out tanh_backward
    tanh_backward.grad_input threshold_backward threshold_backward.grad_input topk.values
    triangular_solve triangular_solve.X tril.out triu.out upsample_bicubic2d.out
    upsample_bicubic2d_backward.grad_input upsample_bilinear2d.out
    upsample_bilinear2d_backward.grad_input upsample_linear1d.out
    upsample_linear1d_backward.grad_input upsample_nearest1d.out
    upsample_nearest1d_backward.grad_input upsample_nearest2d.out
    upsample_nearest2d_backward.grad_input upsample_nearest3d.out
    upsample_nearest3d_backward.grad_input upsample_trilinear3d.out
    upsample_trilinear3d_backward.grad_input
    """
)
UNSTRUCTURED = _names(
    """
    _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward
    _amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_ _batch_norm_with_update
    _batch_norm_with_update.out _cdist_backward _cdist_forward _cholesky_solve_helper _chunk_cat
    _chunk_cat.out _compute_linear_combination _compute_linear_combination.out _conv_depthwise2d
    _conv_depthwise2d.out _cslt_sparse_mm _cslt_sparse_mm_search _ctc_loss _ctc_loss.Tensor
    _ctc_loss_backward _ctc_loss_backward.Tensor _cudnn_attention_backward _cudnn_attention_forward
    _cudnn_rnn_backward _cudnn_rnn_flatten_weight _cummax_helper _cummin_helper _dirichlet_grad
    _efficient_attention_forward _embedding_bag _embedding_bag_backward
    _embedding_bag_dense_backward _embedding_bag_forward_only
    _embedding_bag_per_sample_weights_backward _fake_quantize_learnable_per_channel_affine
    _fake_quantize_learnable_per_channel_affine_backward _fake_quantize_learnable_per_tensor_affine
    _fake_quantize_learnable_per_tensor_affine_backward
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fft_c2c.out _fft_c2r.out _fft_r2c.out
    _flash_attention_forward _flash_attention_forward.quantized
    _flash_attention_forward_no_dropout_inplace _fused_adagrad_ _fused_adam_ _fused_adamw_
    _fused_moving_avg_obs_fq_helper _fused_rms_norm _fused_rms_norm_backward _fused_sdp_choice
    _fused_sgd_ _grouped_mm _int_mm _int_mm.out _jagged_to_padded_dense_forward _logcumsumexp.out
    _make_per_channel_quantized_tensor _masked_scale _masked_softmax _masked_softmax_backward
    _mixed_dtypes_linear _native_batch_norm_legit _native_batch_norm_legit.no_stats
    _native_batch_norm_legit.no_stats_out _native_batch_norm_legit.out _native_multi_head_attention
    _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned _padded_dense_to_jagged_forward
    _pdist_backward _philox_normal_ _philox_uniform_ _prelu_kernel _prelu_kernel_backward
    _scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward
    _scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention
    _scaled_dot_product_flash_attention.quantized _scaled_grouped_mm _scaled_grouped_mm_v2
    _scaled_mm _scaled_mm.out _scaled_mm_v2 _scaled_mm_v2.out _segment_reduce_backward
    _slow_conv2d_backward.grad_input _slow_conv2d_backward.output_mask _slow_conv2d_forward
    _slow_conv2d_forward.output _sparse_semi_structured_addmm _sparse_semi_structured_apply
    _sparse_semi_structured_apply_dense _sparse_semi_structured_linear _sparse_semi_structured_mm
    _standard_gamma_grad _thnn_fused_gru_cell _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell
    _thnn_fused_lstm_cell_backward_impl _transform_bias_rescale_qkv _transformer_encoder_layer_fwd
    _triton_multi_head_attention _triton_scaled_dot_attention _weight_int4pack_mm
    _weight_int8pack_mm _weight_norm_interface _weight_norm_interface_backward
    adaptive_avg_pool2d.out adaptive_avg_pool3d.out adaptive_avg_pool3d_backward.grad_input addbmm
    addbmm.out addbmm_ addmm.dtype addmm.dtype_out addr addr.out baddbmm.dtype baddbmm.dtype_out
    batch_norm_backward batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
    batch_norm_elemt.out batch_norm_gather_stats batch_norm_gather_stats_with_counts
    batch_norm_update_stats binary_cross_entropy_backward binary_cross_entropy_backward.grad_input
    bincount bmm.dtype bmm.dtype_out bucketize.Tensor bucketize.Tensor_out cholesky.out
    cholesky_inverse.out col2im.out complex.out conj_physical.out conv_depthwise3d
    convolution_backward cudnn_batch_norm cudnn_batch_norm.out cudnn_batch_norm_backward
    cudnn_convolution cudnn_convolution.out cudnn_convolution_add_relu cudnn_convolution_relu
    cudnn_convolution_transpose cudnn_grid_sampler cudnn_grid_sampler_backward dot
    embedding_dense_backward embedding_renorm_ equal fake_quantize_per_channel_affine_cachemask
    fractional_max_pool3d_backward fractional_max_pool3d_backward.grad_input frexp.Tensor_out
    geqrf.a glu_backward glu_backward.grad_input glu_backward_jvp glu_jvp grid_sampler_2d
    grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward hardswish_backward
    hardtanh_backward hardtanh_backward.grad_input histc.out huber_loss huber_loss.out
    huber_loss_backward.out im2col.out index_select index_select.out kthvalue.values linalg_eig.out
    linalg_eigvals.out linalg_householder_product linalg_householder_product.out linalg_lstsq.out
    linalg_solve_triangular linalg_solve_triangular.out log_sigmoid_backward
    log_sigmoid_backward.grad_input logit.out masked_scatter_ masked_select masked_select.out
    max_pool3d_with_indices.out max_pool3d_with_indices_backward
    max_pool3d_with_indices_backward.grad_input max_unpool2d max_unpool2d.out max_unpool3d
    max_unpool3d.out median.dim_values miopen_batch_norm miopen_batch_norm_backward
    miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
    miopen_convolution_transpose miopen_depthwise_convolution miopen_rnn miopen_rnn_backward
    mish_backward mm.dtype mm.dtype_out mse_loss_backward mse_loss_backward.grad_input
    multi_margin_loss multi_margin_loss.out multi_margin_loss_backward
    multi_margin_loss_backward.grad_input multilabel_margin_loss_backward
    multilabel_margin_loss_backward.grad_input multilabel_margin_loss_forward
    multilabel_margin_loss_forward.output multinomial.out mvlgamma.out nan_to_num.out
    nanmedian.dim_values nansum.out native_batch_norm native_batch_norm.out
    native_batch_norm_backward native_dropout_backward native_group_norm native_group_norm_backward
    native_layer_norm native_layer_norm_backward nll_loss2d_backward nll_loss2d_backward.grad_input
    nll_loss2d_forward nll_loss2d_forward.output nonzero.out nonzero_static.out normal.Tensor_Tensor
    normal.Tensor_Tensor_out normal.Tensor_float normal.Tensor_float_out normal.float_Tensor
    normal.float_Tensor_out ormqr ormqr.out polar.out put_ quantize_per_channel
    quantize_per_tensor.tensor_qparams reflection_pad2d.out reflection_pad2d_backward
    reflection_pad2d_backward.grad_input repeat_interleave.Tensor replication_pad2d_backward
    replication_pad2d_backward.grad_input replication_pad3d_backward
    replication_pad3d_backward.grad_input rrelu_with_noise rrelu_with_noise.out rrelu_with_noise_
    searchsorted.Scalar searchsorted.Scalar_out searchsorted.Tensor searchsorted.Tensor_out
    segment_reduce slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose3d
    slow_conv_transpose3d.out smooth_l1_loss_backward.grad_input split_with_sizes_copy.out
    sspaddmm.out take take.out vdot
    """
)
