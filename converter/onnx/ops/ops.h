// Import functions of ONNX's operators, by file; table.cc maps operators to functions.
#pragma once

#include <limits>
#include <utility>

#include "converter/onnx/op.h"

namespace ferry::onnx {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// arithmetic.cc: `power` raises x to a constant exponent.
Tensor power(Op& op, Tensor x, double exponent);
void add(Op& op);
void sub(Op& op);
void mul(Op& op);
void div(Op& op);
void mod(Op& op);
void pow(Op& op);
void sum(Op& op);
void max(Op& op);
void min(Op& op);
void mean(Op& op);
void equal(Op& op);
void less(Op& op);
void less_or_equal(Op& op);
void greater(Op& op);
void greater_or_equal(Op& op);
void logical_and(Op& op);
void logical_or(Op& op);
void logical_xor(Op& op);
void where(Op& op);
void clip(Op& op);

// trigonometry.cc
void acos(Op& op);
void acosh(Op& op);
void asin(Op& op);
void asinh(Op& op);
void atan(Op& op);
void atanh(Op& op);
void cosh(Op& op);
void sinh(Op& op);

// elementwise.cc
void abs(Op& op);
void neg(Op& op);
void exp(Op& op);
void sqrt(Op& op);
void tanh(Op& op);
void sigmoid(Op& op);
void hard_swish(Op& op);
void floor(Op& op);
void ceil(Op& op);
void round(Op& op);
void log(Op& op);
void erf(Op& op);
void sin(Op& op);
void cos(Op& op);
void tan(Op& op);
void sign(Op& op);
void reciprocal(Op& op);
void logical_not(Op& op);
void is_nan(Op& op);
void is_inf(Op& op);

// activation.cc
void relu(Op& op);
void leaky_relu(Op& op);
void prelu(Op& op);
void hard_sigmoid(Op& op);
void elu(Op& op);
void selu(Op& op);
void celu(Op& op);
void softsign(Op& op);
void softplus(Op& op);
void thresholded_relu(Op& op);
void shrink(Op& op);
void mish(Op& op);
void gelu(Op& op);
void swish(Op& op);
void swiglu(Op& op);

// convolution.cc: `convolve` uses the convolution attributes and a weight O,I/groups,... as in the file; `bias`: adds
// input 2.
Tensor convolve(Op& op, Tensor x, const Array& weight, bool bias = false);
void conv(Op& op);
void conv_transpose(Op& op);

// deform_conv.cc
void deform_conv(Op& op);

// pool.cc
void max_pool(Op& op);
void average_pool(Op& op);
void lp_pool(Op& op);

// einsum.cc
void einsum(Op& op);

// matmul.cc: `multiply` computes [...,M,K] times [...,K,N] of two activations, either one transposed.
Tensor multiply(Op& op, Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false);
void matmul(Op& op);
void gemm(Op& op);

// movement.cc
void identity(Op& op);
void dropout(Op& op);
void reshape(Op& op);
// The shape `to` of a Reshape from `from`: -1 is inferred, 0 copied from the input if `copy_zero`.
Dims reshaped_dims(Op& op, const Dims& from, Dims to, bool copy_zero);
void flatten(Op& op);
void squeeze(Op& op);
void unsqueeze(Op& op);
void transpose(Op& op);
void concat(Op& op);
void slice(Op& op);
void split(Op& op);
void expand(Op& op);
void tile(Op& op);
void pad(Op& op);
void depth_to_space(Op& op);
void space_to_depth(Op& op);

// gather.cc
void gather(Op& op);
void gather_elements(Op& op);
void gather_nd(Op& op);
void scatter_elements(Op& op);
void scatter_nd(Op& op);
void ferry_scatter_rows(Op& op);  // as ScatterElements, and the indices before they were expanded
// Whether those are one index for each row.
bool scatters_rows(const Op& op);

// reduce.cc
void reduce_mean(Op& op);
void reduce_sum(Op& op);
void reduce_max(Op& op);
void reduce_min(Op& op);
void reduce_prod(Op& op);
void reduce_l1(Op& op);
void reduce_sum_square(Op& op);
void reduce_l2(Op& op);
void global_average_pool(Op& op);
void global_max_pool(Op& op);
void softmax(Op& op);
void log_softmax(Op& op);
void hardmax(Op& op);
void cum_sum(Op& op);
void cum_prod(Op& op);
void global_lp_pool(Op& op);
void reduce_log_sum(Op& op);
void reduce_log_sum_exp(Op& op);

// norm.cc
void batch_normalization(Op& op);
void instance_normalization(Op& op);
void group_normalization(Op& op);
void layer_normalization(Op& op);
void rms_normalization(Op& op);
void mean_variance_normalization(Op& op);
void lp_normalization(Op& op);
void ferry_group_norm(Op& op);  // x, scale, bias, shape of the result
void local_response_normalization(Op& op);

// shape.cc
void constant(Op& op);
void constant_of_shape(Op& op);
void shape(Op& op);
// The dimensions that a Shape gives: those from `first` on, before `second`.
std::pair<size_t, size_t> described_dimensions(const Op& op);
void size(Op& op);
void cast(Op& op);
void cast_like(Op& op);
void range(Op& op);
void eye_like(Op& op);
void non_zero(Op& op);
void compress(Op& op);
void unique(Op& op);
void bit_cast(Op& op);
void trilu(Op& op);

// search.cc
void arg_max(Op& op);
void arg_min(Op& op);
void top_k(Op& op);
void one_hot(Op& op);
void non_max_suppression(Op& op);

// quantize.cc
void quantize_linear(Op& op);
void dequantize_linear(Op& op);
void dynamic_quantize_linear(Op& op);
void matmul_integer(Op& op);
void conv_integer(Op& op);
void qlinear_matmul(Op& op);
void qlinear_conv(Op& op);
void ferry_dequantized_rows(Op& op);
void ferry_dynamic_conv(Op& op);
void ferry_dynamic_product(Op& op);
void ferry_quantize_dequantize(Op& op);  // x, scale, zero point

// resize.cc
void resize(Op& op);

// grid_sample.cc
void grid_sample(Op& op);

// roi_align.cc
void roi_align(Op& op);

// max_roi_pool.cc
void max_roi_pool(Op& op);

// assemble.cc
void center_crop_pad(Op& op);
void col2im(Op& op);
void max_unpool(Op& op);
void tensor_scatter(Op& op);

// bits.cc
void bit_shift(Op& op);
void bitwise_and(Op& op);
void bitwise_not(Op& op);
void bitwise_or(Op& op);
void bitwise_xor(Op& op);

// linear_algebra.cc
void affine_grid(Op& op);
void det(Op& op);

// signal.cc
void blackman_window(Op& op);
void dft(Op& op);
void hamming_window(Op& op);
void hann_window(Op& op);
void mel_weight_matrix(Op& op);
void stft(Op& op);

// attention.cc: `rotate` is the rotary position embedding of x [B,L,H,D] by cos and sin [B or 1,L,1,W], of the first 2W
// channels of each head.
Tensor rotate(Op& op, Tensor x, Tensor cos, Tensor sin, bool interleaved);
void attention(Op& op);
void rotary_embedding(Op& op);

// linear_attention.cc: also of the domain com.microsoft
void causal_conv_with_state(Op& op);
void linear_attention(Op& op);

// loss.cc
void negative_log_likelihood_loss(Op& op);
void softmax_cross_entropy_loss(Op& op);

// recurrent.cc
void lstm(Op& op);
void gru(Op& op);
void rnn(Op& op);

// optional.cc
void optional(Op& op);
void optional_get_element(Op& op);
void optional_has_element(Op& op);

// sequence.cc
void concat_from_sequence(Op& op);
void reverse_sequence(Op& op);
void sequence_at(Op& op);
void sequence_construct(Op& op);
void sequence_empty(Op& op);
void sequence_erase(Op& op);
void sequence_insert(Op& op);
void sequence_length(Op& op);
void without_body(Op& op);  // Loop, Scan, SequenceMap: others are imported by their bodies
void split_to_sequence(Op& op);
// The slices of x along `axis`, without that dimension.
Items unstacked(Op& op, const Value& x, Type type, int64_t axis);
// The tensors of a sequence, concatenated along `axis`, or along a new one.
std::pair<Value, Type> joined(Op& op, const Items& list, int64_t axis, bool new_axis);

// tf_idf.cc
void tf_idf_vectorizer(Op& op);

// box_loops.cc: as the loops that they replace, of the trip count and the initial states
void ferry_paste_masks(Op& op);            // masks, boxes
void ferry_keypoints_of_heatmaps(Op& op);  // maps, their number of channels, sizes as integers and exact, corners

// ferry_ops.cc
void ferry_attention(Op& op);
void ferry_cached_attention(Op& op);
void ferry_filled_places(Op& op);
void ferry_layer_norm(Op& op);
void ferry_mask_bias(Op& op);
void ferry_positions(Op& op);
void ferry_rms_norm(Op& op);
void ferry_gelu(Op& op);
void ferry_gelu_tanh(Op& op);
void ferry_silu(Op& op);

}  // namespace ferry::onnx
