// One function a file: lowers its table of the schema. Listed in ops.cc.
#pragma once

#include "sdk/gpu/op.h"

namespace ferry::gpu {

Status lower_elementwise(const Problem& problem, int alternative, Lowering* out);
Status lower_pool2d(const Problem& problem, int alternative, Lowering* out);
Status lower_reduce(const Problem& problem, int alternative, Lowering* out);
Status lower_resize2d(const Problem& problem, int alternative, Lowering* out);
Status lower_softmax(const Problem& problem, int alternative, Lowering* out);
Status lower_concat(const Problem& problem, int alternative, Lowering* out);
Status lower_pixel_shuffle(const Problem& problem, int alternative, Lowering* out);
Status lower_pad(const Problem& problem, int alternative, Lowering* out);
Status lower_reshape(const Problem& problem, int alternative, Lowering* out);
Status lower_transpose(const Problem& problem, int alternative, Lowering* out);
Status lower_slice(const Problem& problem, int alternative, Lowering* out);
Status lower_layer_norm(const Problem& problem, int alternative, Lowering* out);
Status lower_group_norm(const Problem& problem, int alternative, Lowering* out);
Status lower_grn(const Problem& problem, int alternative, Lowering* out);
Status lower_attention(const Problem& problem, int alternative, Lowering* out);
Status lower_rotary_embedding(const Problem& problem, int alternative, Lowering* out);
Status lower_window_partition(const Problem& problem, int alternative, Lowering* out);
Status lower_window_reverse(const Problem& problem, int alternative, Lowering* out);

inline constexpr int kLinearAlternatives = 13, kConv2dAlternatives = 23, kConvTranspose2dAlternatives = 6;
Status lower_linear(const Problem& problem, int alternative, Lowering* out);
Status lower_conv2d(const Problem& problem, int alternative, Lowering* out);
Status lower_conv_transpose2d(const Problem& problem, int alternative, Lowering* out);

}  // namespace ferry::gpu
