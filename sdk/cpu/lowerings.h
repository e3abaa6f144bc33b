// One function a file: makes the Op for its table of the schema. Listed in ops.cc.
#pragma once

#include "sdk/cpu/op.h"

namespace ferry::cpu {

Status create_conv2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_conv_transpose2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_linear(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_pool2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_unary(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_binary(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_reduce(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_concat(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_pixel_shuffle(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_resize2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_pad(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_reshape(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_transpose(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_slice(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_softmax(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_layer_norm(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_group_norm(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_grn(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_attention(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_rotary_embedding(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_window_partition(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_window_reverse(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_cast(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_select(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_top_k(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_gather(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_scatter(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
Status create_non_max_suppression(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
