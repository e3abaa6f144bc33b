// The import functions, by file. operators.cc has their table.
#pragma once

#include "converter/tflite/op.h"

namespace ferry::tflite {

// convolution.cc
void conv_2d(Op& op);
void depthwise_conv_2d(Op& op);
void transpose_conv(Op& op);
void convolution_2d_transpose_bias(Op& op);  // custom, of MediaPipe

// convolution_3d.cc
void conv_3d(Op& op);
void conv_3d_transpose(Op& op);

// detection.cc
void detection_postprocess(Op& op);  // custom

// variables.cc
void assign_variable(Op& op);
void call_once(Op& op);
void read_variable(Op& op);
void var_handle(Op& op);

// control.cc
void if_branches(Op& op);
void stablehlo_composite(Op& op);
void while_loop(Op& op);

// mediapipe.cc
void max_pooling_with_argmax_2d(Op& op);  // custom
void max_unpooling_2d(Op& op);            // custom
void transform_tensor(Op& op);            // custom
void transform_tensor_bilinear(Op& op);   // custom

// landmarks.cc
void landmarks_to_transform_matrix(Op& op);  // custom
void transform_landmarks(Op& op);            // custom

// matrix.cc
void fully_connected(Op& op);
void batch_matmul(Op& op);
void cumsum(Op& op);

// recurrent.cc
void bidirectional_sequence_lstm(Op& op);
void bidirectional_sequence_rnn(Op& op);
void lstm_step(Op& op);
void rnn_step(Op& op);
void svdf(Op& op);
void unidirectional_sequence_lstm(Op& op);
void unidirectional_sequence_rnn(Op& op);

// pool.cc
void average_pool_2d(Op& op);
void max_pool_2d(Op& op);
void l2_pool_2d(Op& op);

// elementwise.cc
void abs(Op& op);
void ceil(Op& op);
void cos(Op& op);
void converted(Op& op);
void fake_quant(Op& op);
void elu(Op& op);
void exp(Op& op);
void floor(Op& op);
void gelu(Op& op);
void hard_swish(Op& op);
void leaky_relu(Op& op);
void log(Op& op);
void log_softmax(Op& op);
void logical_not(Op& op);
void logistic(Op& op);
void neg(Op& op);
void relu(Op& op);
void relu6(Op& op);
void relu_0_to_1(Op& op);
void relu_n1_to_1(Op& op);
void round(Op& op);
void rsqrt(Op& op);
void sign(Op& op);
void sin(Op& op);
void softmax(Op& op);
void sqrt(Op& op);
void square(Op& op);
void tanh(Op& op);
void cast(Op& op);

// arithmetic.cc
void add(Op& op);
void add_n(Op& op);
void atan2(Op& op);
void div(Op& op);
void equal(Op& op);
void floor_div(Op& op);
void floor_mod(Op& op);
void greater(Op& op);
void greater_equal(Op& op);
void less(Op& op);
void less_equal(Op& op);
void logical_and(Op& op);
void logical_or(Op& op);
void maximum(Op& op);
void minimum(Op& op);
void mul(Op& op);
void not_equal(Op& op);
void pow(Op& op);
void prelu(Op& op);
void select(Op& op);
void select_v2(Op& op);
void squared_difference(Op& op);
void sub(Op& op);

// reduce.cc
void arg_max(Op& op);
void arg_min(Op& op);
void l2_normalization(Op& op);
void local_response_normalization(Op& op);
void mean(Op& op);
void reduce_all(Op& op);
void reduce_any(Op& op);
void reduce_max(Op& op);
void reduce_min(Op& op);
void reduce_prod(Op& op);
void sum(Op& op);
void topk_v2(Op& op);

// shape.cc: what changes shapes only, and constants
void broadcast_to(Op& op);
void expand_dims(Op& op);
void fill(Op& op);
void range(Op& op);
void rank(Op& op);
void reshape(Op& op);
void shape(Op& op);
void squeeze(Op& op);
void tile(Op& op);
void zeros_like(Op& op);

// parts.cc
void broadcast_args(Op& op);
void bucketize(Op& op);
void dynamic_update_slice(Op& op);
void matrix_diag(Op& op);
void matrix_set_diag(Op& op);
void reverse_sequence(Op& op);

// scatter.cc
void scatter_nd(Op& op);
void segment_sum(Op& op);
void sparse_to_dense(Op& op);
void unsorted_segment_max(Op& op);
void unsorted_segment_min(Op& op);
void unsorted_segment_prod(Op& op);
void unsorted_segment_sum(Op& op);

// movement.cc
void batch_to_space_nd(Op& op);
void concatenation(Op& op);
void depth_to_space(Op& op);
void mirror_pad(Op& op);
void pack(Op& op);
void pad(Op& op);
void reverse_v2(Op& op);
void space_to_batch_nd(Op& op);
void space_to_depth(Op& op);
void transpose(Op& op);
void unpack(Op& op);

// slice.cc
void slice(Op& op);
void split(Op& op);
void split_v(Op& op);
void strided_slice(Op& op);

// gather.cc
void embedding_lookup(Op& op);
void gather(Op& op);
void gather_nd(Op& op);
void one_hot(Op& op);

// resize.cc
void resize_bilinear(Op& op);
void resize_nearest_neighbor(Op& op);

}  // namespace ferry::tflite
